// Package harness is the toolbox that the goroutine programs share, as the crate of that name is for the others:
// the same flags, limits, record and text. It is a library, not a framework: each program keeps its own timed
// loop in plain sight, and nothing of this package runs inside the timed region, but for what --touch asks for.
package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Session is one run of a program: what it is asked for, and what it has found out so far.
type Session struct {
	Flags                 *Flags
	tasks, iters, warmups *uint64
	quiet                 *bool
	format, command       *string
	checkLimits, mayRaise *bool
	workers               *uint64
	gogc                  *string
	place                 place
	first                 before
	started               uint64
	machine               machine
	before                held
	atRest                *held
	building, rested      time.Time
	setup                 *time.Duration
	laps                  *Laps
	hops, payload         *uint64
	tokens                uint64
	peakAlive             *uint64
	distributions         map[string]*summary
	commandErr            error
	notes                 []note
	line                  *cacheLine
	environment           string
}

// New makes a session with the flags that every program has.
func New(name, about string) *Session {
	flags := &Flags{name: name, about: about}
	s := &Session{Flags: flags, tokens: 1, distributions: map[string]*summary{}}
	s.tasks = flags.Number("tasks", "N", "How many tasks", "500", 1, math.MaxUint32)
	flags.find("tasks").alias = "threads"
	s.iters = flags.Number("iters", "N", "How many iterations to time", "10000", 1, anyNumber)
	s.warmups = flags.Number("warmups", "N", "How many iterations to run first, untimed", "100", 0, anyNumber)
	s.quiet = flags.Switch("quiet", 'q', "Print no result")
	s.format = flags.Choice("format", "How to print the result on standard output", "text", []Choice{
		{"text", "for people"},
		{"json", "one line, a record"},
	})
	s.command = flags.Text("command", "CMD", "Run this by sh -c after the measurement, while every task is still alive; "+
		"{pid} is replaced by this process's id. With --format json its output goes to standard error", func(text string) error {
		if text == "" {
			return errEmpty
		}
		return nil
	})
	s.checkLimits = flags.Switch("check-limits", 0, "Measure nothing: say whether the limits of this system allow the run, "+
		"print the commands that raise those that do not, and exit with status 0 or 1")
	s.mayRaise = flags.Switch("raise-limits", 0, "Raise for this run the limits of this process that are too low and may be "+
		"raised (hard ones take CAP_SYS_RESOURCE). Kernel parameters and control groups are not touched: the commands that "+
		"raise them are printed. With --check-limits: raise them, and check")
	s.place.register(flags)
	s.workers = flags.Number("workers", "N", "How many threads run goroutines at once (GOMAXPROCS) [default: as the variable "+
		"GOMAXPROCS says, or else one for each CPU]", "", 1, 32768)
	s.gogc = flags.Text("gogc", "PERCENT", "By how much the heap may grow before garbage is collected, or off [default: as "+
		"the variable GOGC says, or else 100]", func(text string) error {
		if _, err := percent(text); err != nil {
			return errors.New("write a whole number of per cent, or off")
		}
		return nil
	})
	return s
}

// percent reads what GOGC may be; -1 is off.
func percent(text string) (int, error) {
	if text == "off" {
		return -1, nil
	}
	value, err := strconv.ParseUint(text, 10, 31)
	return int(value), err
}

// Defaults sets the usual size where it is not that of a brigade.
func (s *Session) Defaults(tasks, iters, warmups string) {
	s.Flags.Default("tasks", tasks)
	s.Flags.Default("iters", iters)
	s.Flags.Default("warmups", warmups)
}

// TimerSlack makes a flag's value the timer slack of all threads.
func (s *Session) TimerSlack(slack *uint64) { s.place.slack = slack }

// Tasks is how many there are.
func (s *Session) Tasks() uint64 { return *s.tasks }

