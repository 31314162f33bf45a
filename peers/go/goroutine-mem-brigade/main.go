// A number travels through N goroutines chained by channels: no I/O, no system call.
//
// One iteration: the driver puts a number into the first channel; each goroutine takes it, adds one, and puts it into the
// next channel; the driver takes it from the last one: N + 1 hops, each a send, a wake-up by the scheduler and a
// receive. The driver is a goroutine like the others.
//
// Timed: those operations and the scheduler's work to run the next goroutine. Left out: creating and awaiting the
// goroutines, and the check of the numbers.
//
// Not to be taken for the price on one CPU: the scheduler may run two goroutines of the chain on two CPUs. GOMAXPROCS=1
// keeps them on one thread.
package main

import (
	"fmt"
	"math"
	"time"

	"switchcost/contract"
)

var (
	tokens   = contract.Number("tokens", 1, 1, math.MaxUint32, "`K` numbers in flight at once")
	capacity = contract.Number("capacity", 1, 0, 1<<28, "`N` numbers that a channel holds; 0: no buffer")
)

func main() { contract.Main("goroutine-mem-brigade", 500, 100, describe, measure) }

func describe(d *contract.Description) error {
	d.Tokens, d.Hops = *tokens, (d.Tasks+1)**tokens
	// The driver sends all numbers before it takes one back. Without buffers each task has one in its hand.
	if most := max((d.Tasks+1)**capacity, d.Tasks); *tokens > most {
		return fmt.Errorf("--tokens %d is more than the channels hold (at most %d): lower it, or raise --capacity", *tokens, most)
	}
	return nil
}

func measure(run *contract.Run) error {
	chain := &contract.Chain{}
	first, last := chain.Channels(run.Tasks, *capacity, passOn)
	chain.Started()
	err := drive(run, first, last)
	// The end runs along the chain.
	close(first)
	return chain.Result(err, run.Tasks*run.Begun**tokens)
}

// passOn is a task of the chain: takes a number, adds one, hands it on, until the channel is closed.
func passOn(from <-chan int, to chan<- int) (passed uint64) {
	for number := range from {
		to <- number + 1
		passed++
	}
	close(to)
	return passed
}

// drive sends the numbers in, takes them out, and times that.
func drive(run *contract.Run, first chan<- int, last <-chan int) error {
	came := make([]int, *tokens)
	for run.Next() {
		for run.Iterate() {
			start := int(run.Begun)

			clock := time.Now()
			for k := range came {
				first <- start + k
			}
			for k := range came {
				number, isOpen := <-last
				if !isOpen {
					return contract.ErrEnded
				}
				came[k] = number
			}
			run.Record(time.Since(clock))

			if err := contract.CheckTokens(came, start, int(run.Tasks)); err != nil {
				return err
			}
		}
	}
	return run.Err
}
