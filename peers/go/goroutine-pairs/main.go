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
)

func main() { contract.Main("goroutine-pairs", 1, describe, measure) }

func describe(d *contract.Description) error {
	d.Chains, d.Trips, d.Hops = *chains, *trips, (d.Tasks+1)**chains**trips
	// The driver with its pipe needs what a partner does.
	const task = 18 << 10
	if !*inMemory {
		d.Need("descriptors", 2**chains, 2**chains)
	}
	d.Need("bytes", task**chains, task**chains)
	return nil
}

// driver makes the round trips of an iteration, the first with this number.
type driver func(number int) error

// told is when a driver began and ended.
type told struct {
	begun, ended time.Time
	err          error
}

func measure(run *contract.Run) error {
	all, starts, ends := make([]*contract.Chain, *chains), make([]chan int, *chains), make(chan told)
	closes := []func(){}
	for k := range all {
		all[k], starts[k] = &contract.Chain{}, make(chan int)
		drive, end, err := build(run, all[k])
		if err != nil {
			return err
		}
		closes = append(closes, end)
		all[k].Started()
		go func() {
			for number := range starts[k] {
				begun := time.Now()
				err := drive(number)
				ends <- told{begun, time.Now(), err}
			}
		}()
	}
	err := driveAll(run, starts, ends)
	for _, end := range closes {
		end()
	}
	for k, chain := range all {
		if err := chain.Result(err, run.Tasks*run.Begun**trips); err != nil {
			return fmt.Errorf("chain %d: %w", k, err)
		}
	}
	return run.Err
}

// driveAll starts all drivers in each iteration, and times from the first start to the last end.
func driveAll(run *contract.Run, starts []chan int, ends <-chan told) error {
	for run.Next() {
		for run.Iterate() {
			for _, start := range starts {
				start <- int(run.Begun)
			}
			first := <-ends
			err := first.err
			for range starts[1:] {
				other := <-ends
				err = errors.Join(err, other.err)
				if other.begun.Before(first.begun) {
					first.begun = other.begun
				}
				if other.ended.After(first.ended) {
					first.ended = other.ended
				}
			}
			if err != nil {
				return err
			}
			run.Record(first.ended.Sub(first.begun))
		}
	}
	return run.Err
}

// build joins a driver and its partners. The second function ends them.
func build(run *contract.Run, chain *contract.Chain) (driver, func(), error) {
	if *inMemory {
		first, last := chain.Channels(run.Tasks, 1, passNumbers)
		drive := func(number int) error {
			for k := range int(*trips) {
				first <- number + k
				if came := <-last; came != number+k+int(run.Tasks) {
					return contract.CheckTokens([]int{came}, number+k, int(run.Tasks))
				}
			}
			return nil
		}
		return drive, func() { close(first) }, nil
	}
	first, last, err := joinByPipes(run.Tasks, chain)
	token := make([]byte, 1)
	drive := func(number int) error {
		for k := range int(*trips) {
			token[0] = byte(number + k)
			if _, err := first.Write(token); err != nil {
				return err
			}
			if _, err := last.Read(token); err != nil {
				return fmt.Errorf("%w: %w", contract.ErrEnded, err)
			}
			if token[0] != byte(number+k)+byte(run.Tasks) {
				return contract.CheckTokens(token, byte(number+k), byte(run.Tasks))
			}
		}
		return nil
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