// Main follows the command line, measures, prints the result and ends the program: with status 0 where it has
// measured, 1 where it could not, 2 for bad usage, and 128 + signal where it was interrupted. check looks whether
// the flags go together. Whatever measure has given to the session before it failed is printed all the same.
func (s *Session) Main(check, measure func(*Session) error) {
	os.Exit(s.main(check, measure))
}

func (s *Session) main(check, measure func(*Session) error) int {
	if err := s.Flags.parse(os.Args[1:]); err != nil {
		return s.misused(err)
	}
	if err := check(s); err != nil {
		return s.misused(err)
	}
	var confined error
	s.first, confined = s.place.confine()
	installSignals(s.Flags.name)
	s.started = uint64(s.first.Started)
	if s.started == 0 {
		s.started = uint64(time.Now().UnixMilli())
	}
	if now, err := schedulingNow(); err == nil {
		isRealTime = now.name() == "fifo" || now.name() == "rr"
	}
	s.setRuntime()
	s.machine = readMachine()
	if s.first.Affinity != nil {
		s.machine.Affinity = s.first.Affinity
	}
	if s.first.TimerSlack != nil {
		s.machine.TimerSlack = s.first.TimerSlack
	}
	s.before = heldNow()
	err := confined
	if err == nil {
		err = guarded(func() error { return measure(s) })
	}
	return s.finish(err)
}

// misused ends what has not begun.
func (s *Session) misused(err error) int {
	// A reader that has gone away is no error.
	signal.Ignore(syscall.SIGPIPE)
	var text shown
	var wrong usage
	switch {
	case errors.As(err, &text):
		if err := print(text.text); err != nil {
			return complain(s.Flags.name, fmt.Errorf("cannot print the help: %w", err))
		}
		return 0
	case errors.As(err, &wrong):
		os.Stderr.WriteString(plain(wrong.text))
		return badUsage
	default:
		return complain(s.Flags.name, err)
	}
}

// setRuntime sets how many threads run goroutines and when garbage is collected, and finds out what the
// environment has changed. The number of threads is always set, so that the runtime does not change it later.
func (s *Session) setRuntime() {
	workers := *s.workers
	if asked, err := strconv.ParseUint(os.Getenv("GOMAXPROCS"), 10, 31); workers == 0 && err == nil && asked > 0 {
		workers = asked
	}
	if cpus, err := allowedCPUs(0); workers == 0 && err == nil {
		workers = uint64(len(cpus))
	}
	runtime.GOMAXPROCS(int(max(workers, 1)))
	if *s.gogc != "" {
		// It was read once already.
		value, _ := percent(*s.gogc)
		debug.SetGCPercent(value)
	}
	var changed []string
	for _, name := range []string{"GODEBUG", "GOMEMLIMIT"} {
		if value := os.Getenv(name); value != "" {
			changed = append(changed, name+"="+value)
		}
	}
	s.environment = strings.Join(changed, " ")
}

// Workers is how many threads run goroutines at once.
func (s *Session) Workers() uint64 { return uint64(runtime.GOMAXPROCS(0)) }

// gcPercent is the one in force, as GOGC has it.
func gcPercent() string {
	// It can only be read by setting it.
	value := debug.SetGCPercent(100)
	debug.SetGCPercent(value)
	if value < 0 {
		return "off"
	}
	return strconv.Itoa(value)
}

// errLimitsChecked ends the run of --check-limits.
type errLimitsChecked struct {
	verdict *exceeded
	largest uint64
	demand  Demand
}

func (e *errLimitsChecked) Error() string { return "only the limits were checked" }

