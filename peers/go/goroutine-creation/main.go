// What it takes to create goroutines.
//
// One iteration: N go statements, one after the other, each for a goroutine that writes its own number
// down and ends. Timed: the N statements (taking a goroutine, with its stack, from those that have ended
// or allocating it, and queueing it). Left out: awaiting them, which follows.
//
// Not to be taken for the price of holding N goroutines: they end while others are created. `hold` has
// N of them alive at once that wait at a channel.
//
// goroutine-sleepers has goroutines that sleep.
package main

import (
	"fmt"
	"sync"
	"time"

	"switchcost/contract"
)

func main() { contract.Main("goroutine-creation", 10000, 100, describe, measure) }

func describe(d *contract.Description) error {
	d.CreatesForHold = true
	return nil
}

func measure(run *contract.Run) error {
	for run.Next() {
		if run.IsHold {
			hold(run)
		} else if err := create(run); err != nil {
			return err
		}
	}
	return run.Err
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
