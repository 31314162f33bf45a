// Goroutines that sleep again and again: what timer-lateness does with threads and async tasks.
//
// One iteration: --firings times a time.Sleep of one of N goroutines, while the others sleep likewise. They begin one
// after the other within the length of a sleep, and all have slept equally often when a pass ends. Timed: from before the
// first sleep until after the last. Further distribution: late, by how much each one of all N slept longer than asked.
package main

import (
	"errors"
	"sync"
	"time"

	"switchcost/contract"
)

var (
	length  = contract.Flags.Duration("sleep", time.Millisecond, "let each sleep for a `TIME` such as 50us")
	firings = contract.Number("firings", 1, 1, 1_000_000, "how often each sleeps in an iteration: `N`")
)

func main() { contract.Main("goroutine-timers", 1, 10, describe, measure) }

func describe(d *contract.Description) error {
	if *length <= 0 || *length > time.Second {
		return errors.New("--sleep: write a time such as 50us, 1s at most")
	}
	d.Settle, d.Hops = 0, d.Tasks**firings
	return nil
}

func measure(run *contract.Run) error {
	for run.Next() {
		if err := pass(run); err != nil {
			return err
		}
	}
	return run.Err
}

// pass sleeps in each iteration, while the other goroutines do so.
func pass(run *contract.Run) error {
	var others sync.WaitGroup
	late := make([][]time.Duration, run.Tasks)
	for k := range late {
		late[k] = make([]time.Duration, 0, run.Left()**firings)
	}
	begin := time.Now().Add(20*time.Millisecond + time.Duration(run.Tasks)*20*time.Microsecond)
	for k := 1; k < len(late); k++ {
		others.Add(1)
		go func() {
			defer others.Done()
			time.Sleep(time.Until(begin.Add(*length * time.Duration(k) / time.Duration(len(late)))))
			for range cap(late[k]) {
				late[k] = append(late[k], sleep())
			}
		}()
	}
	time.Sleep(time.Until(begin))
	for run.Iterate() {
		clock := time.Now()
		for range *firings {
			late[0] = append(late[0], sleep())
		}
		run.Record(time.Since(clock))

		if run.Left() == 0 {
			others.Wait()
		}
	}
	if run.Left() > 0 {
		// A signal: the others still sleep.
		return nil
	}
	for _, each := range late {
		for _, by := range each {
			if by < 0 {
				return errors.New("a sleep has ended early")
			}
			run.Aside("late", uint64(by))
		}
	}
	return nil
}

// sleep sleeps once, and returns how late that ended.
func sleep() time.Duration {
	begun := time.Now()
	time.Sleep(*length)
	return time.Since(begun) - *length
}