// Require compares what the run is going to build with what the system allows, before it is built. It raises the
// soft descriptor limit to the hard one; with --raise-limits, what else may be raised. With --check-limits the
// run ends here in any case. heldBack tells how many tasks may be alive at once where not all of them need to be,
// and the names of the limits; nil where all must fit.
func (s *Session) Require(demand Demand, heldBack func(most uint64, limits []string)) error {
	tasks := s.Tasks()
	if *s.mayRaise {
		for _, told := range raiseLimits(demand, tasks) {
			say("%s: %s", s.Flags.name, told)
		}
	}
	if err := raiseDescriptors(demand.of(tasks).Descriptors); err != nil {
		return err
	}
	all := readLimits()
	verdict := all.check(demand, tasks)
	if *s.checkLimits {
		return &errLimitsChecked{verdict: verdict, largest: all.largest(demand), demand: demand}
	}
	if verdict != nil && heldBack != nil && verdict.largest > 0 {
		heldBack(verdict.largest, all.binding(demand, verdict.largest))
		tasks = verdict.largest
	} else if verdict != nil {
		return errors.New(verdict.Error())
	}
	s.line = measureCacheLine()
	s.building = time.Now()
	makeRoom(demand.of(tasks).Descriptors)
	return nil
}

// Laps are those to time. Give them back by Timed, also after an error.
func (s *Session) Laps() *Laps {
	return newLaps(*s.warmups, *s.iters, s.Flags.name, *s.quiet)
}

// Timed keeps the laps that were timed.
func (s *Session) Timed(laps *Laps) {
	laps.end()
	s.laps = laps
}

// Iters is how many iterations are asked for.
func (s *Session) Iters() uint64 { return *s.iters }

// Built keeps how long it took to build the tasks that are at rest, where they are built after the laps.
func (s *Session) Built(setup time.Duration) { s.setup = &setup }

// Carries declares how many tokens an iteration carries, over how many hops.
func (s *Session) Carries(tokens, hops uint64) {
	s.tokens = tokens
	s.hops = &hops
}

// HandsOver declares how many bytes an iteration hands over, end to end.
func (s *Session) HandsOver(bytes uint64) { s.payload = &bytes }

// AliveAtOnce keeps the largest number of tasks that were alive at once.
func (s *Session) AliveAtOnce(most uint64) { s.peakAlive = &most }

// HeldBack adds that the driver had to wait for an end before it began another task.
func (s *Session) HeldBack(most uint64, limits []string) {
	s.notes = append(s.notes, newNote("held-back", "at_once", most, "limits", limits))
}

// smallPipes adds that some pipes hold less than others.
func (s *Session) smallPipes(sizes map[uint64]uint64) {
	usual := uint64(os.Getpagesize() * pagesOfPipe)
	least, small, all := usual, uint64(0), uint64(0)
	for size, count := range sizes {
		all += count
		if size < usual {
			small += count
			least = min(least, size)
		}
	}
	if small > 0 {
		s.notes = append(s.notes, newNote("small-pipes", "links", small, "of", all, "bytes", least, "usual", usual))
	}
}

// Distribution keeps a distribution beside that of the iterations.
func (s *Session) Distribution(name string, recorder *Recorder) {
	if summary := recorder.summary(); summary != nil {
		s.distributions[name] = summary
	}
}

// AtRest reads the memory and runs the user's --command. Call it when the last iteration is done and every task
// is still alive. A command that fails does not stop the teardown: it makes the program end with status 1.
func (s *Session) AtRest() {
	s.atRest = pointer(heldNow())
	if s.line != nil {
		s.line.After = roundTrip(s.line.CPUs)
	}
	if *s.command != "" && Received() == 0 {
		s.commandErr = runCommand(*s.command, *s.format, s.first.Scheduling)
	}
	s.rested = time.Now()
}

// finish prints the result and the error, and decides about the exit status.
func (s *Session) finish(err error) int {
	var teardown *time.Duration
	if !s.rested.IsZero() {
		teardown = pointer(time.Since(s.rested))
	}
	var checked *errLimitsChecked
	if errors.As(err, &checked) {
		return s.printLimits(checked)
	}
	var bad *BadUsage
	if errors.As(err, &bad) {
		return complain(s.Flags.name, err)
	}
	if err == nil {
		err = s.commandErr
	}
	result := s.record(err, teardown)
	status := 0
	if !*s.quiet {
		text, failed := result.report(*s.format)
		if failed == nil {
			failed = print(text)
		}
		if failed != nil {
			status = complain(s.Flags.name, fmt.Errorf("cannot print the result: %w", failed))
		}
	}
	if err != nil && !errors.Is(err, errInterrupted) {
		status = complain(s.Flags.name, err)
	}
	if number := Received(); number != 0 {
		count := uint64(0)
		if result.Samples != nil {
			count = result.Samples.Count
		}
		say("%s: interrupted after %d of %d iterations", s.Flags.name, count, *s.iters)
		status = 128 + number
	}
	return status
}

