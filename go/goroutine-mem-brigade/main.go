// A number travels through N goroutines chained by channels: no I/O, no system call.
//
// One iteration: the driver puts a number into the first channel; each goroutine takes it, adds one, and puts it
// into the next channel; the driver takes it from the last one. That is N + 1 hops, each a send, a wake-up by the
// scheduler and a receive. The driver is a goroutine like the others. With --feed first-task it sends one number
// only, and the first goroutine, which has the others in stock, hands on all of them.
//
// Timed: those operations and the scheduler's work to run the next goroutine. Left out: creating and awaiting the
// goroutines, the check of the numbers, and all bookkeeping.
//
// The scheduler may run two goroutines of the chain on two CPUs: --workers 1 keeps them on one thread. With --bytes
// what is handed on is a pointer and a length: throughput is bytes handed over, and not copied.
package main

import (
	"fmt"
	"time"

	"switchcost/harness"
)

type brigade struct {
	tokens, capacity, touch *uint64
	feed                    *string
	seed                    func() *uint64
	payload                 *harness.Payload
	fault                   *harness.Fault
}

func main() {
	session := harness.New("goroutine-mem-brigade", "Pass a number through a chain of goroutines joined by channels, and time it")
	b := &brigade{
		tokens: session.Flags.Number("tokens", "K", "How many numbers are in flight at once", "1", 1, 1<<32-1),
		capacity: session.Flags.Number("capacity", "N", "How many numbers each channel holds; 0 for channels without a "+
			"buffer, where a goroutine hands a number on when another is there to take it", "1", 0, 1<<28),
		feed: session.Flags.Choice("feed", "Who has the numbers at first", "driver", []harness.Choice{
			{Name: "driver", Help: "the driver, which sends all of them before it takes the first one back"},
			{Name: "first-task", Help: "the first task has them in stock and hands them on, all but one, when that " +
				"one comes from the driver, which takes them from the last link meanwhile: any number of them"},
		}),
		payload: session.PayloadFlag("The size of a token. With 1 it is the number itself. With more it is memory of its " +
			"own, of which a hop hands on the pointer and the length: nothing is copied"),
		touch: session.TouchFlag(),
		seed:  session.ShuffleFlag(),
		fault: session.FaultFlag(),
	}
	session.Main(b.check, b.measure)
}

// check is which flags go together. The driver sends all tokens before it takes the first one back: where they
// find no room it would wait for ever. Without buffers each goroutine has one in its hand.
func (b *brigade) check(session *harness.Session) error {
	if err := b.fault.Check(session.Tasks()); err != nil {
		return err
	}
	most := max((session.Tasks()+1)**b.capacity, session.Tasks())
	if *b.feed == "driver" && *b.tokens > most {
		return harness.BadUsagef("--tokens %d is more than the links hold (at most %d): lower it, raise --capacity or --tasks, "+
			"or use --feed first-task", *b.tokens, most)
	}
	return nil
}

func (b *brigade) measure(session *harness.Session) error {
	hops := (session.Tasks() + 1) * *b.tokens
	if *b.feed == "first-task" {
		hops = session.Tasks()**b.tokens + 1
	}
	session.Carries(*b.tokens, hops)
	session.HandsOver(b.payload.Of(*b.tokens))
	if err := session.Require(b.demand(session), nil); err != nil {
		return err
	}
	if b.payload.Size() == 1 {
		numbers := make([]int, *b.tokens)
		return run(b, session, tokens[int]{
			own:    numbers,
			pass:   passNumbers,
			setOut: func(lap, k int) { numbers[k] = lap + k },
			verify: func(lap, k int, token int) error {
				if expected := lap + k + int(session.Tasks()); token != expected {
					return fmt.Errorf("token %d came out as %d, expected %d", k, token, expected)
				}
				return nil
			},
			spoil: func(token int) int { return ^token },
		})
	}
	b.payload.Make()
	buffers := make([][]byte, *b.tokens)
	for k := range buffers {
		buffers[k] = make([]byte, b.payload.Size())
	}
	return run(b, session, tokens[[]byte]{
		own:    buffers,
		pass:   passBuffers,
		setOut: func(lap, k int) { copy(buffers[k], b.payload.Token(byte(lap+k))) },
		verify: func(lap, k int, token []byte) error {
			return b.payload.Verify(uint64(k), token, byte(lap+k), session.Tasks())
		},
		spoil: func(token []byte) []byte { token[len(token)-1] ^= 0xff; return token },
	})
}

// demand is what the run needs of the system. Bytes are rounded up from measured ones.
func (b *brigade) demand(session *harness.Session) harness.Demand {
	const goroutine, number, buffer = 3200, 8, 24
	slot := uint64(number)
	if b.payload.Size() > 1 {
		slot = buffer
	}
	bytes := *b.capacity * slot
	room := harness.Need{Memory: bytes, AddressSpace: bytes, LargestMap: bytes}
	return harness.RuntimeDemand(session.Workers()).
		Plus(harness.HeapOf(goroutine)).
		Plus(harness.DemandOfFlag("--capacity", room, room)).
		Plus(harness.TouchDemand(*b.touch)).
		Plus(b.payload.Demand(2 * *b.tokens))
}

