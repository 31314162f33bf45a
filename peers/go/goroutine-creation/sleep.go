package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"switchcost/contract"
)

var (
	sleep   = sleepFlag()
	isGated = contract.Flags.Bool("gate", false, "with --sleep: no body sleeps before all are alive")
)

func sleepFlag() *time.Duration {
	sleep := new(time.Duration)
	contract.Flags.Func("sleep", "let each body sleep for a `TIME` such as 1s, and time it all; with --iters 1 --warmup 0",
		func(text string) (err error) {
			*sleep, err = time.ParseDuration(text)
			if err != nil || *sleep <= 0 || *sleep > 24*time.Hour {
				return errors.New("write a time such as 50us or 1s, 24h at most")
			}
			return nil
		})
	return sleep
}

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
	// Written before the clock starts, so that it is resident.
	fill(s.late, none)
	for run.Iterate() {
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
		fill(s.late, none)
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
