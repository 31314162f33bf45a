package harness

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Chain is what the tasks of a brigade come to: how many of them are there, what each has passed on, and which
// of them explains an early end.
type Chain struct {
	// order is the place in the chain of each task, in the order of their creation; nil for one after the other.
	order    []uint64
	outcomes []outcome
	arrived  atomic.Uint64
	lost     atomic.Uint64
	ended    sync.WaitGroup
}

// outcome is what a task came to.
type outcome struct {
	passed    uint64
	err       error
	isSpawned bool
}

// NewChain is one of so many tasks, shuffled by a seed where there is one.
func NewChain(tasks uint64, seed *uint64) *Chain {
	c := &Chain{outcomes: make([]outcome, tasks)}
	if seed != nil {
		c.order = make([]uint64, tasks)
		for k := range c.order {
			c.order[k] = uint64(k)
		}
		random := rand.New(rand.NewPCG(*seed, 0))
		random.Shuffle(len(c.order), func(i, j int) { c.order[i], c.order[j] = c.order[j], c.order[i] })
	}
	return c
}

// Post is a task's place in its chain.
type Post struct {
	chain *Chain
	place uint64
}

// Arrive tells that this task runs.
func (p Post) Arrive() { p.chain.arrived.Add(1) }

// Absent tells that it never will.
func (p Post) Absent() { p.chain.lost.Add(1) }

// Leave tells what the task came to: how many tokens it passed on, why it failed, and what it panicked with. It
// is the last thing that the task does.
func (p Post) Leave(passed uint64, err error, panicked any) {
	if panicked != nil {
		err = panicError(panicked)
	}
	p.chain.outcomes[p.place] = outcome{passed: passed, err: err, isSpawned: true}
	p.chain.ended.Done()
}

// Wire makes links, and has each task spawned with the two that it stands between. It returns the link that the
// driver puts tokens into and the one that it takes them from. In order each link is made with its task; else
// links and tasks are created in the same random order.
func Wire[L any](c *Chain, link func(k uint64) (L, error), spawn func(post Post, upstream, downstream L)) (first, last L, err error) {
	tasks := uint64(len(c.outcomes))
	if c.order != nil {
		return wireShuffled(c, link, spawn)
	}
	if first, err = link(0); err != nil {
		return first, last, err
	}
	last = first
	for k := range tasks {
		downstream, err := link(k + 1)
		if err != nil {
			return first, last, err
		}
		c.ended.Add(1)
		spawn(Post{c, k}, last, downstream)
		last = downstream
	}
	return first, last, nil
}

func wireShuffled[L any](c *Chain, link func(k uint64) (L, error), spawn func(post Post, upstream, downstream L)) (first, last L, err error) {
	tasks := uint64(len(c.outcomes))
	links := make([]L, tasks+1)
	for made, k := range append(append([]uint64{}, c.order...), tasks) {
		if links[k], err = link(uint64(made)); err != nil {
			return first, last, err
		}
	}
	for _, k := range c.order {
		c.ended.Add(1)
		spawn(Post{c, k}, links[k], links[k+1])
	}
	return links[0], links[tasks], nil
}

// patience is how long the next task may keep the others waiting.
const patience = 30 * time.Second

// Await waits until every task has started.
func (c *Chain) Await() error { return Await(uint64(len(c.outcomes)), &c.arrived, &c.lost) }

// Await waits until so many tasks have said that they are there. It fails when none has come for 30 seconds, when
// one has ended instead, or at a signal.
func Await(expected uint64, arrived, lost *atomic.Uint64) error {
	seen, since := uint64(0), time.Now()
	for round := 0; ; round++ {
		if Received() != 0 {
			return errInterrupted
		}
		if lost.Load() > 0 {
			return errors.New("a task ended before it had started")
		}
		now := arrived.Load()
		if now >= expected {
			return nil
		}
		if now != seen {
			seen, since = now, time.Now()
		}
		if time.Since(since) > patience {
			return fmt.Errorf("only %d of %d tasks have started, and none in the last %d s: lower --tasks",
				now, expected, int(patience.Seconds()))
		}
		if round < 100 {
			runtime.Gosched()
		} else {
			time.Sleep(time.Millisecond)
		}
	}
}

// Settle waits for the end of all tasks and returns the outcome of the chain: the driver's, the error of a task
// that explains the others, or tokens that got lost, sent being those that went through each task.
func (c *Chain) Settle(driver error, sent uint64) error {
	c.ended.Wait()
	all, quitter, areAllThere := uint64(0), -1, true
	var before *uint64
	for k := range c.outcomes {
		task := &c.outcomes[k]
		switch {
		case !task.isSpawned:
			areAllThere = false
		case task.err != nil && !isEcho(task.err):
			return fmt.Errorf("task %d: %w", k, task.err)
		case task.err != nil:
			before = nil
		default:
			all += task.passed
			if quitter < 0 && k > 0 && (before == nil || task.passed < *before) {
				quitter = k
			}
			before = &task.passed
		}
	}
	tasks := uint64(len(c.outcomes))
	// Where the driver is at fault, the first task has passed on all that it was sent.
	if first := &c.outcomes[0]; quitter < 0 && first.err == nil && first.passed < sent {
		quitter = 0
	}
	switch {
	case driver == nil && all != tasks*sent:
		return fmt.Errorf("the tasks passed on %d tokens, expected %d", all, tasks*sent)
	case driver == nil || quitter < 0 || !areAllThere || errors.Is(driver, errInterrupted):
		return driver
	}
	words := "tokens"
	if c.outcomes[quitter].passed == 1 {
		words = "token"
	}
	return fmt.Errorf("task %d ended after it had passed on %d %s: %w", quitter, c.outcomes[quitter].passed, words, driver)
}

