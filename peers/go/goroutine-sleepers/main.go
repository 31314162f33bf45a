// Goroutines that sleep: what sleepers does with threads and async tasks.
//
// One iteration: N go statements, one after the other, and the wait for all of the goroutines. Each sleeps as soon as it
// runs; with --gate as soon as all are alive. Timed: the whole, from before the first statement until the last goroutine
// has ended.
//
// To be held, all wait at a gate, after using --stack-depth bytes of their stack. Further distributions: late, by how
// much each slept longer than asked; alive_count, the most that were alive at once.
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
	depth    = contract.Number("stack-depth", 0, 0, 1<<20, "`BYTES` of its stack that each held goroutine has once used")
	isInUse  = contract.Flags.Bool("stack-in-use", false, "with --stack-depth: each held goroutine waits down there, and does not return before")
	duration = contract.Flags.Duration("sleep", time.Second, "let each sleep for a `TIME` such as 1s")
	isGated  = contract.Flags.Bool("gate", false, "let none sleep before all are alive")
)

func main() { contract.Main("goroutine-sleepers", 10000, 0, describe, measure) }

func describe(d *contract.Description) error {
	if *duration <= 0 || *duration > 24*time.Hour {
		return errors.New("--sleep: write a time such as 50us or 1s, 24h at most")
	}
	// An iteration takes as long as a sleep: none is spent untimed.
	d.CreatesForHold, d.Settle, d.Alone = true, 0, true
	return nil
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

func measure(run *contract.Run) error {
	s := &sleepers{late: make([]uint64, run.Tasks)}
	for run.Next() {
		if run.IsHold {
			s.hold(run)
		} else if err := s.create(run); err != nil {
			return err
		}
	}
	return run.Err
}

// hold has N goroutines alive that wait at the gate, after using their stacks, until the next request.
func (s *sleepers) hold(run *contract.Run) {
	s.gate = make(chan struct{})
	s.arrived.Add(len(s.late))
	s.asleep.Add(len(s.late))
	for range s.late {
		go func() {
			wait := func() {
				s.arrived.Done()
				<-s.gate
			}
			if *isInUse {
				useStack(*depth, wait)
			} else {
				useStack(*depth, func() {})
				wait()
			}
			s.asleep.Done()
		}()
	}
	s.arrived.Wait()
	run.Held()
	close(s.gate)
	s.asleep.Wait()
}

// create lets N goroutines sleep in each iteration, and times that.
func (s *sleepers) create(run *contract.Run) error {
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
	time.Sleep(*duration)
	s.late[k] = uint64(max(time.Since(begun)-*duration, 0))
	s.alive.Add(-1)
	s.asleep.Done()
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
