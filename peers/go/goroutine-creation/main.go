// What it takes to create goroutines.
//
// One iteration: N go statements, one after the other, each for a goroutine that writes its own number
// down and ends. Timed: the N statements (taking a goroutine, with its stack, from those that have ended
// or allocating it, and queueing it). Left out: awaiting them, which follows.
//
// The pass `single` reads the clock once more for each goroutine, and has two distributions besides:
//   - creation: one go statement, with one reading;
//   - spawn_to_body: from that statement to the first instruction of the goroutine's body.
//
// Not to be taken for the price of holding N goroutines: they end while others are created. `hold` has
// N of them alive at once that wait at a channel.
//
// With --sleep it is another program: see sleep.go.
package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"switchcost/contract"
)

func main() {
	contract.Main(contract.Program{
		Name: "goroutine-creation", About: "Time the creation of goroutines",
		Tasks: 10000, Iters: 100, Warmup: 10, CreatesForHold: true, Describe: describe, Measure: measure,
	})
}

func describe(d *contract.Description) error {
	// A goroutine that waits or sleeps: its first stack of 2 KiB, and what the runtime knows of it.
	d.Need("bytes", 0, 3600)
	if *sleep > 0 {
		// An iteration takes as long as a sleep: none is spent untimed.
		d.Passes[0].Settle = 0
		return nil
	}
	d.Passes = append(d.Passes, contract.PassKind{Name: "single", Settle: 3})
	if *isGated {
		return errors.New("--gate: nothing sleeps: add --sleep, or drop it")
	}
	return nil
}

func measure(run *contract.Run) error {
	for run.Next() {
		err := error(nil)
		switch {
		case run.Pass == "hold":
			hold(run)
		case run.Pass == "single":
			err = createStamped(run)
		case *sleep > 0:
			err = createSleepers(run)
		default:
			err = create(run)
		}
		if err != nil {
			return err
		}
	}
	return run.Err()
}

// create begins N goroutines in each iteration and times that.
func create(run *contract.Run) error {
	returned := make([]int, run.Tasks)
	var bodies sync.WaitGroup
	for run.Iterate() {
		bodies.Add(len(returned))

		clock := time.Now()
		for k := range returned {
			go body(&bodies, returned, k)
		}
		run.Record(time.Since(clock))

		bodies.Wait()
		for k, number := range returned {
			if number != k+1 {
				return fmt.Errorf("task %d returned %d", k, number-1)
			}
			returned[k] = 0
		}
	}
	return nil
}

// body writes its own number down, from 1.
func body(bodies *sync.WaitGroup, returned []int, k int) {
	returned[k] = k + 1
	bodies.Done()
}

// none is what stands where a goroutine has written nothing.
const none = math.MaxUint64

// createStamped reads the clock between the statements too, and first thing in each goroutine.
func createStamped(run *contract.Run) error {
	calls, delays := make([]uint64, run.Tasks), make([]uint64, run.Tasks)
	var bodies sync.WaitGroup
	for run.Iterate() {
		bodies.Add(len(calls))
		fill(delays, none)

		clock := time.Now()
		called := clock
		for k := range calls {
			go stamped(&bodies, delays, k, called)
			now := time.Now()
			calls[k] = uint64(now.Sub(called))
			called = now
		}
		run.Record(time.Since(clock))

		bodies.Wait()
		if k := slices.Index(delays, none); k >= 0 {
			return fmt.Errorf("task %d did not run", k)
		}
		run.Aside("creation", calls...)
		run.Aside("spawn_to_body", delays...)
	}
	return nil
}

// stamped writes down how long ago it was called.
func stamped(bodies *sync.WaitGroup, delays []uint64, k int, called time.Time) {
	delays[k] = uint64(time.Since(called))
	bodies.Done()
}

func fill(numbers []uint64, value uint64) {
	for k := range numbers {
		numbers[k] = value
	}
}

// hold has N goroutines alive that wait at a channel until the next request.
func hold(run *contract.Run) {
	gate := make(chan struct{})
	var started, ended sync.WaitGroup
	started.Add(int(run.Tasks))
	ended.Add(int(run.Tasks))
	for range run.Tasks {
		go func() {
			started.Done()
			<-gate
			ended.Done()
		}()
	}
	started.Wait()
	run.Held()
	close(gate)
	ended.Wait()
}
