// A token travels through N goroutines chained by pipes.
//
// One iteration: the driver writes a byte into the first link; each goroutine reads it, adds one, and writes it into
// the next link; the driver reads it from the last link. That is N + 1 hops. The driver is a goroutine like the
// others.
//
// Timed: what each hop takes of the Go runtime and of the kernel: one write, two reads (the first finds nothing, and
// the goroutine is parked until epoll says that there is something), and the runtime's epoll_wait, which may serve
// several hops. Left out: creating and awaiting the goroutines, the check of the token, and all bookkeeping.
//
// The time per hop is not the price of switching goroutines, which needs no system call: see goroutine-mem-brigade
// for that, and one-thread-brigade --nonblocking for such system calls without tasks.
package main

import (
	"errors"
	"io"
	"os"
	"time"

	"switchcost/harness"
)

type brigade struct {
	links             *harness.Links
	readBuffer, touch *uint64
	seed              func() *uint64
	fault             *harness.Fault
}

func main() {
	session := harness.New("goroutine-brigade", "Pass a byte through a chain of goroutines joined by pipes, and time it")
	b := &brigade{
		links:      session.LinksFlags(),
		readBuffer: session.ReadBufferFlag(),
		touch:      session.TouchFlag(),
		seed:       session.ShuffleFlag(),
		fault:      session.FaultFlag(),
	}
	session.Main(b.check, b.measure)
}

// check is which flags go together.
func (b *brigade) check(session *harness.Session) error {
	if size := b.links.Payload().Size(); *b.readBuffer > 1 && *b.readBuffer < size {
		return harness.BadUsagef("--read-buffer: a read asks for a token at least: drop it, or ask for --bytes %d or more", size)
	}
	return b.fault.Check(session.Tasks())
}

// asks is how many bytes a read asks for.
func (b *brigade) asks() uint64 { return max(*b.readBuffer, b.links.Payload().Size()) }

func (b *brigade) measure(session *harness.Session) error {
	tasks, tokens, payload := session.Tasks(), b.links.Tokens(), b.links.Payload()
	session.Carries(tokens, (tasks+1)*tokens)
	session.HandsOver(payload.Of(tokens))
	const goroutine = 6144
	demand := harness.RuntimeDemand(session.Workers()).
		Plus(harness.HeapOf(goroutine)).
		Plus(b.links.Demand()).
		Plus(harness.DemandOfFlag("--read-buffer", harness.Need{}, harness.HeapOf(b.asks()).PerTask)).
		Plus(harness.TouchDemand(*b.touch))
	if tokens > 1 || payload.Size() > 1 {
		demand = demand.Plus(payload.Demand(tokens))
	}
	if err := b.links.CheckRoom(tasks); err != nil {
		return err
	}
	if err := session.Require(demand, nil); err != nil {
		return err
	}
	payload.Make()
	return b.run(session, demand)
}

// run builds the chain, has it driven, and takes it down.
func (b *brigade) run(session *harness.Session, demand harness.Demand) error {
	tokens, size := b.links.Tokens(), b.links.Payload().Size()
	chain := harness.NewChain(session.Tasks(), b.seed())
	link := func(k uint64) (harness.Link, error) {
		link, err := b.links.Make()
		if err != nil {
			err = harness.Explain("make a link", k, session.Tasks(), err, demand)
		}
		return link, err
	}
	first, last, err := harness.Wire(chain, link, func(post harness.Post, upstream, downstream harness.Link) {
		if ending := b.fault.Of(post); ending != "" {
			go passFaulty(upstream.Reader, downstream.Writer, make([]byte, size), post, ending)
			return
		}
		go passOn(upstream.Reader, downstream.Writer, make([]byte, b.asks()), int(size), harness.NewWorkingSet(*b.touch), post)
	})
	if err == nil {
		err = chain.Await()
	}
	laps := session.Laps()
	if err == nil {
		d := driver{
			first: first.Writer, last: last.Reader, payload: b.links.Payload(), asks: b.asks(),
			received: make([]byte, tokens*size), tokens: tokens, tasks: session.Tasks(),
		}
		err = harness.Go(func() error { return d.drive(laps) })
		session.Timed(laps)
	}
	if err == nil {
		session.AtRest()
	}
	// The end of file runs down the chain.
	first.Writer.Close()
	last.Reader.Close()
	b.links.Sizes(session)
	return chain.Settle(err, laps.Begun()*tokens)
}

// passOn is a task of the chain: reads tokens, one unless the buffer and the link have more, and adds one to the
// first byte of each, hands it on, until the end of file.
func passOn(upstream, downstream *os.File, buffer []byte, size int, set harness.WorkingSet, post harness.Post) {
	passed := uint64(0)
	var err error
	defer func() {
		panicked := recover()
		upstream.Close()
		downstream.Close()
		post.Leave(passed, err, panicked)
	}()
	post.Arrive()
	held := 0
	for {
		var read int
		if read, err = upstream.Read(buffer[held:]); err != nil {
			err = atEnd(err, held)
			return
		}
		held += read
		done := 0
		for ; held-done >= size; done += size {
			set.Work()
			buffer[done]++
			if _, err = downstream.Write(buffer[done : done+size]); err != nil {
				return
			}
			passed++
		}
		held = copy(buffer, buffer[done:held])
	}
}

// atEnd is the end of file, which is an error in the middle of a token only.
func atEnd(err error, held int) error {
	switch {
	case !errors.Is(err, io.EOF):
		return err
	case held > 0:
		return harness.ErrMidToken
	default:
		return nil
	}
}

// passFaulty is the task that ends in mid-run, for tests of what becomes of the others.
func passFaulty(upstream, downstream *os.File, token []byte, post harness.Post, ending string) {
	passed := uint64(0)
	var err error
	defer func() {
		panicked := recover()
		upstream.Close()
		downstream.Close()
		post.Leave(passed, err, panicked)
	}()
	if ending == "absent" {
		post.Absent()
		err = harness.End(ending)
		return
	}
	post.Arrive()
	for {
		if passed == harness.PassedBefore && ending != "corrupt" {
			err = harness.End(ending)
			return
		}
		if _, err = io.ReadFull(upstream, token); err != nil {
			err = atEnd(err, 0)
			return
		}
		token[0]++
		if passed >= harness.PassedBefore {
			token[len(token)-1] ^= 0xff
		}
		if _, err = downstream.Write(token); err != nil {
			return
		}
		passed++
	}
}

// driver has the two ends of the chain.
type driver struct {
	first, last         *os.File
	payload             *harness.Payload
	received            []byte
	asks, tokens, tasks uint64
}

// drive sends the tokens in, takes them out, and times that.
func (d *driver) drive(laps *harness.Laps) error {
	size := d.payload.Size()
	for laps.Advance() {
		start := byte(laps.Lap())

		clock := time.Now()
		for k := range d.tokens {
			if _, err := d.first.Write(d.payload.Token(start + byte(k))); err != nil {
				return err
			}
		}
		rest := d.received
		for len(rest) > 0 {
			read, err := d.last.Read(rest[:min(d.asks, uint64(len(rest)))])
			if errors.Is(err, io.EOF) {
				return harness.ErrEnded
			}
			if err != nil {
				return err
			}
			rest = rest[read:]
		}
		laps.Record(time.Since(clock))

		for k := range d.tokens {
			if err := d.payload.Verify(k, d.received[k*size:(k+1)*size], start+byte(k), d.tasks); err != nil {
				return err
			}
		}
	}
	return laps.Err()
}