// tokens are what the chain hands on.
type tokens[T any] struct {
	// own are those of a lap; with --feed first-task all but the first one are that task's stock.
	own []T
	// pass is a task's loop.
	pass func(upstream <-chan T, downstream chan<- T, stock []T, set harness.WorkingSet, post harness.Post)
	// setOut writes token k of a lap anew, and verify checks what came out.
	setOut func(lap, k int)
	verify func(lap, k int, token T) error
	spoil  func(token T) T
}

// run builds the chain, has it driven, and takes it down.
func run[T any](b *brigade, session *harness.Session, tokens tokens[T]) error {
	chain := harness.NewChain(session.Tasks(), b.seed())
	link := func(uint64) (chan T, error) { return make(chan T, *b.capacity), nil }
	isFirst := *b.feed == "first-task"
	first, last, err := harness.Wire(chain, link, func(post harness.Post, upstream, downstream chan T) {
		var stock []T
		if isFirst && post.IsFirst() {
			stock = tokens.own[1:]
		}
		if ending := b.fault.Of(post); ending != "" {
			go passFaulty(upstream, downstream, stock, post, ending, tokens.spoil)
			return
		}
		go tokens.pass(upstream, downstream, stock, harness.NewWorkingSet(*b.touch), post)
	})
	if err == nil {
		err = chain.Await()
	}
	laps := session.Laps()
	if err == nil {
		err = harness.Go(func() error { return drive(first, last, laps, tokens, isFirst) })
		session.Timed(laps)
	}
	if err == nil {
		session.AtRest()
	}
	// The end runs down the chain, and what is still in it comes out.
	close(first)
	drain(last)
	return chain.Settle(err, laps.Begun()*uint64(len(tokens.own)))
}

// drain takes what still comes, so that nobody waits for ever to put something in.
func drain[T any](link <-chan T) {
	for range link {
	}
}

// passNumbers is a task of the chain: takes a number, adds one, hands it on, until the channel is closed; and
// hands on its stock, if it has one, each time that a number comes.
func passNumbers(upstream <-chan int, downstream chan<- int, stock []int, set harness.WorkingSet, post harness.Post) {
	passed := uint64(0)
	defer func() {
		panicked := recover()
		close(downstream)
		drain(upstream)
		post.Leave(passed, nil, panicked)
	}()
	post.Arrive()
	for number := range upstream {
		set.Work()
		downstream <- number + 1
		passed++
		for _, number := range stock {
			set.Work()
			downstream <- number + 1
			passed++
		}
	}
}

// passBuffers is the same for tokens that are memory: it adds one to the first byte.
func passBuffers(upstream <-chan []byte, downstream chan<- []byte, stock [][]byte, set harness.WorkingSet, post harness.Post) {
	passed := uint64(0)
	defer func() {
		panicked := recover()
		close(downstream)
		drain(upstream)
		post.Leave(passed, nil, panicked)
	}()
	post.Arrive()
	for buffer := range upstream {
		set.Work()
		buffer[0]++
		downstream <- buffer
		passed++
		for _, buffer := range stock {
			set.Work()
			buffer[0]++
			downstream <- buffer
			passed++
		}
	}
}

// passFaulty is the task that ends in mid-run, for tests of what becomes of the others.
func passFaulty[T any](upstream <-chan T, downstream chan<- T, stock []T, post harness.Post, ending string, spoil func(T) T) {
	passed := uint64(0)
	var err error
	defer func() {
		panicked := recover()
		close(downstream)
		drain(upstream)
		post.Leave(passed, err, panicked)
	}()
	if ending == "absent" {
		post.Absent()
		err = harness.End(ending)
		return
	}
	post.Arrive()
	for token := range upstream {
		for _, token := range append([]T{token}, stock...) {
			if passed == harness.PassedBefore && ending != "corrupt" {
				err = harness.End(ending)
				return
			}
			if passed >= harness.PassedBefore {
				token = spoil(token)
			}
			downstream <- addOne(token)
			passed++
		}
	}
}

func addOne[T any](token T) T {
	switch token := any(token).(type) {
	case int:
		return any(token + 1).(T)
	case []byte:
		token[0]++
	}
	return token
}

// drive is the driver: sends the tokens in, takes them out, and times that.
func drive[T any](first chan<- T, last <-chan T, laps *harness.Laps, tokens tokens[T], isFirst bool) error {
	sent, received := tokens.own, make([]T, len(tokens.own))
	if isFirst {
		sent = sent[:1]
	}
	for laps.Advance() {
		lap := int(laps.Lap())
		for k := range tokens.own {
			tokens.setOut(lap, k)
		}

		clock := time.Now()
		for _, token := range sent {
			first <- token
		}
		for k := range received {
			token, isOpen := <-last
			if !isOpen {
				return harness.ErrEnded
			}
			received[k] = token
		}
		laps.Record(time.Since(clock))

		for k, token := range received {
			if err := tokens.verify(lap, k, token); err != nil {
				return err
			}
		}
	}
	return laps.Err()
}
