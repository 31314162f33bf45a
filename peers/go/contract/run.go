package contract

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"slices"
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
//	return run.Err
//
// so that all of this file's work is outside the timed spans.
type Run struct {
	// Tasks is how many there are.
	Tasks uint64
	// Begun is how many iterations were begun, untimed ones included.
	Begun uint64
	// IsHold is true where the next thing to do is to create all tasks and to call Held.
	IsHold bool
	// Err is why Next ended the run, if nobody asked for it.
	Err error

	description    *Description
	requests       *bufio.Reader
	request        *string
	started        time.Time
	rested         time.Time
	setup, first   time.Duration
	isReady        bool
	untimed, timed uint64
	until          time.Time
	isTiming       bool
	samples        []uint64
	extra          map[string][]uint64
	before, after  syscall.Rusage
}

func newRun(d *Description) *Run {
	r := &Run{Tasks: d.Tasks, description: d, requests: openRequests(), samples: make([]uint64, mostSamples)}
	for k := range r.samples {
		// Written, so that it is resident.
		r.samples[k] = 1
	}
	r.started = time.Now()
	return r
}

// Next answers for the last pass and begins the next one; false where the tasks are to be taken down. The
// first call says that all tasks run, and begins the warm-up.
func (r *Run) Next() bool {
	switch {
	case r.setup == 0:
		r.setup = time.Since(r.started)
		return r.begin(*warmup, 0, time.Time{})
	case !r.isReady:
		r.isReady = true
		r.answer(struct {
			At    string        `json:"at"`
			Pids  []int         `json:"pids"`
			Setup time.Duration `json:"setup_ns"`
			First time.Duration `json:"first_ns,omitempty"`
			*Description
		}{"ready", pids, r.setup, r.first, r.description})
	case !r.IsHold:
		r.tell()
	}
	for r.Err == nil {
		if r.request == nil {
			r.await()
		}
		line := *r.request
		r.request = nil
		count, isRun := strings.CutPrefix(strings.TrimSuffix(line, " main"), "run ")
		n, err := strconv.ParseUint(count, 10, 64)
		r.IsHold = line == "hold" && r.description.CreatesForHold
		switch {
		case r.Err != nil:
		case line == "end":
			r.rested = time.Now()
			return false
		case r.IsHold:
			return true
		case line == "hold":
			r.Held()
		case isRun && err == nil && n >= 1 && n <= mostSamples:
			return r.begin(r.description.Settle, n, time.Now().Add(settleTime))
		default:
			r.Err = fmt.Errorf("cannot follow %.80q: write run N [main] with N from 1 to %d, hold or end", line, mostSamples)
		}
	}
	return false
}

func (r *Run) begin(untimed, timed uint64, until time.Time) bool {
	r.untimed, r.timed, r.until = untimed, timed, until
	r.isTiming, r.samples, r.extra = false, r.samples[:0], map[string][]uint64{}
	return true
}

// tell answers `run`.
func (r *Run) tell() {
	extra := map[string]distribution{}
	for name, samples := range r.extra {
		extra[name] = summary(samples)
	}
	answer := map[string]any{"at": "ran", "samples_ns": r.samples, "extra": extra}
	if r.isTiming {
		answer["usage"] = map[string]int64{
			"user_ns":              r.after.Utime.Nano() - r.before.Utime.Nano(),
			"system_ns":            r.after.Stime.Nano() - r.before.Stime.Nano(),
			"voluntary_switches":   int64(r.after.Nvcsw - r.before.Nvcsw),
			"involuntary_switches": int64(r.after.Nivcsw - r.before.Nivcsw),
			"minor_faults":         int64(r.after.Minflt - r.before.Minflt),
			"major_faults":         int64(r.after.Majflt - r.before.Majflt),
		}
	}
	r.answer(answer)
}

// openRequests opens standard input anew: a read is then awaited by the runtime's event loop.
// In read(2) itself a thread keeps its worker for up to 10 ms, and the runtime's monitor awake.
func openRequests() *bufio.Reader {
	requests, err := os.OpenFile("/proc/self/fd/0", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		requests = os.Stdin
	}
	return bufio.NewReaderSize(requests, longestLine)
}

// await waits for a line on standard input. Its end, or a signal, is the end of the run.
// Nobody reads while iterations are timed.
func (r *Run) await() {
	var line []byte
	came := make(chan error)
	go func() {
		var err error
		line, err = r.requests.ReadSlice('\n')
		came <- err
	}()
	request := "end"
	r.request = &request
	select {
	case <-stopped:
	case err := <-came:
		switch {
		case received.Load() != 0 || errors.Is(err, io.EOF):
		case err != nil:
			r.Err = fmt.Errorf("cannot read a request of less than %d bytes: %w", longestLine, err)
		default:
			request = strings.Join(strings.Fields(string(line)), " ")
		}
	}
}

// Held rests, while all tasks are alive, until the next request. Garbage is none of their memory.
func (r *Run) Held() {
	debug.FreeOSMemory()
	r.answer(map[string]any{"at": "held", "pids": pids})
	if r.Err == nil {
		r.await()
	}
}

// Iterate begins the next iteration; false after the last one of the pass, or at a signal.
func (r *Run) Iterate() bool {
	isSettling := r.untimed > 0 && (r.until.IsZero() || time.Now().Before(r.until))
	switch {
	case received.Load() != 0 || !isSettling && r.timed == 0:
		r.Err = errors.Join(r.Err, syscall.Getrusage(syscall.RUSAGE_SELF, &r.after))
		return false
	case isSettling:
		r.untimed--
	default:
		r.untimed = 0
		r.timed--
		if !r.isTiming {
			r.isTiming = true
			r.Err = errors.Join(r.Err, syscall.Getrusage(syscall.RUSAGE_SELF, &r.before))
		}
	}
	r.Begun++
	return true
}

// Left is the number of iterations that are left, untimed ones among them; a signal may end the pass before.
func (r *Run) Left() uint64 { return r.untimed + r.timed }

// Record takes the time of the next iteration that has begun. It drops the times of untimed iterations.
func (r *Run) Record(elapsed time.Duration) {
	if r.first == 0 {
		r.first = elapsed
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
	if err := printLine(answer); err != nil && r.Err == nil {
		r.Err = fmt.Errorf("cannot answer the runner: %w", err)
	}
}

// distribution is a summary of samples.
type distribution struct {
	Count  int     `json:"count"`
	Mean   float64 `json:"mean"`
	Stddev float64 `json:"stddev"`
	Min    uint64  `json:"min"`
	P50    uint64  `json:"p50"`
	P90    uint64  `json:"p90"`
	P99    uint64  `json:"p99"`
	Max    uint64  `json:"max"`
}

// summary sorts the samples. There is at least one.
func summary(samples []uint64) distribution {
	slices.Sort(samples)
	n, sum, squares := len(samples), 0.0, 0.0
	for _, sample := range samples {
		sum += float64(sample)
	}
	mean := sum / float64(n)
	for _, sample := range samples {
		squares += (float64(sample) - mean) * (float64(sample) - mean)
	}
	percentile := func(p int) uint64 { return samples[(n*p+99)/100-1] }
	return distribution{
		n, mean, math.Sqrt(squares / float64(n)),
		samples[0], percentile(50), percentile(90), percentile(99), samples[n-1],
	}
}