func (s *Session) printLimits(checked *errLimitsChecked) int {
	text := ""
	if *s.format == "json" {
		shortages := []*shortage{}
		if checked.verdict != nil {
			shortages = checked.verdict.shortages
		}
		line, err := json.Marshal(map[string]any{
			"benchmark": s.Flags.name,
			"tasks":     s.Tasks(),
			"largest":   checked.largest,
			"demand":    checked.demand,
			"shortages": shortages,
		})
		if err != nil {
			return complain(s.Flags.name, err)
		}
		text = string(line) + "\n"
	} else {
		text = fmt.Sprintf("# %s with %d tasks: this system allows at most %d\n", s.Flags.name, s.Tasks(), checked.largest)
		if checked.verdict != nil {
			text += checked.verdict.commands()
		}
	}
	if err := print(text); err != nil {
		return complain(s.Flags.name, fmt.Errorf("cannot print the limits: %w", err))
	}
	if checked.verdict != nil {
		return couldNotMeasure
	}
	return 0
}

func (s *Session) record(err error, teardown *time.Duration) *record {
	params := s.Flags.params()
	params["gogc"] = gcPercent()
	r := &record{
		Schema:        schema,
		Benchmark:     s.Flags.name,
		Params:        params,
		CommandLine:   os.Args,
		Started:       s.started,
		Build:         currentBuild(),
		Machine:       s.machine,
		Runtime:       s.describeRuntime(),
		Partial:       true,
		Hops:          s.hops,
		Distributions: s.distributions,
		Payload:       s.payload,
		PeakAlive:     s.peakAlive,
		PeakResident:  peakResident(),
		TimerSlack:    timerSlack(),
		CacheLine:     s.line,
		Memory:        memoryChange{Before: s.before, AtRest: s.atRest},
		Setup:         ns(s.setup),
		Teardown:      ns(teardown),
	}
	if s.laps != nil {
		s.recordLaps(r)
	}
	if err != nil {
		r.Error = pointer(err.Error())
	}
	r.Notes = append(r.ownNotes(), s.notes...)
	if s.laps != nil {
		r.Notes = append(append(r.Notes, s.laps.stops.note()...), s.laps.notes...)
	}
	return r
}

func (s *Session) recordLaps(r *record) {
	laps := s.laps
	r.Samples = laps.recorder.summary()
	r.Partial = !laps.isComplete()
	r.Usage, r.Interference = laps.used, laps.meanwhile
	r.FirstIteration = ns(laps.first)
	if s.setup == nil && s.hops != nil && !laps.firstAt.IsZero() {
		r.Setup = ns(pointer(laps.firstAt.Sub(s.building)))
	}
	if r.Samples == nil {
		return
	}
	if s.hops != nil {
		r.PerHop = pointer(r.Samples.Mean / decimal(*s.hops))
	}
	r.PerTask = pointer(r.Samples.Mean / (decimal(s.Tasks()) * decimal(s.tokens)))
}

func ns(time *time.Duration) *uint64 {
	if time == nil {
		return nil
	}
	return pointer(uint64(max(*time, 0)))
}

func (s *Session) describeRuntime() *goRuntime {
	version := runtime.Version()
	if s.environment != "" {
		version += " (" + s.environment + ")"
	}
	return &goRuntime{Name: "go", Version: version, Flavor: "goroutines", Workers: s.Workers()}
}
