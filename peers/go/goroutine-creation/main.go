// What it takes to create goroutines.
//
// One iteration: N go statements, one after the other, each for a goroutine that writes its own number
// down and ends. Timed: the N statements (taking a goroutine, with its stack, from those that have ended
// or allocating it, and queueing it). Left out: awaiting them, which follows.
//
// Not to be taken for the price of holding N goroutines: they end while others are created. `hold` has
// N of them alive at once that wait at a channel.
//
// With --sleep it is another program: see createSleepers.
package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"switchcost/contract"
)

var (
	sleep   = contract.Flags.Duration("sleep", 0, "let each body sleep for a `TIME` such as 1s, and time it all; with --warmup 0")
	depth   = contract.Number("stack-depth", 0, 0, 1<<20, "`BYTES` of its stack that each held goroutine has once used")
	isInUse = contract.Flags.Bool("stack-in-use", false, "with --stack-depth: each held goroutine waits down there, and does not return before")
	isGated = contract.Flags.Bool("gate", false, "with --sleep: no body sleeps before all are alive")
)

func main() { contract.Main("goroutine-creation", 10000, describe, measure) }

func describe(d *contract.Description) error {
	// A goroutine that waits or sleeps: its first stack of 2 KiB, and what the runtime knows of it.
	// A stack that is too small is copied to one of twice its size.
	d.Need("bytes", 0, 3600+4**depth)
	d.CreatesForHold = true
	switch {
	case *sleep < 0 || *sleep > 24*time.Hour:
		return errors.New("--sleep: write a time such as 50us or 1s, 24h at most")
	case *depth > 0 && *sleep > 0:
		return errors.New("--stack-depth: for goroutines that are held: drop --sleep")
	case *sleep > 0:
		// An iteration takes as long as a sleep: none is spent untimed.
		d.Settle, d.Alone = 0, true
	case *isGated:
		return errors.New("--gate: nothing sleeps: add --sleep, or drop it")
	}
	return nil
}

func measure(run *contract.Run) error {
	for run.Next() {
		err := error(nil)
		switch {
		case run.IsHold:
			hold(run)
		case *sleep > 0:
			err = createSleepers(run)
		default:
			err = create(run)
		}
		if err != nil {
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
			wait := func() {
				started.Done()
				<-gate
			}
			if *isInUse {
				useStack(*depth, wait)
			} else {
				useStack(*depth, func() {})
				wait()
			}
			ended.Done()
		}()
	}
	started.Wait()
	run.Held()
	close(gate)
	ended.Wait()
}

// useStack calls itself until about so many bytes of the stack are in use, calls do, and returns.
//
//go:noinline
func useStack(depth uint64, do func()) byte {
	var frame [960]byte
	if depth <= 1024 {
		do()
		return frame[depth%uint64(len(frame))]
	}
	below := useStack(depth-1024, do)
	frame[below] = below + 1
	return frame[depth%uint64(len(frame))]
}

// none is what stands where a goroutine has written nothing.
const none = math.MaxUint64

// sleepers are N goroutines that each sleep for a time.
type sleepers struct {
	gate            chan struct{}
	arrived, asleep sync.WaitGroup
	alive           atomic.Int64
	late            []uint64
}

// createSleepers is another program's loop. One iteration: N go statements, one after the other, and the
// wait for all of them. Each goroutine sleeps as soon as it runs; with --gate as soon as all are alive.
// Timed: the whole, from before the first statement until the last goroutine has ended.
//
// Extra distributions: late, which is by how much each slept longer than asked; and alive_count, the most
// that were alive at once in each iteration.
func createSleepers(run *contract.Run) error {
	s := &sleepers{late: make([]uint64, run.Tasks)}
	for run.Iterate() {
		// Written before the clock starts, so that it is resident.
		for k := range s.late {
			s.late[k] = none
		}
		most := int64(0)
		s.gate = make(chan struct{})
		s.arrived.Add(len(s.late))
		s.asleep.Add(len(s.late))

		clock := time.Now()
		for k := range s.late {
			most = max(most, s.alive.Add(1))
			go s.sleep(k)
		}
		if *isGated {
			s.arrived.Wait()
			close(s.gate)
		}
		s.asleep.Wait()
		run.Record(time.Since(clock))

		if k := slices.Index(s.late, none); k >= 0 {
			return fmt.Errorf("task %d did not sleep", k)
		}
		run.Aside("alive_count", uint64(most))
		run.Aside("late", s.late...)
	}
	return nil
}

func (s *sleepers) sleep(k int) {
	s.arrived.Done()
	if *isGated {
		<-s.gate
	}
	begun := time.Now()
	time.Sleep(*sleep)
	s.late[k] = uint64(max(time.Since(begun)-*sleep, 0))
	s.alive.Add(-1)
	s.asleep.Done()
}
