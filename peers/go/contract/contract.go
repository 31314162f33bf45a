package contract

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Program is a measured program. Describe completes a description, or fails where flags do not go
// together; Measure builds, runs and takes down the work.
type Program struct {
	Name, About          string
	Tasks, Iters, Warmup uint64
	CreatesForHold       bool
	Describe             func(*Description) error
	Measure              func(*Run) error
}

var tasks, iters, warmup *uint64

// Main follows the command line and ends the program.
func Main(p Program) {
	// A reader that has gone away is an error of the write.
	signal.Ignore(syscall.SIGPIPE)
	tasks = Number("tasks", p.Tasks, 1, math.MaxInt32, "`N` goroutines")
	iters = Number("iters", p.Iters, 1, math.MaxUint64, "`N` iterations to time")
	warmup = Number("warmup", p.Warmup, 0, math.MaxUint64, "`N` untimed iterations before them")
	watchSignals(p.Name)
	os.Exit(p.main())
}

func (p *Program) main() int {
	err := parse()
	if errors.Is(err, flag.ErrHelp) {
		_, err := os.Stdout.WriteString(help(p.About))
		return p.printed(err)
	}
	d := newDescription(p.Name, *tasks)
	if err == nil {
		err = p.Describe(d)
	}
	if err != nil {
		complain(p.Name, err)
		return 2
	}
	if *describe {
		return p.printed(printLine(d))
	}
	run := &Run{
		Tasks: *tasks, description: d, createsForHold: p.CreatesForHold, started: time.Now(),
	}
	if *controlled {
		run.requests = openRequests()
	}
	run.step = run.warmUp
	if err = check(d); err == nil {
		err = guarded(func() error { return p.Measure(run) })
	}
	status := p.report(run, err)
	if number := received.Load(); number != 0 && status == 0 {
		status = 128 + int(number)
	}
	return status
}

// report tells the runner or people how it ended.
func (p *Program) report(run *Run, err error) int {
	answer, status := map[string]any{"at": "ended", "teardown_ns": time.Since(run.rested)}, 0
	if err != nil {
		answer, status = map[string]any{"at": "failed", "error": err.Error()}, 1
	}
	if *controlled {
		return max(p.printed(printLine(answer)), status)
	}
	if len(run.samples) > 0 {
		_, failed := os.Stdout.WriteString(run.text())
		status = max(p.printed(failed), status)
	}
	if number := received.Load(); number != 0 && err == nil {
		err = fmt.Errorf("interrupted after %d of %d iterations", len(run.samples), *iters)
	}
	if err != nil {
		complain(p.Name, err)
	}
	return status
}

// printed is the exit status after a print. One who has stopped reading has read enough.
func (p *Program) printed(err error) int {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return 0
	}
	complain(p.Name, err)
	return 1
}

// text is the original experiment's two lines, and what explains them.
func (r *Run) text() string {
	d, repeats, what := summary(r.samples), r.Tasks, "task"
	text := fmt.Sprintf("%d tasks, %d iterations:\nmean %s per iteration, stddev %s (%s per task per iter)\n", r.Tasks,
		d.Count, nanos(d.Mean), nanos(d.Stddev), nanos(d.Mean/float64(r.Tasks*max(r.description.Tokens, 1))))
	if hops := r.description.Hops; hops > 0 {
		repeats, what = hops, "hop"
		text += fmt.Sprintf("per hop     %s (%d hops an iteration)\n", nanos(d.Mean/float64(hops)), hops)
	}
	text += fmt.Sprintf("iteration   min %s, p50 %s, p90 %s, p99 %s, max %s\n", nanos(float64(d.Min)),
		nanos(float64(d.P50)), nanos(float64(d.P90)), nanos(float64(d.P99)), nanos(float64(d.Max)))
	used, all := usage(&r.before, &r.after), float64(repeats)*float64(d.Count)
	return text + fmt.Sprintf("switches    %.3f voluntary, %.3f involuntary a %s\n",
		float64(used["voluntary_switches"])/all, float64(used["involuntary_switches"])/all, what)
}

func nanos(ns float64) string {
	size, unit := 1.0, "ns"
	for _, larger := range []string{"µs", "ms", "s"} {
		if ns >= 999.9995*size {
			size, unit = size*1000, larger
		}
	}
	return fmt.Sprintf("%.3f%s", ns/size, unit)
}

// received is the number of the first signal, or 0; stopped is closed then.
var (
	received atomic.Int32
	stopped  = make(chan struct{})
)

// watchSignals has the first signal end the measurement, and a second one the process; a process that is
// stuck is ended after 10 s. A terminal and a parent may both pass one on: two within 0.5 s are one.
func watchSignals(name string) {
	signals := make(chan os.Signal, 4)
	for _, each := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(each) {
			signal.Notify(signals, each)
		}
	}
	go func() {
		number, _ := (<-signals).(syscall.Signal)
		received.Store(int32(number))
		close(stopped)
		first, stuck, words := time.Now(), time.After(10*time.Second), ""
		for words == "" {
			select {
			case <-signals:
				if time.Since(first) > 500*time.Millisecond {
					words = "interrupted again: ended at once"
				}
			case <-stuck:
				words = "stuck: ended by force after an interrupt"
			}
		}
		complain(name, errors.New(words))
		os.Exit(128 + int(number))
	}()
}

func guarded(run func() error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = PanicError(panicked)
		}
	}()
	return run()
}

// PanicError is a panic as an error, in one line.
func PanicError(panicked any) error {
	return fmt.Errorf("%s (a panic)", strings.ReplaceAll(fmt.Sprint(panicked), "\n", " "))
}
