package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// generator is the process that says when a task arrives: a goroutine that spins would keep one of the runtime's
// workers, and the runtime would preempt it.
type generator struct {
	command *exec.Cmd
	// pipe has a byte for each arrival.
	pipe    *os.File
	offsets io.WriteCloser
	told    *bufio.Reader
}

// start starts it on a CPU, or with -1 on all.
func start(cpu int) (*generator, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this executable: %w", err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer writer.Close()
	command := exec.Command(self, "generate", strconv.Itoa(cpu))
	command.ExtraFiles = []*os.File{writer}
	command.Stderr = os.Stderr
	g := &generator{command: command, pipe: reader}
	if g.offsets, err = command.StdinPipe(); err == nil {
		var told io.ReadCloser
		if told, err = command.StdoutPipe(); err == nil {
			g.told = bufio.NewReaderSize(told, 1<<16)
			err = command.Start()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot start the generator: %w", err)
	}
	return g, nil
}

// begin has it generate arrivals at these times from the beginning that it chooses, and returns that.
func (g *generator) begin(offsets []int64) (begun int64, err error) {
	count := int64(len(offsets))
	err = errors.Join(binary.Write(g.offsets, binary.NativeEndian, count), binary.Write(g.offsets, binary.NativeEndian, offsets))
	if err == nil {
		err = binary.Read(g.told, binary.NativeEndian, &begun)
	}
	if err != nil {
		return 0, fmt.Errorf("the generator has ended: %w", err)
	}
	return begun, nil
}

// late returns how late it was at each of so many arrivals, when all have come.
func (g *generator) late(arrivals int) ([]uint64, error) {
	late := make([]uint64, arrivals)
	return late, binary.Read(g.told, binary.NativeEndian, late)
}

// end ends it: at the end of its input, or of the pipe.
func (g *generator) end() error {
	g.offsets.Close()
	g.pipe.Close()
	return g.command.Wait()
}

// generate is the other process: it ends with its input.
func generate(args []string) {
	// A terminal sends signals to it too; it ends when the program does.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if err := generateAll(args); err != nil {
		fmt.Fprintln(os.Stderr, "goroutine-arrivals: the generator:", err)
		os.Exit(1)
	}
}

func generateAll(args []string) error {
	if len(args) != 1 {
		return errors.New("it takes a CPU")
	}
	cpu, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if cpu >= 0 {
		if err := restrict([]int{cpu}); err != nil {
			return err
		}
	}
	input := bufio.NewReaderSize(os.Stdin, 1<<16)
	for {
		var count int64
		if err := binary.Read(input, binary.NativeEndian, &count); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		offsets, late := make([]int64, count), make([]uint64, count)
		if err := binary.Read(input, binary.NativeEndian, offsets); err != nil {
			return err
		}
		begun := now()
		if binary.Write(os.Stdout, binary.NativeEndian, begun) != nil {
			return nil
		}
		for k, offset := range offsets {
			due := begun + offset
			at := now()
			for ; at < due; at = now() {
				if cpu < 0 {
					time.Sleep(time.Duration(due - at))
				}
			}
			late[k] = uint64(at - due)
			if _, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, 3, uintptr(unsafe.Pointer(&arrival)), 1); errno != 0 {
				// Nobody reads: the program is over.
				return nil
			}
		}
		if binary.Write(os.Stdout, binary.NativeEndian, late) != nil {
			return nil
		}
	}
}

var arrival byte

// draw draws arrivals, in ns from the first one's beginning, with exponential gaps.
func draw(gap float64, count int) []int64 {
	offsets, at := make([]int64, count), 0.0
	for k := range offsets {
		at += gap * rand.ExpFloat64()
		offsets[k] = int64(at)
	}
	return offsets
}

// busy is how long CPUs were not idle since the start, in ns; false if the kernel does not tell.
func busy(cpus []int) (int64, bool) {
	text, err := os.ReadFile("/proc/stat")
	sum := int64(0)
	for _, cpu := range cpus {
		_, line, found := strings.Cut(string(text), fmt.Sprintf("\ncpu%d ", cpu))
		var user, nice, system, idle, iowait, irq, softirq, steal int64
		_, err2 := fmt.Sscan(line, &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal)
		if err != nil || err2 != nil || !found {
			return 0, false
		}
		// In ticks of 10 ms.
		sum += (user + nice + system + irq + softirq + steal) * 1e7
	}
	return sum, true
}

// Clocks of clock_gettime(2).
const monotonic, processTime, threadTime = 1, 2, 3

// epoch and origin are one point of time, by Go's clock and by CLOCK_MONOTONIC, which other processes have too.
var epoch, origin = sameTime()

// sameTime reads both clocks, as close together as some tries come.
func sameTime() (time.Time, int64) {
	var epoch time.Time
	origin, closest := int64(0), time.Duration(math.MaxInt64)
	for range 20 {
		before := time.Now()
		read := readClock(monotonic)
		if apart := time.Since(before); apart < closest {
			epoch, origin, closest = before.Add(apart/2), read, apart
		}
	}
	return epoch, origin
}

// now is CLOCK_MONOTONIC, in ns.
func now() int64 {
	return origin + int64(time.Since(epoch))
}

// readClock reads a clock of the kernel's, in ns. It cannot fail: each of them is on every Linux.
func readClock(clock uintptr) int64 {
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

// cpuSet is as large as any kernel's.
type cpuSet [128]uint64

// allowed returns the generator's CPU, the last one that this process may use or -1 if it is the only one, and
// those of what serves.
func allowed() (own int, serving []int, err error) {
	var set cpuSet
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	if errno != 0 {
		return 0, nil, fmt.Errorf("cannot read the CPU affinity: %w", errno)
	}
	for cpu := range len(set) * 64 {
		if set[cpu/64]>>(cpu%64)&1 == 1 {
			serving = append(serving, cpu)
		}
	}
	if len(serving) == 1 {
		return -1, serving, nil
	}
	return serving[len(serving)-1], serving[:len(serving)-1], nil
}

// restrict restricts all threads of this process to CPUs.
func restrict(cpus []int) error {
	var set cpuSet
	for _, cpu := range cpus {
		set[cpu/64] |= 1 << (cpu % 64)
	}
	// Again if there are more than before: one that is created meanwhile may be of one that was not restricted yet.
	for seen := 0; ; {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("cannot list the threads: %w", err)
		}
		for _, thread := range threads {
			id, _ := strconv.Atoi(thread.Name())
			_, _, errno := syscall.RawSyscall(
				syscall.SYS_SCHED_SETAFFINITY, uintptr(id), unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
			if errno != 0 && errno != syscall.ESRCH {
				return fmt.Errorf("cannot restrict a thread to the CPUs %v: %w", cpus, errno)
			}
		}
		if len(threads) <= seen {
			return nil
		}
		seen = len(threads)
	}
}
