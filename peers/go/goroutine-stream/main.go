// Messages stream from N goroutines to one through a channel: what stream does with threads and async tasks.
//
// One iteration: the consumer tells each producer to start; together they send K messages, as fast as the channel takes
// them; the consumer receives all of them: K hops. Timed: from before the first start until the last message is there. Left out:
// creating and awaiting the goroutines, and the check that each message came once.
package main

import (
	"fmt"
	"math"
	"time"

	"switchcost/contract"
)

var (
	tokens   = contract.Number("tokens", 4096, 1, math.MaxUint32, "`K` messages in an iteration")
	capacity = contract.Number("capacity", 1, 0, 1<<28, "`N` messages that the channel holds; 0: no buffer")
)

func main() { contract.Main("goroutine-stream", 1, 100, describe, measure) }

func describe(d *contract.Description) error {
	d.Tokens, d.Hops = *tokens, *tokens
	return nil
}

func measure(run *contract.Run) error {
	chain, messages, starts := &contract.Chain{}, make(chan int, *capacity), make([]chan int, run.Tasks)
	for k := range run.Tasks {
		// Its share of the messages.
		least, most := int(*tokens*k/run.Tasks), int(*tokens*(k+1)/run.Tasks)
		starts[k] = make(chan int, 1)
		chain.Go(func() (sent uint64, err error) {
			for first := range starts[k] {
				for place := least; place < most; place++ {
					messages <- first + place
					sent++
				}
			}
			return sent, nil
		})
	}
	chain.Started()
	err := consume(run, starts, messages)
	for _, start := range starts {
		close(start)
	}
	return chain.Result(err, run.Begun**tokens)
}

// consume starts the producers, receives all messages, and times that.
func consume(run *contract.Run, starts []chan int, messages <-chan int) error {
	came, seen := make([]int, *tokens), make([]uint64, *tokens)
	for run.Next() {
		for run.Iterate() {
			clock := time.Now()
			for _, start := range starts {
				start <- int(run.Begun)
			}
			for k := range came {
				came[k] = <-messages
			}
			run.Record(time.Since(clock))

			for _, number := range came {
				place := number - int(run.Begun)
				if place < 0 || place >= len(seen) || seen[place] == run.Begun {
					return fmt.Errorf("message %d was not sent, or came twice", number)
				}
				seen[place] = run.Begun
			}
		}
	}
	return run.Err
}
