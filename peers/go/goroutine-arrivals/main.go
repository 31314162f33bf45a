// Goroutines under a load: tasks arrive by a schedule that waits for none of them.
//
// One iteration: a window of --arrivals arrivals with exponential gaps, --tasks goroutines at each. A goroutine
// multiplies for --work of CPU time. The generator is a process of its own, on a CPU of its own if there are two or
// more (generator.go): of each arrival it writes a byte into a pipe. A goroutine that reads the pipe starts the tasks.
// So they are served as `sparse-arrivals --on tokio --load` serves its own, whose header says what is counted:
// a sample is the 99th percentile from the scheduled arrival to the task's first instruction.
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
	load     = contract.Number("load", 70, 1, 1000, "`PERCENT` of the CPUs that serve, as work that arrives")
	arrivals = contract.Number("arrivals", 5000, 1, 1<<24, "`N` arrivals of an iteration, the first fifth of which is not counted")
	work     = contract.Flags.Duration("work", 20*time.Microsecond, "CPU `TIME` of a task, 1us to 1ms")
)

const (
	longestWindow = time.Minute
	// The backlog that ends a run: so much work for each CPU that serves, or so many tasks.
	backlogTime, backlogTasks = 100 * time.Millisecond, 200
	lead                      = 5
	// A backlog grows if it is more than one of so many tasks in each quarter of a window that is long enough. One
	// window may be so because others use the CPUs: five in a row end the run.
	enough, growing, grownInARow = 200, 25, 5
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "generate" {
		generate(os.Args[2:])
		return
	}
	contract.Main("goroutine-arrivals", 1, describe, measure)
}

// size is that of the windows.
type size struct {
	arrivals, atOnce int
	gap              float64
	limit            int64
}

// plan sizes the windows. Above 100 % they are so long that the backlog passes its limit.
func plan(atOnce uint64, cpus int) size {
	limit := int64(cpus)*max(int64(backlogTime / *work), backlogTasks) + int64(atOnce)
	count := float64(*arrivals)
	if excess := 1 - 100/float64(*load); excess > 0 {
		count = max(count, math.Ceil(1.5*float64(limit)/excess/float64(atOnce)))
	}
	gap := float64(*work) * float64(atOnce) * 100 / (float64(*load) * float64(cpus))
	return size{int(count), int(atOnce), gap, limit}
}

func describe(d *contract.Description) error {
	if *work < time.Microsecond || *work > time.Millisecond {
		return errors.New("--work: write a time from 1us to 1ms")
	}
	_, serving, err := allowed()
	if err != nil {
		return err
	}
	size := plan(d.Tasks, len(serving))
	if length := size.gap * float64(size.arrivals); length > float64(longestWindow) {
		return fmt.Errorf("--arrivals %d: a window would take %v at this load, and %v is the most: at most %d fit",
			size.arrivals, time.Duration(length).Round(time.Second), longestWindow, int(float64(longestWindow)/size.gap))
	}
	workers := d.Runtime["workers"].(uint64)
	d.Runtime["workers"] = min(workers, uint64(len(serving)))
	d.Arrivals, d.Settle = uint64(size.arrivals), 0
	d.Need("bytes", 0, 100*uint64(size.arrivals))
	return nil
}

// window is what its tasks share.
type window struct {
	size
	work    uint64
	records []record
	ended   atomic.Int64
	// due is how many tasks will have ended when the window is over.
	due  atomic.Int64
	over chan error
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
	size := plan(run.Tasks, len(serving))
	multiplications, err := calibrate(*work)
	if err != nil {
		return err
	}
	w := &window{
		size: size, work: multiplications, records: make([]record, size.arrivals*size.atOnce), over: make(chan error, 1),
	}
	generator, err := start(own, w.arrivals)
	if err != nil {
		return err
	}
	go w.accept(generator.pipe)
	err = w.run(run, generator, len(serving))
	return errors.Join(err, generator.end())
}

// accept starts the tasks of each arrival.
func (w *window) accept(pipe *os.File) {
	bytes, taken, isGrowing, grown := make([]byte, 4096), 0, w.arrivals >= enough, 0
	for {
		count, err := pipe.Read(bytes)
		if err != nil {
			w.over <- fmt.Errorf("the generator has ended: %w", err)
			return
		}
		for range count {
			for k := range w.atOnce {
				go w.task(taken%w.arrivals*w.atOnce + k)
			}
			taken++
			arrived := (taken-1)%w.arrivals + 1
			backlog := int64(taken*w.atOnce) - w.ended.Load()
			if arrived%((w.arrivals+3)/4) == 0 {
				isGrowing = isGrowing && backlog*growing > int64(arrived*w.atOnce)
			}
			if arrived == w.arrivals {
				grown++
				if !isGrowing {
					grown = 0
				}
				isGrowing = w.arrivals >= enough
			}
			if backlog > w.limit || grown == grownInARow {
				w.over <- fmt.Errorf("the backlog grew to %d tasks: a load of %d %%, and what it costs to serve it, "+
					"is more than the CPUs can do: lower --load", backlog, *load)
				return
			}
		}
	}
}

// task reads the clock, multiplies, reads the clock.
func (w *window) task(place int) {
	started := now()
	product := multiply(w.work)
	w.records[place] = record{started, now(), product}
	if w.ended.Add(1) == w.due.Load() {
		w.over <- nil
	}
}

// run does all passes.
func (w *window) run(run *contract.Run, generator *generator, cpus int) error {
	product := multiply(w.work)
	for run.Next() {
		for run.Iterate() {
			clear(w.records)
			w.due.Add(int64(len(w.records)))
			before := readClock(processTime)
			offsets := draw(run.Begun, w.gap, w.arrivals)
			begun, late, err := generator.window(offsets, w.over)
			if err != nil {
				return err
			}
			used := readClock(processTime) - before
			skipped, last := w.arrivals/lead, begun
			var toStart, toEnd, inTask []uint64
			for place, r := range w.records {
				arrival := place / w.atOnce
				due := begun + offsets[arrival]
				if r.product != product || r.started < due {
					return fmt.Errorf("task %d found %d, expected %d, or started before it arrived", place, r.product, product)
				}
				last = max(last, r.ended)
				if arrival >= skipped {
					toStart = append(toStart, uint64(r.started-due))
					toEnd = append(toEnd, uint64(r.ended-due))
					inTask = append(inTask, uint64(r.ended-r.started))
				}
			}
			slices.Sort(toStart)
			slices.Sort(toEnd)
			run.Record(time.Duration(permille(toStart, 990)))
			run.Aside("to_start", toStart...)
			run.Aside("to_end", toEnd...)
			run.Aside("in_task", inTask...)
			run.Aside("to_start_p999", permille(toStart, 999))
			run.Aside("to_end_p999", permille(toEnd, 999))
			run.Aside("generator_late", late[skipped:]...)
			run.Aside("cpu_percent", uint64(math.Round(100*float64(used)/float64(last-begun)/float64(cpus))))
		}
	}
	return run.Err
}

// permille is a percentile of sorted samples in parts per thousand, by nearest rank.
func permille(sorted []uint64, part int) uint64 {
	return sorted[(len(sorted)*part+999)/1000-1]
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
