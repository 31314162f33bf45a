// Goroutines under a load: tasks arrive by a schedule that waits for none of them.
//
// One iteration is one arrival: --tasks goroutines, after an exponential gap. A goroutine multiplies for --work of CPU
// time. The generator is a process of its own, on a CPU of its own if there are two or more (generator.go): of each
// arrival it writes a byte into a pipe. A goroutine that reads the pipe starts the tasks. So they are served as
// `sparse-arrivals --on tokio --load` serves its own, whose header says what is counted: a sample is the time from the
// scheduled arrival to the task's first instruction.
//
// Not to be taken for goroutines that another one starts on its own thread: here each arrival comes from outside.
package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"switchcost/contract"
)

var (
	load = contract.Number("load", 70, 1, 1000, "`PERCENT` of the CPUs that serve, as work that arrives")
	work = contract.Flags.Duration("work", 20*time.Microsecond, "CPU `TIME` of a task, 1us to 1ms")
)

const (
	// Arrivals before those that count are so many, divided by the square of the idle share: see LEAD of sparse-arrivals.
	lead = 80.0
	// Most iterations of a request.
	most = 10_000
	// A backlog grows if it is more than one of so many tasks at each quarter of enough arrivals. It is others' fault if
	// they, or the host, used so much of the CPUs.
	enough, growing, othersUse = 5000, 25, 0.1
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "generate" {
		generate(os.Args[2:])
		return
	}
	contract.Main("goroutine-arrivals", 1, describe, measure)
}

// plan returns the mean gap of arrivals, in ns, and how many precede those that count.
func plan(atOnce uint64, cpus int) (gap float64, before int) {
	idle := max(1-float64(*load)/100, 0)
	return float64(*work) * float64(atOnce) * 100 / (float64(*load) * float64(cpus)), int(min(lead/(idle*idle), most))
}

func describe(d *contract.Description) error {
	if *work < time.Microsecond || *work > time.Millisecond {
		return errors.New("--work: write a time from 1us to 1ms")
	}
	_, serving, err := allowed()
	if err != nil {
		return err
	}
	_, before := plan(d.Tasks, len(serving))
	workers := d.Runtime["workers"].(uint64)
	d.Runtime["workers"] = min(workers, uint64(len(serving)))
	d.Arrivals, d.Settle = 1, 0
	d.Need("bytes", 0, 100*uint64(before+most))
	return nil
}

// request is what its tasks share.
type request struct {
	work    uint64
	atOnce  int
	records []record
	ended   atomic.Int64
	// due is how many tasks will have ended when it is over.
	due  atomic.Int64
	over chan struct{}
}

// record is what a task did, in ns by CLOCK_MONOTONIC.
type record struct {
	started, ended int64
	product        uint64
}

func measure(run *contract.Run) error {
	own, serving, err := allowed()
	if err != nil {
		return err
	}
	// Threads that the runtime creates later are created by these.
	if err := restrict(serving); err != nil {
		return err
	}
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), len(serving)))
	multiplications, err := calibrate(*work)
	if err != nil {
		return err
	}
	generator, err := start(own)
	if err != nil {
		return err
	}
	gap, before := plan(run.Tasks, len(serving))
	r := &request{work: multiplications, atOnce: int(run.Tasks), over: make(chan struct{}, 1)}
	r.records = make([]record, (before+most)*r.atOnce)
	for err == nil && run.Next() {
		if count := int(run.Left()); count > 0 {
			err = r.serve(run, generator, draw(gap, before+count), before, serving, own >= 0)
		}
	}
	return errors.Join(err, generator.end(), run.Err)
}

