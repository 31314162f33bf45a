// Package contract is what a measured program and its runner say to each other: docs/CONTRACT.md. The form
// that prints text for people is left out: `switchcost stat` runs the program and prints more.
package contract

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
)

// Flags are the program's flags. It adds its own before it calls Main.
var Flags = flag.NewFlagSet("", flag.ContinueOnError)

var tasks *uint64

var (
	warmup     *uint64
	describe   = Flags.Bool("describe", false, "print what this command line would build, as one line of JSON")
	controlled = Flags.Bool("controlled", false, "obey requests on standard input, answer in lines of JSON")
)

// Number adds a flag with a whole number.
func Number(name string, usual, least, most uint64, help string) *uint64 {
	value := usual
	Flags.Func(name, fmt.Sprintf("%s (default %d)", help, usual), func(text string) error {
		read, err := strconv.ParseUint(text, 10, 64)
		if err != nil || read < least || read > most {
			return fmt.Errorf("write a number from %d to %d", least, most)
		}
		value = read
		return nil
	})
	return &value
}

// Description is the program's of itself and of one command line.
type Description struct {
	Contract int              `json:"contract"`
	Program  string           `json:"program"`
	Version  string           `json:"version"`
	Tasks    uint64           `json:"tasks"`
	Tokens   uint64           `json:"tokens,omitempty"`
	Chains   uint64           `json:"chains,omitempty"`
	Trips    uint64           `json:"trips,omitempty"`
	Bytes    uint64           `json:"bytes,omitempty"`
	Hops     uint64           `json:"hops,omitempty"`
	Claim    string           `json:"claim"`
	Passes   []map[string]any `json:"passes"`
	Runtime  map[string]any   `json:"runtime"`
	// Alone is for iterations that are too long to take turns with other programs.
	Alone bool `json:"alone,omitempty"`
	// Settle is how many iterations after a wait are not timed, at most.
	Settle uint64 `json:"-"`
	// CreatesForHold has Next ask for tasks with IsHold, and the program call Held.
	CreatesForHold bool `json:"-"`
}

// Main follows the command line and ends the program. Without --tasks and --warmup there are so many. The first function
// completes the description, or fails where flags do not go together; the second one builds, runs and takes down the work.
func Main(name string, usual, usualWarmup uint64, complete func(*Description) error, measure func(*Run) error) {
	tasks = Number("tasks", usual, 1, math.MaxInt32, "`N` goroutines")
	warmup = Number("warmup", usualWarmup, 0, math.MaxUint64, "`N` untimed iterations first")
	watchSignals()
	os.Exit(start(name, complete, measure))
}

func start(name string, complete func(*Description) error, measure func(*Run) error) int {
	description, err := parse(name, complete)
	switch {
	case errors.Is(err, flag.ErrHelp):
		Flags.SetOutput(os.Stdout)
		Flags.PrintDefaults()
		return 0
	case err != nil:
		return complain(name, err, 2)
	case *describe:
		return complain(name, printLine(description), 1)
	}
	// Else the runtime would follow a quota of CPU time that changes in mid-run.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	run := newRun(description)
	if err = guarded(run, measure); err != nil {
		return max(complain(name, printLine(map[string]any{"at": "failed", "error": err.Error()}), 1), 1)
	}
	if err = printLine(map[string]any{"at": "ended", "teardown_ns": time.Since(run.rested)}); err != nil {
		return complain(name, err, 1)
	}
	if number := received.Load(); number != 0 {
		return 128 + int(number)
	}
	return 0
}

func guarded(run *Run, measure func(*Run) error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("%v (a panic)", panicked)
		}
	}()
	return measure(run)
}

// parse reads the command line.
func parse(name string, complete func(*Description) error) (*Description, error) {
	Flags.SetOutput(io.Discard)
	if err := Flags.Parse(os.Args[1:]); err != nil {
		return nil, err
	}
	if Flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag: see --help", Flags.Arg(0))
	}
	if *describe == *controlled {
		return nil, fmt.Errorf("write --describe or --controlled; `switchcost stat %s` measures and prints text", name)
	}
	workers := uint64(runtime.GOMAXPROCS(0))
	d := &Description{
		Contract: 1, Program: name, Version: "0.1.0", Tasks: *tasks, Claim: "user-switch",
		Settle: 3,
		Runtime: map[string]any{
			"name": "go", "version": runtime.Version(), "flavor": "goroutines", "workers": workers,
		},
	}
	err := complete(d)
	d.Passes = []map[string]any{{"name": "main", "settle": d.Settle}}
	return d, err
}

// complain says what went wrong, if anything did, in a line that fills no screen. It returns the status.
func complain(name string, err error, status int) int {
	if err == nil {
		return 0
	}
	line := strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return '?'
	}, err.Error())
	fmt.Fprintf(os.Stderr, "%s: %.400s\n", name, line)
	return status
}

func printLine(answer any) error {
	line, err := json.Marshal(answer)
	if err == nil {
		_, err = os.Stdout.Write(append(line, '\n'))
	}
	return err
}

// received is the number of the first signal, or 0; stopped is closed then.
var (
	received atomic.Int32
	stopped  = make(chan struct{})
)

// watchSignals has the first signal end the measurement, and a second one the process. A terminal and a
// parent may both pass one on: two within 0.5 s are one.
func watchSignals() {
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
		for first := time.Now(); time.Since(first) < 500*time.Millisecond; {
			<-signals
		}
		os.Exit(128 + int(number))
	}()
}
