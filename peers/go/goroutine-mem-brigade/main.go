// A number travels through N goroutines chained by channels: no I/O, no system call.
//
// One iteration: the driver puts a number into the first channel; each goroutine takes it, adds one, and
// puts it into the next channel; the driver takes it from the last one: N + 1 hops, each a send, a
// wake-up by the scheduler and a receive. The driver is a goroutine like the others. With --feed
// first-task it sends one number only, for which the first goroutine hands on all of them.
//
// Timed: those operations and the scheduler's work to run the next goroutine. Left out: creating and
// awaiting the goroutines, and the check of the numbers.
//
// With --chains C there are C such chains, each with a driver of its own, and with --trips R each makes R round
// trips in an iteration. The drivers start together; timed is from the first one's start to the last one's end.
//
// Not to be taken for the price on one CPU: the scheduler may run two goroutines of the chain on two
// CPUs. GOMAXPROCS=1 keeps them on one thread.
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
	brigade      = contract.NewBrigade(math.MaxUint32)
	capacity     = contract.Number("capacity", 1, 0, 1<<28, "`N` numbers that a channel holds; 0: no buffer")
	isOneChannel = contract.Flags.Bool("one-channel", false, "one task that answers into the channel that it reads; what is taken need not be an answer")
	// isOwned is true if the first task has the numbers at first.
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
	tokens := uint64(brigade.Tokens())
	// A goroutine, its channel and its results.
	const goroutine, number = 3200, 8
	d.Need("bytes", number*(*capacity+2*tokens), goroutine+number**capacity)
	if *isOneChannel && (d.Tasks != 1 || isOwned || !brigade.IsPingPong()) {
		return errors.New("--one-channel: one task and one message: add --tasks 1, and drop the flags of a chain")
	}
	// The driver sends all numbers before it takes one back. Without buffers each task has one in its hand.
	if most := max((d.Tasks+1)**capacity, d.Tasks); tokens > most && !isOwned {
		return fmt.Errorf("--tokens %d is more than the channels hold (at most %d): lower it, raise --capacity or "+
			"--tasks, or use --feed first-task", tokens, most)
	}
	if isOwned {
		d.Hops = d.Tasks*tokens + 1
	}
	return brigade.Describe(d)
}

func measure(run *contract.Run) error {
	if *isOneChannel {
		return measureOneChannel(run)
	}
	return brigade.Measure(run, build)
}

// build makes the channels and the tasks between them. For each number that comes, the first one hands on all that it
// has.
func build(tasks uint64, chain *contract.Chain) (contract.Driver, error) {
	first, sent, batch := make(chan int, *capacity), brigade.Tokens(), 1
	if isOwned {
		sent, batch = batch, sent
	}
	last := first
	for range tasks {
		from, to, numbers := last, make(chan int, *capacity), batch
		chain.Go(func() (uint64, error) { return passOn(from, to, numbers), nil })
		last, batch = to, 1
	}
	return &driver{first, last, int(tasks), sent, make([]int, brigade.Tokens()*brigade.Trips())}, nil
}

// passOn is a task of the chain: takes a number, adds one, hands it on, until the channel is closed; and
// hands on the numbers that follow it in its batch.
func passOn(from <-chan int, to chan<- int, batch int) (passed uint64) {
	for number := range from {
		for k := range batch {
			to <- number + k + 1
			passed++
		}
	}
	close(to)
	return passed
}

// driver has the ends of a chain.
type driver struct {
	first       chan<- int
	last        <-chan int
	tasks, sent int
	received    []int
}

// MakeTrips sends the numbers in and takes them out, one round trip after the other.
func (d *driver) MakeTrips(iteration uint64) error {
	tokens := brigade.Tokens()
	for trip := 0; trip < len(d.received); trip += tokens {
		for k := range d.sent {
			d.first <- int(iteration) + trip + k
		}
		for k := range tokens {
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
	return contract.CheckTokens(d.received, int(iteration), d.tasks)
}

// Close closes the first channel: the end runs along the chain.
func (d *driver) Close() { close(d.first) }

// measureOneChannel builds the program that circulates: a ping-pong through a single channel.
func measureOneChannel(run *contract.Run) error {
	both, ended := make(chan int, *capacity), make(chan uint64)
	go func() {
		passed := uint64(0)
		for number := range both {
			both <- number + 1
			passed++
		}
		ended <- passed
	}()
	passes, err := driveOneChannel(run, both)
	close(both)
	if passed := <-ended; err == nil && passed != passes {
		return fmt.Errorf("the task passed on %d numbers, expected %d", passed, passes)
	}
	return err
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
