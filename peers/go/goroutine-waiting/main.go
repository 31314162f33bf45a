// What it takes a goroutine to wait: the rows of `waiting` that Go has.
//
// One iteration: N operations in a row, where N is --tasks. --on names the operation:
//   - timer: time.NewTimer of an hour, and Stop. It enters the heap of timers, as Go 1.22 has it, which go.mod asks
//     for: since 1.23 one that nobody receives from does not;
//   - select: of two channels that have a number, one gives it, and takes it back;
//   - mutex: sync.Mutex is locked, guards one more, and is unlocked, in equal shares by --contenders goroutines;
//   - channel: a number to another goroutine through a channel without buffer, and another one back: two hops. With
//     --threads each of both has an OS thread of its own (runtime.LockOSThread), and more switches than hops, since the
//     runtime hands the right to run over to a third one;
//   - gosched: runtime.Gosched, to another goroutine that does the same, and back: two hops.
//
// At rest N goroutines wait, each for a number from a channel of its own.
//
// Timed: those operations. Left out: what is built, and the check of all counts. Not to be taken for one CPU:
// GOMAXPROCS follows the CPUs that the process may use.
package main

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"switchcost/contract"
)

var (
	on         = "channel"
	contenders = contract.Number("contenders", 1, 1, 1000, "`N` goroutines that share a mutex")
	threads    = contract.Flags.Bool("threads", false, "each side of a channel has an OS thread of its own")
	rows       = map[string]func(n uint64) row{
		"timer": timers, "select": selects, "mutex": mutexes, "channel": channels, "gosched": yields,
	}
)

// row is an operation: iterate does it N times and returns how often it was seen to be done, end takes it down.
type row struct {
	iterate func() uint64
	end     func()
}

func main() {
	contract.Flags.Func("on", "operation: timer, select, mutex, channel or gosched (default channel)", func(text string) error {
		if on = text; rows[text] == nil {
			return errors.New("write timer, select, mutex, channel or gosched")
		}
		return nil
	})
	contract.Main("goroutine-waiting", 100, describe, measure)
}

func describe(d *contract.Description) error {
	if *threads && on != "channel" || *contenders > 1 && on != "mutex" {
		return fmt.Errorf("--threads, --contenders: not for --on %s: drop it", on)
	}
	switch {
	case *threads:
		d.Claim = "kernel-switch"
	case on == "channel" || on == "gosched":
		d.Hops = 2 * d.Tasks
	default:
		d.Claim = "no-switch"
	}
	// A goroutine that waits, with its channel.
	d.Need("bytes", 0, 3200)
	d.CreatesForHold = true
	return nil
}

func measure(run *contract.Run) error {
	r := rows[on](run.Tasks)
	defer r.end()
	if *threads {
		runtime.LockOSThread()
	}
	for run.Next() {
		if run.IsHold {
			rest(run)
			continue
		}
		for run.Iterate() {
			clock := time.Now()
			done := r.iterate()
			run.Record(time.Since(clock))
			if done != run.Tasks {
				return fmt.Errorf("%d operations were done, expected %d", done, run.Tasks)
			}
		}
	}
	return run.Err
}

// rest holds N goroutines that wait.
func rest(run *contract.Run) {
	ends := make([]chan int, run.Tasks)
	var started sync.WaitGroup
	for k := range ends {
		ends[k] = make(chan int)
		started.Add(1)
		go func() {
			started.Done()
			<-ends[k]
		}()
	}
	started.Wait()
	run.Held()
	for _, end := range ends {
		close(end)
	}
}

func timers(n uint64) row {
	return row{func() (stopped uint64) {
		for range n {
			if time.NewTimer(time.Hour).Stop() {
				stopped++
			}
		}
		return
	}, func() {}}
}

func selects(n uint64) row {
	a, b := make(chan int, 1), make(chan int, 1)
	a <- 0
	b <- 1
	return row{func() (taken uint64) {
		for range n {
			select {
			case number := <-a:
				a <- number
			case number := <-b:
				b <- number
			}
			taken++
		}
		return
	}, func() {}}
}

func mutexes(n uint64) row {
	var lock sync.Mutex
	var number uint64
	share := func(count uint64) {
		for range count {
			lock.Lock()
			number++
			lock.Unlock()
		}
	}
	return row{func() uint64 {
		number = 0
		var all sync.WaitGroup
		for k := uint64(1); k < *contenders; k++ {
			all.Add(1)
			go func() {
				defer all.Done()
				share((n + k) / *contenders)
			}()
		}
		share(n / *contenders)
		all.Wait()
		return number
	}, func() {}}
}

func channels(n uint64) row {
	there, back := make(chan uint64), make(chan uint64)
	go func() {
		if *threads {
			runtime.LockOSThread()
		}
		for number := range there {
			back <- number + 1
		}
	}()
	return row{func() (number uint64) {
		for range n {
			there <- number
			number = <-back
		}
		return
	}, func() { close(there) }}
}

func yields(n uint64) row {
	return row{func() uint64 {
		other := make(chan uint64, 1)
		yield := func() (count uint64) {
			for ; count < n; count++ {
				runtime.Gosched()
			}
			return
		}
		go func() { other <- yield() }()
		return min(yield(), <-other)
	}, func() {}}
}