// isEcho is whether an error is the echo of another: when one task of a chain ends, its neighbour upstream finds
// a broken pipe. (A socket that is closed with unread bytes resets the connection.)
func isEcho(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// ErrEnded is that no more tokens come out.
var ErrEnded = errors.New("the chain ended early")

// ErrMidToken is that the chain ended in the middle of a token.
var ErrMidToken = fmt.Errorf("the link ended in the middle of a token: %w", io.ErrUnexpectedEOF)

// guarded runs a function; a panic of it is an error like any other.
func guarded(run func() error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = panicError(panicked)
		}
	}()
	return run()
}

// Go runs a function in a goroutine of its own, as the driver of a chain is, and waits for its end.
func Go(run func() error) error {
	ended := make(chan error)
	go func() { ended <- guarded(run) }()
	return <-ended
}

// panicError is a panic with the place where it was.
func panicError(panicked any) error {
	words := strings.ReplaceAll(fmt.Sprint(panicked), "\n", " ")
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	isNext := false
	for {
		frame, more := frames.Next()
		if isNext && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Errorf("%s (a panic at %s:%d)", words, frame.File, frame.Line)
		}
		isNext = isNext || frame.Function == "runtime.gopanic"
		if !more {
			return fmt.Errorf("%s (a panic)", words)
		}
	}
}

// WorkingSet is memory of a task's own, of which each hop uses all: see --touch.
type WorkingSet []line

// line is a cache line of most machines.
type line [8]uint64

// NewWorkingSet makes one that is resident.
func NewWorkingSet(bytes uint64) WorkingSet {
	if bytes == 0 {
		return nil
	}
	set := make(WorkingSet, divCeil(bytes, 64))
	for i := range set {
		set[i] = line{1, 1, 1, 1, 1, 1, 1, 1}
	}
	return set
}

// Work uses it.
func (s WorkingSet) Work() {
	for i := range s {
		s[i][0]++
	}
}

// TouchDemand is what the working sets need.
func TouchDemand(bytes uint64) Demand { return HeapOf(satMul(divCeil(bytes, 64), 64)) }

// ShuffleFlag adds --shuffle; the seed is nil where it is not given.
func (s *Session) ShuffleFlag() func() *uint64 {
	seed := s.Flags.Number("shuffle", "SEED", "Let the chain visit its tasks in an order that is not the one of their "+
		"creation: tasks and links that follow each other are then no neighbours in memory. The same seed gives the same "+
		"order [default: one after the other]", "", 0, anyNumber)
	return func() *uint64 {
		if s.Flags.Given("shuffle") {
			return seed
		}
		return nil
	}
}

// TouchFlag adds --touch.
func (s *Session) TouchFlag() *uint64 {
	return s.Flags.Bytes("touch", "Memory that each task reads and writes at each hop, all of its own: one word of each "+
		"cache line. What a task has in the caches then competes with what the others have there", "0", func(size uint64) error {
		if size > 1<<46 {
			return errors.New("that is more than the address space")
		}
		return nil
	})
}

// Fault is how a task ends, for a test, that should have gone on: see --test-fault.
type Fault struct {
	ending string
	task   uint64
}

// PassedBefore is how many tokens the faulty task passes on first, so that there are samples to be kept.
const PassedBefore = 3

// FaultFlag adds the hidden flag.
func (s *Session) FaultFlag() *Fault {
	fault := &Fault{}
	s.Flags.Text("test-fault", "ENDING@K", "Have task K end in mid-run, for a test", func(text string) error {
		ending, place, _ := strings.Cut(text, "@")
		task, err := strconv.ParseUint(place, 10, 32)
		switch ending {
		case "fail", "panic", "close", "absent", "hang", "corrupt":
		default:
			err = errEmpty
		}
		if err != nil {
			return fmt.Errorf("'%s' is not an ending (fail, panic, close, absent, hang or corrupt), @ and a task's number", text)
		}
		*fault = Fault{ending, task}
		return nil
	})
	s.Flags.find("test-fault").hidden = true
	return fault
}

// Check checks that the chain has such a task.
func (f *Fault) Check(tasks uint64) error {
	if f.ending != "" && f.task >= tasks {
		return BadUsagef("--test-fault %s@%d: there are only tasks 0 to %d", f.ending, f.task, tasks-1)
	}
	return nil
}

// Of is how a task is to end; empty where it is not to.
func (f *Fault) Of(post Post) string {
	if f.ending != "" && f.task == post.place {
		return f.ending
	}
	return ""
}

// End ends the calling task.
func End(ending string) error {
	switch ending {
	case "close":
		return nil
	case "panic":
		panic("ends here, as --test-fault asks")
	case "hang":
		select {}
	default:
		return errors.New("fails here, as --test-fault asks")
	}
}

// IsFirst is whether it is the first one in the chain.
func (p Post) IsFirst() bool { return p.place == 0 }
