package contract

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	mostSamples = 10000
	settleTime  = 5 * time.Millisecond
	longestLine = 1024
)

var pids = []int{os.Getpid()}

// Run is one run of a program, from the first task to the last. Its loop reads
//
//	for run.Next() {
//		for run.Iterate() {
//			clock := time.Now()
//			// one iteration, and nothing else
//			run.Record(time.Since(clock))
//		}
//	}
//	return run.Err()
//
// so that all of this file's work is outside the timed spans.
type Run struct {
	// Tasks is how many there are.
	Tasks uint64
	// Pass is the name of the pass under way: `hold` where a program creates its tasks for it.
	Pass string

	description    *Description
	createsForHold bool
	step           func() bool
	started        time.Time
	rested         time.Time
	first          int64
	begun          uint64
	untimed, timed uint64
	until          time.Time
	isTiming       bool
	samples        []uint64
	extra          map[string][]uint64
	before, after  syscall.Rusage
	requests       *bufio.Reader
	request        []string
	err            error
}

// Err is why Next ended the run, if nobody asked for it.
func (r *Run) Err() error { return r.err }

// Begun is how many iterations were begun, untimed ones included.
func (r *Run) Begun() uint64 { return r.begun }

// Next begins the next pass; false where the tasks are to be taken down. The first call says that all
// tasks run.
func (r *Run) Next() bool {
	if r.step() && r.err == nil {
		return true
	}
	r.rested = time.Now()
	return false
}

func (r *Run) begin(pass string, untimed, timed uint64) bool {
	r.Pass, r.untimed, r.timed, r.until = pass, untimed, timed, time.Time{}
	r.isTiming, r.samples, r.extra = false, r.samples[:0], map[string][]uint64{}
	return true
}

// warmUp is the first step.
func (r *Run) warmUp() bool {
	setup := int64(time.Since(r.started))
	r.step = func() bool {
		if !*controlled {
			r.step = func() bool { return false }
			return r.begin("main", 0, *iters)
		}
		ready := *r.description
		ready.At, ready.Pids, ready.Setup, ready.First = "ready", pids, setup, r.first
		r.answer(ready)
		r.step = func() bool {
			if r.Pass != "hold" {
				r.tell()
			}
			return r.obey()
		}
		return r.obey()
	}
	r.samples = make([]uint64, mostSamples)
	for k := range r.samples {
		// Written, so that it is resident.
		r.samples[k] = 1
	}
	return r.begin("main", *warmup, 0)
}

// tell answers `run`.
func (r *Run) tell() {
	extra := map[string]Distribution{}
	for name, samples := range r.extra {
		extra[name] = summary(samples)
	}
	answer := map[string]any{"at": "ran", "samples_ns": r.samples, "extra": extra}
	if r.isTiming {
		answer["usage"] = usage(&r.before, &r.after)
	}
	r.answer(answer)
}

// obey follows requests up to one for a pass.
func (r *Run) obey() bool {
	for r.err == nil {
		words := r.request
		if r.request = nil; words == nil {
			words = r.await()
		}
		switch line := strings.Join(words, " "); {
		case r.err != nil || line == "end":
			return false
		case line == "hold" && r.createsForHold:
			return r.begin("hold", 0, 0)
		case line == "hold":
			r.Held()
		case len(words) < 2 || len(words) > 3 || words[0] != "run":
			r.refuse(line)
		default:
			return r.beginAsked(line, words[1], words[2:])
		}
	}
	return false
}

func (r *Run) beginAsked(line, count string, name []string) bool {
	n, err := strconv.ParseUint(count, 10, 64)
	if err != nil || n < 1 || n > mostSamples {
		r.refuse(line)
		return false
	}
	for _, kind := range r.description.Passes {
		if len(name) == 0 || name[0] == kind.Name {
			r.begin(kind.Name, kind.Settle, n)
			r.until = time.Now().Add(settleTime)
			return true
		}
	}
	r.err = fmt.Errorf("there is no pass %q: see --describe", name[0])
	return false
}

func (r *Run) refuse(line string) {
	r.err = fmt.Errorf("cannot follow %.80q: write run N [PASS] with N from 1 to %d, hold or end", line, mostSamples)
}

// openRequests opens a pipe on standard input anew: a read is then awaited by the runtime's event loop.
// In read(2) itself a thread keeps its worker for up to 10 ms, and the runtime's monitor awake.
func openRequests() *bufio.Reader {
	requests := os.Stdin
	if info, err := requests.Stat(); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		if own, err := os.OpenFile("/proc/self/fd/0", os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			requests = own
		}
	}
	return bufio.NewReaderSize(requests, longestLine)
}

// await waits for a line on standard input. Its end, or a signal, is the end of the run. Nobody reads
// while iterations are timed.
func (r *Run) await() []string {
	var line []byte
	came := make(chan error)
	go func() {
		var err error
		line, err = r.requests.ReadSlice('\n')
		came <- err
	}()
	select {
	case <-stopped:
		return []string{"end"}
	case err := <-came:
		switch {
		case received.Load() != 0 || errors.Is(err, io.EOF):
			return []string{"end"}
		case errors.Is(err, bufio.ErrBufferFull):
			r.err = fmt.Errorf("a request is longer than %d bytes", longestLine)
		case err != nil:
			r.err = fmt.Errorf("cannot read a request: %w", err)
		}
		return append([]string{}, strings.Fields(string(line))...)
	}
}

// Held rests, while all tasks are alive, until the next request. Garbage is none of their memory.
func (r *Run) Held() {
	debug.FreeOSMemory()
	r.answer(map[string]any{"at": "held", "pids": pids})
	if r.err == nil {
		r.request = r.await()
	}
}

// Iterate begins the next iteration; false after the last one of the pass, or at a signal.
func (r *Run) Iterate() bool {
	isSettling := r.untimed > 0 && (r.until.IsZero() || time.Now().Before(r.until))
	switch {
	case received.Load() != 0 || !isSettling && r.timed == 0:
		r.err = errors.Join(r.err, syscall.Getrusage(syscall.RUSAGE_SELF, &r.after))
		return false
	case isSettling:
		r.untimed--
	default:
		r.untimed = 0
		r.timed--
		if !r.isTiming {
			r.isTiming = true
			r.err = errors.Join(r.err, syscall.Getrusage(syscall.RUSAGE_SELF, &r.before))
		}
	}
	r.begun++
	return true
}

// Iteration is the number of the iteration under way, counted over all passes.
func (r *Run) Iteration() uint64 { return r.begun - 1 }

// Record takes the time of the iteration under way; that of an untimed one is dropped.
func (r *Run) Record(elapsed time.Duration) {
	if r.begun == 1 {
		r.first = int64(elapsed)
	}
	if r.isTiming {
		r.samples = append(r.samples, uint64(elapsed))
	}
}

// Aside takes samples of something else than the iteration, if that is timed.
func (r *Run) Aside(name string, samples ...uint64) {
	if r.isTiming {
		r.extra[name] = append(r.extra[name], samples...)
	}
}

func (r *Run) answer(answer any) {
	if err := printLine(answer); err != nil && r.err == nil {
		r.err = fmt.Errorf("cannot answer the runner: %w", err)
	}
}
