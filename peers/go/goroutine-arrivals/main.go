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
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

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
	if len(os.Args) == 2 && os.Args[1] == "generate" {
		generate()
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
	cpus, err := allowed()
	if err != nil {
		return err
	}
	_, before := plan(d.Tasks, len(cpus.serving))
	workers := d.Runtime["workers"].(uint64)
	d.Runtime["workers"] = min(workers, uint64(len(cpus.serving)))
	d.Arrivals, d.Settle = 1, 0
	d.Need("bytes", 0, 100*uint64(before+most))
	return nil
}

// server is what the tasks of a request share.
type server struct {
	cpus    cpus
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
	cpus, err := allowed()
	if err != nil {
		return err
	}
	if err := cpus.keepOff(); err != nil {
		return err
	}
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), len(cpus.serving)))
	multiplications, err := calibrate(*work)
	if err != nil {
		return err
	}
	generator, err := start(cpus)
	if err != nil {
		return err
	}
	gap, before := plan(run.Tasks, len(cpus.serving))
	s := &server{cpus: cpus, work: multiplications, atOnce: int(run.Tasks), over: make(chan struct{}, 1)}
	s.records = make([]record, (before+most)*s.atOnce)
	for err == nil && run.Next() {
		if count := int(run.Left()); count > 0 {
			err = s.serve(run, generator, request{gap, before + count, cpus.generator >= 0}, before)
		}
	}
	return errors.Join(err, generator.end(), run.Err)
}

// serve starts the tasks of all arrivals, waits for them, and records what they took.
func (s *server) serve(run *contract.Run, generator *generator, wanted request, before int) error {
	s.records = append(s.records[:0], make([]record, wanted.Count*s.atOnce)...)
	s.ended.Store(0)
	s.due.Store(int64(len(s.records)))
	usedBefore, othersBefore := cpuTime(ofProcess), s.cpus.busy()
	if err := generator.asked.Encode(wanted); err != nil {
		return fmt.Errorf("the generator has ended: %w", err)
	}
	bytes, arrived, isGoingOn := make([]byte, 4096), 0, true
	for arrived < wanted.Count && isGoingOn {
		count, err := generator.pipe.Read(bytes)
		if err != nil {
			return fmt.Errorf("the generator has ended: %w", err)
		}
		for k := 0; k < count && isGoingOn; k++ {
			// Those that do not count are no iterations.
			if isGoingOn = arrived < before || run.Iterate(); isGoingOn {
				for place := range s.atOnce {
					go s.task(arrived*s.atOnce + place)
				}
				arrived++
			}
		}
	}
	if !isGoingOn {
		// A signal ends it: the generator notices that nobody reads.
		generator.pipe.Close()
	}
	run.Iterate()
	s.records = s.records[:arrived*s.atOnce]
	s.due.Store(int64(len(s.records)))
	if s.ended.Load() < s.due.Load() {
		<-s.over
	}
	used := float64(cpuTime(ofProcess) - usedBefore)
	others := max(float64(s.cpus.busy()-othersBefore)-used, 0)
	var came arrivals
	if err := generator.answer.Decode(&came); err != nil || len(came.Due) < arrived {
		return fmt.Errorf("the generator has ended: %w", err)
	}
	return s.sumUp(run, arrivals{came.Due[:arrived], came.Late[:arrived]}, min(before, arrived), used, others)
}

// task reads the clock, multiplies, reads the clock.
func (s *server) task(place int) {
	started := nanotime()
	product := multiply(s.work)
	s.records[place] = record{started, nanotime(), product}
	if s.ended.Add(1) == s.due.Load() {
		s.over <- struct{}{}
	}
}

// sumUp checks the tasks, and records them: of each arrival, until its last task started.
func (s *server) sumUp(run *contract.Run, came arrivals, before int, used, others float64) error {
	if len(came.Due) == 0 {
		return nil
	}
	product, ends := multiply(s.work), make([]int64, 0, len(s.records))
	for arrival, due := range came.Due {
		last := due
		for place, task := range s.records[arrival*s.atOnce : (arrival+1)*s.atOnce] {
			if task.product != product || task.started < due {
				return fmt.Errorf("task %d found %d, expected %d, or started before it arrived", place, task.product, product)
			}
			last = max(last, task.started)
			ends = append(ends, task.ended)
			if arrival >= before {
				run.Aside("in_task", uint64(task.ended-task.started))
			}
		}
		if arrival >= before {
			run.Record(time.Duration(last - due))
			run.Aside("generator_late", uint64(came.Late[arrival]))
		}
	}
	slices.Sort(ends)
	cpus, first := float64(len(s.cpus.serving)), came.Due[0]
	all := cpus * float64(ends[len(ends)-1]-first)
	run.Aside("cpu_percent", uint64(math.Round(100*used/all)))
	run.Aside("others_percent", uint64(math.Round(100*others/all)))
	backlog, span := growingBacklog(came.Due, ends), cpus*float64(came.Due[len(came.Due)-1]-first)
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
		before := cpuTime(ofThread)
		sink = multiply(trial)
		shortest = min(shortest, cpuTime(ofThread)-before)
	}
	if shortest <= 0 {
		return 0, errors.New("the CPU time of a thread stands still: there is no such clock here")
	}
	return max(uint64(work)*trial/uint64(shortest), 1), nil
}

// sink has the compiler keep a result.
var sink uint64

// Clocks of clock_gettime(2). What getrusage(2) says is as coarse as a tick on some kernels.
const ofProcess, ofThread = 2, 3

// cpuTime reads a clock, in ns. It cannot fail: each of them is on every Linux.
func cpuTime(clock uintptr) int64 {
	var used syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&used)), 0)
	return used.Nano()
}

// busy is how long the CPUs that serve were not idle since the start, in ns: 0 if the kernel does not tell, or if the
// generator uses them too.
func (c cpus) busy() (sum int64) {
	text, _ := os.ReadFile("/proc/stat")
	for _, cpu := range c.serving {
		_, line, _ := strings.Cut(string(text), fmt.Sprintf("\ncpu%d ", cpu))
		var user, nice, system, idle, iowait, irq, softirq, steal int64
		_, err := fmt.Sscan(line, &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal)
		if err != nil || c.generator < 0 {
			return 0
		}
		// In ticks of 10 ms.
		sum += (user + nice + system + irq + softirq + steal) * 1e7
	}
	return sum
}
