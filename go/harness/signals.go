package harness

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// apart is how far apart two signals are that are two requests: a terminal and a parent both pass Ctrl-C on,
// and timeout(1) sends its signal to the process and then to its group.
const apart = 500 * time.Millisecond

var (
	// taken is the signal that came first, or 0.
	taken atomic.Int32
	// continued is how often SIGCONT came.
	continued atomic.Uint64
	// child is who is to stop too, as kill(2) names it: a process, or a group by its negative; or 0.
	child atomic.Int32
	// stopping is closed when the first signal has come.
	stopping = make(chan struct{})
	// isRealTime is whether the process is under a real-time policy.
	isRealTime bool
)

// installSignals takes over the signals that ask to stop, and SIGCONT, which tells that the process was
// stopped. The first request ends the measurement; the second kills a child that is still there, or ends the
// process. That SIGPIPE is ignored comes last: from then on the program is prepared.
func installSignals(name string) {
	asked, resumed := make(chan os.Signal, 16), make(chan os.Signal, 16)
	signal.Notify(resumed, syscall.SIGCONT)
	signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM)
	// As nohup(1) wants it.
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(asked, syscall.SIGHUP)
	}
	go func() {
		for range resumed {
			continued.Add(1)
		}
	}()
	go heed(name, asked)
	// An end at once with a core, instead of the stacks of all goroutines.
	var byDefault [4]uint64
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGQUIT), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	signal.Ignore(syscall.SIGPIPE)
}

func heed(name string, asked <-chan os.Signal) {
	var requests int
	var last time.Time
	for sent := range asked {
		if requests > 0 && time.Since(last) < apart {
			continue
		}
		last = time.Now()
		requests++
		number := sent.(syscall.Signal)
		if taken.CompareAndSwap(0, int32(number)) {
			close(stopping)
		}
		target := child.Load()
		switch {
		case requests == 1:
			stop(target, syscall.SIGTERM)
		case requests == 2 && target != 0:
			stop(target, syscall.SIGKILL)
		default:
			stop(target, syscall.SIGKILL)
			say("%s: interrupted again: ended at once, and what was not printed or stored is lost", name)
			os.Exit(128 + int(taken.Load()))
		}
	}
}

func stop(target int32, by syscall.Signal) {
	if target != 0 {
		// It can only fail where the child has ended.
		_ = syscall.Kill(int(target), by)
	}
}

// Received is the signal that asked this process to stop, or 0. Under a real-time policy other threads run
// first: the one that takes the signal may be waiting for this CPU.
func Received() int {
	if isRealTime {
		syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
	}
	return int(taken.Load())
}

// Stopping is closed when a signal has asked this process to stop.
func Stopping() <-chan struct{} { return stopping }