// serve starts the tasks of all arrivals, waits for them, and records what they took.
func (r *request) serve(run *contract.Run, generator *generator, due []int64, before int, cpus []int, isApart bool) error {
	r.records = append(r.records[:0], make([]record, len(due)*r.atOnce)...)
	r.ended.Store(0)
	r.due.Store(int64(len(r.records)))
	usedBefore := readClock(processTime)
	busyBefore, isKnown := busy(cpus)
	begun, err := generator.begin(due)
	if err != nil {
		return err
	}
	bytes, arrived, isGoingOn := make([]byte, 4096), 0, true
	for arrived < len(due) && isGoingOn {
		count, err := generator.pipe.Read(bytes)
		if err != nil {
			return fmt.Errorf("the generator has ended: %w", err)
		}
		for k := 0; k < count && isGoingOn; k++ {
			// Those that do not count are no iterations.
			if isGoingOn = arrived < before || run.Iterate(); isGoingOn {
				for place := range r.atOnce {
					go r.task(arrived*r.atOnce + place)
				}
				arrived++
			}
		}
	}
	run.Iterate()
	r.records = r.records[:arrived*r.atOnce]
	r.due.Store(int64(len(r.records)))
	if r.ended.Load() < r.due.Load() {
		<-r.over
	}
	// A signal ends it early: that the generator was late is not told then.
	if arrived == len(due) {
		late, err := generator.late(arrived)
		if err != nil {
			return err
		}
		run.Aside("generator_late", late[before:]...)
	}
	due = due[:arrived]
	for k := range due {
		due[k] += begun
	}
	used, others := float64(readClock(processTime)-usedBefore), 0.0
	if busyNow, isKnownNow := busy(cpus); isKnown && isKnownNow && isApart {
		others = max(float64(busyNow-busyBefore)-used, 0)
	}
	return r.sumUp(run, due, min(before, arrived), len(cpus), used, others)
}

// task reads the clock, multiplies, reads the clock.
func (r *request) task(place int) {
	started := now()
	product := multiply(r.work)
	r.records[place] = record{started, now(), product}
	if r.ended.Add(1) == r.due.Load() {
		r.over <- struct{}{}
	}
}

// sumUp checks the tasks, and records them: of each arrival, until its last task started.
func (r *request) sumUp(run *contract.Run, due []int64, before, cpus int, used, others float64) error {
	if len(due) == 0 {
		return nil
	}
	product, ends := multiply(r.work), make([]int64, 0, len(r.records))
	for arrival, at := range due {
		last := at
		for place, task := range r.records[arrival*r.atOnce : (arrival+1)*r.atOnce] {
			if task.product != product || task.started < at {
				return fmt.Errorf("task %d found %d, expected %d, or started before it arrived", place, task.product, product)
			}
			last = max(last, task.started)
			ends = append(ends, task.ended)
			if arrival >= before {
				run.Aside("in_task", uint64(task.ended-task.started))
			}
		}
		if arrival >= before {
			run.Record(time.Duration(last - at))
		}
	}
	slices.Sort(ends)
	all := float64(cpus) * float64(ends[len(ends)-1]-due[0])
	run.Aside("cpu_percent", uint64(math.Round(100*used/all)))
	run.Aside("others_percent", uint64(math.Round(100*others/all)))
	backlog, span := growingBacklog(due, ends), float64(cpus)*float64(due[len(due)-1]-due[0])
	// Beside others tasks do start so late, unless they alone take more CPU time than there is.
	if backlog == 0 || used < span && others > othersUse*span {
		return nil
	}
	return fmt.Errorf("the backlog grew to %d of %d tasks: a load of %d %%, and what it costs to serve it, is more than the "+
		"CPUs can do: lower --load", backlog, len(ends), *load)
}

// growingBacklog is how many tasks wait or run when the last one arrives, if more than one of so many do at each
// quarter of the arrivals; else 0.
func growingBacklog(due, ends []int64) (backlog int) {
	if len(due) < enough {
		return 0
	}
	for quarter := 1; quarter <= 4; quarter++ {
		arrived := len(due) * quarter / 4
		ended, _ := slices.BinarySearch(ends, due[arrived-1])
		tasks := arrived * len(ends) / len(due)
		if backlog = tasks - ended; backlog*growing <= tasks {
			return 0
		}
	}
	return backlog
}

func multiply(times uint64) uint64 {
	x := uint64(3)
	for range times {
		x = x*x + 5
	}
	return x
}

// calibrate returns how many multiplications take so much CPU time.
func calibrate(work time.Duration) (uint64, error) {
	const trial = 1 << 20
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	shortest := int64(math.MaxInt64)
	for range 7 {
		before := readClock(threadTime)
		sink = multiply(trial)
		shortest = min(shortest, readClock(threadTime)-before)
	}
	if shortest <= 0 {
		return 0, errors.New("the CPU time of a thread stands still: there is no such clock here")
	}
	return max(uint64(work)*trial/uint64(shortest), 1), nil
}

// sink has the compiler keep a result.
var sink uint64
