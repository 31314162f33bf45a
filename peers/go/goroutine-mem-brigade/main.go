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
// With --chains C there are C such chains, each with a driver of its own, and with --trips R each makes R round
// trips in an iteration. The drivers start together; timed is from the first one's start to the last one's end.
//
// Not to be taken for the price on one CPU: the scheduler may run two goroutines of the chain on two
// CPUs. --workers 1 keeps them on one thread.
//
// With --one-channel it is another program: see driveOneChannel.
package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"switchcost/contract"
)

var (
	tokens       = contract.Number("tokens", 1, 1, math.MaxUint32, "`K` numbers in flight at once")
	capacity     = contract.Number("capacity", 1, 0, 1<<28, "`N` numbers that a channel holds; 0: no buffer")
	isOneChannel = contract.Flags.Bool("one-channel", false, "one task that answers into the channel that it reads; what is taken need not be an answer")
	idle         = contract.Number("idle", 0, 0, math.MaxInt32, "`N` further goroutines that wait on channels of their own that carry no number")
	together     = contract.NewTogether()
	// isOwned is whether the first task has the numbers at first.
	isOwned = false
)

func main() {
	contract.Flags.Func("feed", "who has the numbers at first: driver or first-task (default driver)", func(text string) error {
		isOwned = text == "first-task"
		if !isOwned && text != "driver" {
			return errors.New("write driver or first-task")
		}
		return nil
	})
	contract.Main("goroutine-mem-brigade", 500, describe, measure)
}

func describe(d *contract.Description) error {
	d.Tokens, d.Hops = *tokens, (d.Tasks+1)**tokens
	// A goroutine, its channel and its results.
	const goroutine, number = 3200, 8
	d.Need("bytes", number*(*capacity+2**tokens), goroutine+number**capacity)
	d.Beside(*idle)
	if (*isOneChannel || isOwned) && !together.IsOne() {
		return errors.New("--chains and --trips: not with --one-channel, nor with --feed first-task: drop one of them")
	}
	if *isOneChannel {
		if d.Tasks != 1 || *tokens != 1 || isOwned {
			return errors.New("--one-channel: one task and one message: add --tasks 1, and drop --tokens and --feed")
		}
		return nil
	}
	if isOwned {
		d.Hops = d.Tasks**tokens + 1
		return nil
	}
	// The driver sends all numbers before it takes one back. Without buffers each task has one in its hand.
	if most := max((d.Tasks+1)**capacity, d.Tasks); *tokens > most {
		return fmt.Errorf("--tokens %d is more than the channels hold (at most %d): lower it, raise --capacity or "+
			"--tasks, or use --feed first-task", *tokens, most)
	}
	return together.Describe(d)
}

func measure(run *contract.Run) error {
	buildIdle := func(chain *contract.Chain) (func(), error) {
		first, _ := build(*idle, chain, nil)
		return func() { close(first) }, nil
	}
	return contract.BesideIdle(*idle, buildIdle, func() error {
		if *isOneChannel {
			return measureOneChannel(run)
		}
		return brigade(run)
	})
}

func brigade(run *contract.Run) error {
	if !together.IsOne() {
		return together.Drive(run, func(chain *contract.Chain) (contract.ChainDriver, error) {
			first, last := build(run.Tasks, chain, nil)
			return &driver{first, last, int(run.Tasks), make([]int, *tokens*together.Trips())}, nil
		})
	}
	chain, sent := contract.NewChain(run.Tasks), make([]int, *tokens)
	stock := []int{}
	if isOwned {
		sent, stock = sent[:1], sent[1:]
	}
	first, last := build(run.Tasks, chain, stock)
	chain.Started.Wait()
	err := drive(run, first, last, sent, stock)
	// The end runs along the chain.
	close(first)
	return chain.Result(err, run.Begun**tokens)
}

// build makes the channels and the tasks between them, the first of which has a stock, and returns the driver's
// ends.
func build(tasks uint64, chain *contract.Chain, stock []int) (first, last chan int) {
	first = make(chan int, *capacity)
	last = first
	for place := range tasks {
		from, to, own := last, make(chan int, *capacity), []int(nil)
		if place == 0 {
			own = stock
		}
		go passOn(from, to, own, chain, place)
		last = to
	}
	return first, last
}

// passOn is a task of the chain: takes a number, adds one, hands it on, until the channel is closed; and
// hands on its stock, if it has one, each time that a number comes.
func passOn(from <-chan int, to chan<- int, stock []int, chain *contract.Chain, place uint64) {
	passed := uint64(0)
	chain.Started.Done()
	for number := range from {
		to <- number + 1
		passed++
		for _, number := range stock {
			to <- number + 1
			passed++
		}
	}
	close(to)
	chain.Ended(place, passed, nil)
}

// drive sends the numbers in, takes them out, and times that. The stock is the first task's.
func drive(run *contract.Run, first chan<- int, last <-chan int, sent, stock []int) error {
	received := make([]int, len(sent)+len(stock))
	for run.Next() {
		for run.Iterate() {
			start := int(run.Begun)
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
					return contract.ErrEnded
				}
				received[k] = number
			}
			run.Record(time.Since(clock))

			for k, came := range received {
				if err := contract.CheckToken(k, came, start+k+int(run.Tasks)); err != nil {
					return err
				}
			}
		}
	}
	return run.Err
}

// driver is that of one chain among several.
type driver struct {
	first    chan<- int
	last     <-chan int
	tasks    int
	received []int
}

// MakeTrips sends the numbers in and takes them out, one round trip after the other.
func (d *driver) MakeTrips(iteration uint64) error {
	for trip := 0; trip < len(d.received); trip += int(*tokens) {
		for k := range int(*tokens) {
			d.first <- int(iteration) + trip + k
		}
		for k := range int(*tokens) {
			number, isOpen := <-d.last
			if !isOpen {
				return contract.ErrEnded
			}
			d.received[trip+k] = number
		}
	}
	return nil
}

// Verify checks the numbers that came out.
func (d *driver) Verify(iteration uint64) error {
	for k, came := range d.received {
		if err := contract.CheckToken(k, came, int(iteration)+k+d.tasks); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the first channel: the end runs along the chain.
func (d *driver) Close() { close(d.first) }

// measureOneChannel builds the program that circulates: a ping-pong through a single channel.
func measureOneChannel(run *contract.Run) error {
	chain, both := contract.NewChain(1), make(chan int, *capacity)
	go func() {
		passed := uint64(0)
		chain.Started.Done()
		for number := range both {
			both <- number + 1
			passed++
		}
		chain.Ended(0, passed, nil)
	}()
	chain.Started.Wait()
	passes, err := driveOneChannel(run, both)
	close(both)
	return chain.Result(err, passes)
}

// driveOneChannel sends a number and takes one, each in the channel of both. Without a buffer that is an
// answer. With one it may be the number that was sent, which nobody has seen, or one that the task has
// taken several times. The distribution own_count is 1 where the driver took its own number back.
func driveOneChannel(run *contract.Run, both chan int) (passes uint64, err error) {
	for run.Next() {
		for run.Iterate() {
			start := int(run.Begun)

			clock := time.Now()
			both <- start
			number := <-both
			run.Record(time.Since(clock))

			if number < start {
				return passes, fmt.Errorf("%d came out where %d went in", number, start)
			}
			own := uint64(0)
			if number == start {
				own = 1
			}
			passes += uint64(number - start)
			run.Aside("own_count", own)
		}
	}
	return passes, run.Err
}
