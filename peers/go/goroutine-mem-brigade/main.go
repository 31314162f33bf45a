// A number travels through N goroutines chained by channels: no I/O, no system call.
//
// One iteration: the driver puts a number into the first channel; each goroutine takes it, adds one, and
// puts it into the next channel; the driver takes it from the last one: N + 1 hops, each a send, a
// wake-up by the scheduler and a receive. The driver is a goroutine like the others. With --feed
// first-task it sends one number only; the first goroutine has the others and hands on all of them.
//
// Timed: those operations and the scheduler's work to run the next goroutine. Left out: creating and
// awaiting the goroutines, and the check of the numbers.
//
// Not to be taken for the price on one CPU: the scheduler may run two goroutines of the chain on two
// CPUs. --workers 1 keeps them on one thread.
package main

import (
	"fmt"
	"math"
	"time"

	"switchcost/chain"
	"switchcost/contract"
)

var (
	tokens   = contract.Number("tokens", 1, 1, math.MaxUint32, "`K` numbers in flight at once")
	capacity = contract.Number("capacity", 1, 0, 1<<28, "`N` numbers that a channel holds; 0: no buffer")
	feed     = contract.Choice("feed", "who has the numbers at first", "driver", "first-task")
	fault    = chain.FaultFlag()
)

func main() {
	contract.Main(contract.Program{
		Name: "goroutine-mem-brigade", About: "Pass a number through a chain of goroutines joined by channels, and time it",
		Tasks: 500, Iters: 10000, Warmup: 100, Describe: describe, Measure: measure,
	})
}

func describe(d *contract.Description) error {
	d.Tokens, d.Hops = *tokens, (d.Tasks+1)**tokens
	if *feed == "first-task" {
		d.Hops = d.Tasks**tokens + 1
	}
	// A goroutine, its channel and its results.
	const goroutine, number = 3200, 8
	d.Need("bytes", number*(*capacity+2**tokens), goroutine+number**capacity)
	// The driver sends all numbers before it takes one back. Without buffers each task has one in its hand.
	if most := max((d.Tasks+1)**capacity, d.Tasks); *feed == "driver" && *tokens > most {
		return fmt.Errorf("--tokens %d is more than the channels hold (at most %d): lower it, raise --capacity or "+
			"--tasks, or use --feed first-task", *tokens, most)
	}
	return fault.Check(d.Tasks)
}

func measure(run *contract.Run) error {
	tasks, sent := chain.New(run.Tasks), make([]int, *tokens)
	stock := []int{}
	if *feed == "first-task" {
		sent, stock = sent[:1], sent[1:]
	}
	first := make(chan int, *capacity)
	last := first
	for place := range run.Tasks {
		from, to := last, make(chan int, *capacity)
		task, own := tasks.Task(place), []int(nil)
		if place == 0 {
			own = stock
		}
		if fault.IsOf(place) {
			from = faultyLink(last, task)
		}
		go passOn(from, to, own, task)
		last = to
	}
	tasks.AwaitStart()
	err := drive(run, first, last, sent, stock)
	// The end runs along the chain, and what is still in it comes out.
	close(first)
	drain(last)
	return tasks.Result(err, run.Begun()**tokens)
}

// drain takes what still comes, so that nobody waits for ever to put something in.
func drain(link <-chan int) {
	for range link {
	}
}

// passOn is a task of the chain: takes a number, adds one, hands it on, until the channel is closed; and
// hands on its stock, if it has one, each time that a number comes.
func passOn(from <-chan int, to chan<- int, stock []int, task chain.Task) {
	passed := uint64(0)
	defer func() {
		panicked := recover()
		close(to)
		drain(from)
		task.Leave(passed, nil, panicked)
	}()
	task.Started()
	for number := range from {
		to <- number + 1
		passed++
		for _, number := range stock {
			to <- number + 1
			passed++
		}
	}
}

// drive sends the numbers in, takes them out, and times that. The stock is the first task's.
func drive(run *contract.Run, first chan<- int, last <-chan int, sent, stock []int) error {
	received := make([]int, len(sent)+len(stock))
	for run.Next() {
		for run.Iterate() {
			start := int(run.Iteration())
			for k := range sent {
				sent[k] = start + k
			}
			for k := range stock {
				stock[k] = start + len(sent) + k
			}

			clock := time.Now()
			for _, number := range sent {
				first <- number
			}
			for k := range received {
				number, isOpen := <-last
				if !isOpen {
					return chain.ErrEnded
				}
				received[k] = number
			}
			run.Record(time.Since(clock))

			for k, came := range received {
				if expected := start + k + int(run.Tasks); came != expected {
					return fmt.Errorf("token %d came out as %d, expected %d: it did not visit each task once", k, came, expected)
				}
			}
		}
	}
	return run.Err()
}

// faultyLink is one for tests: a goroutine of its own between a channel and its task.
func faultyLink(from <-chan int, task chain.Task) chan int {
	to, served := make(chan int), 0
	go func() {
		defer func() {
			if panicked := recover(); panicked != nil {
				task.Fail(contract.PanicError(panicked))
			}
			close(to)
			drain(from)
		}()
		for number := range from {
			if served++; served > chain.ServedBefore {
				if err := fault.Strike(); err != nil {
					if fault.Name == "fail" {
						task.Fail(err)
					}
					return
				}
				number = ^number
			}
			to <- number
		}
	}()
	return to
}
