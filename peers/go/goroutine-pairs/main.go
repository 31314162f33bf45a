// Pairs of goroutines hand a number to and fro, all pairs at once: what pairs does with threads and async tasks.
//
// One iteration: each of C pairs (--chains) makes R round trips (--trips). The pair's driver sends a number, its partner
// adds one and sends it back: 2 R C hops. With --tasks N a pair has N partners in a row.
//
// Timed: from the start of the first driver to the end of the last one. Left out: building the pairs.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"switchcost/contract"
)

var (
	chains   = contract.Number("chains", 1, 1, 1<<16, "`C` pairs that work at the same time")
	trips    = contract.Number("trips", 100, 1, 1<<20, "`R` round trips that each pair makes in an iteration")
	inMemory = contract.Flags.Bool("over-memory", false, "join the pairs by channels, and not by pipes")
	capacity = contract.Number("capacity", 1, 0, 1<<16, "`N` numbers that a channel holds; 0: no buffer")
)

func main() { contract.Main("goroutine-pairs", 1, 100, describe, measure) }

func describe(d *contract.Description) error {
	d.Chains, d.Trips, d.Hops = *chains, *trips, (d.Tasks+1)**chains**trips
	return nil
}

// driver makes the round trips of an iteration, the first with this number, and tells when it began and ended.
type driver func(number int) times

type times struct {
	begun, ended time.Time
	err          error
}

func measure(run *contract.Run) error {
	all, starts, told := make([]*contract.Chain, *chains), make([]chan int, *chains), make([]chan times, *chains)
	closes := []func(){}
	for k := range all {
		all[k], starts[k], told[k] = &contract.Chain{}, make(chan int), make(chan times)
		drive, end, err := build(run, all[k])
		if err != nil {
			return err
		}
		closes = append(closes, end)
		all[k].Started()
		go func() {
			for number := range starts[k] {
				told[k] <- drive(number)
			}
		}()
	}
	errs := driveAll(run, starts, told)
	for _, end := range closes {
		end()
	}
	for k, chain := range all {
		if err := chain.Result(errs[k], run.Tasks*run.Begun**trips); err != nil {
			return fmt.Errorf("pair %d: %w", k, err)
		}
	}
	return run.Err
}

// driveAll starts all drivers in each iteration, and times from the first start to the last end. It returns how each
// driver fared.
func driveAll(run *contract.Run, starts []chan int, told []chan times) []error {
	errs, failed := make([]error, len(starts)), false
	for run.Next() {
		for run.Iterate() {
			for _, start := range starts {
				start <- int(run.Begun)
			}
			var span times
			for k := range told {
				one := <-told[k]
				errs[k], failed = one.err, failed || one.err != nil
				if k == 0 || one.begun.Before(span.begun) {
					span.begun = one.begun
				}
				if k == 0 || one.ended.After(span.ended) {
					span.ended = one.ended
				}
			}
			if failed {
				return errs
			}
			run.Record(span.ended.Sub(span.begun))
		}
	}
	return errs
}

// build joins a driver and its partners. The second function ends them.
func build(run *contract.Run, chain *contract.Chain) (driver, func(), error) {
	if *inMemory {
		first, last := chain.Channels(run.Tasks, *capacity, passNumbers)
		came := make([]int, *trips)
		drive := func(number int) times {
			begun := time.Now()
			for k := range came {
				first <- number + k
				came[k] = <-last
			}
			return times{begun, time.Now(), contract.CheckTokens(came, number, int(run.Tasks))}
		}
		return drive, func() { close(first) }, nil
	}
	first, last, err := joinByPipes(run.Tasks, chain)
	came := make([]byte, *trips)
	drive := func(number int) times {
		begun := time.Now()
		for k := range came {
			came[k] = byte(number + k)
			if _, err := first.Write(came[k : k+1]); err != nil {
				return times{err: err}
			}
			if _, err := last.Read(came[k : k+1]); err != nil {
				return times{err: fmt.Errorf("%w: %w", contract.ErrEnded, err)}
			}
		}
		return times{begun, time.Now(), contract.CheckTokens(came, byte(number), byte(run.Tasks))}
	}
	return drive, func() { first.Close(); last.Close() }, err
}

// joinByPipes starts partners that pass on bytes. It returns the driver's ends.
func joinByPipes(tasks uint64, chain *contract.Chain) (first, last *os.File, err error) {
	for k := range tasks + 1 {
		var ends [2]int
		if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
			return nil, nil, fmt.Errorf("cannot make a pipe: %w: lower --tasks", err)
		}
		from, to := last, os.NewFile(uintptr(ends[1]), "pipe")
		last = os.NewFile(uintptr(ends[0]), "pipe")
		if k == 0 {
			first = to
		} else {
			chain.Go(func() (uint64, error) { return passBytes(from, to) })
		}
	}
	return first, last, nil
}

// passBytes is a partner: takes a byte, adds one to it, hands it on, until the end of file.
func passBytes(from, to *os.File) (passed uint64, err error) {
	defer from.Close()
	defer to.Close()
	token := make([]byte, 1)
	for {
		if _, err := from.Read(token); errors.Is(err, io.EOF) {
			return passed, nil
		} else if err != nil {
			return passed, err
		}
		token[0]++
		if _, err := to.Write(token); err != nil {
			return passed, err
		}
		passed++
	}
}

// passNumbers is the same with channels.
func passNumbers(from <-chan int, to chan<- int) (passed uint64) {
	for number := range from {
		to <- number + 1
		passed++
	}
	close(to)
	return passed
}
