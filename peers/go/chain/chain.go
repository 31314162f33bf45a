// Package chain is what the tasks of a brigade have in common: what each passed on, which one explains
// an early end, and faults that a test asks for.
package chain

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"switchcost/contract"
)

// ErrEnded is that no more tokens come out.
var ErrEnded = errors.New("the chain ended early")

// Chain is so many tasks in a row.
type Chain struct {
	results        []result
	started, ended sync.WaitGroup
}

type result struct {
	passed uint64
	err    error
}

// New makes one without tasks yet.
func New(tasks uint64) *Chain { return &Chain{results: make([]result, tasks)} }

// Task is a place in a chain.
type Task struct {
	chain *Chain
	place uint64
}

// Task gives the goroutine that is about to be created its place.
func (c *Chain) Task(place uint64) Task {
	c.started.Add(1)
	c.ended.Add(1)
	return Task{c, place}
}

// Started tells that the task runs.
func (t Task) Started() { t.chain.started.Done() }

// Leave tells how many tokens the task passed on, why it failed, and what it panicked with. It is the
// last thing that the task does.
func (t Task) Leave(passed uint64, err error, panicked any) {
	own := &t.chain.results[t.place]
	if panicked != nil {
		err = contract.PanicError(panicked)
	}
	if own.err == nil {
		own.err = err
	}
	own.passed = passed
	t.chain.ended.Done()
}

// Fail tells why the task is going to leave.
func (t Task) Fail(err error) { t.chain.results[t.place].err = err }

// AwaitStart waits until all tasks run.
func (c *Chain) AwaitStart() { c.started.Wait() }

// Result waits for the end of all tasks and returns the first true cause of an error: a task's own, a
// task that ended early, the driver's, tokens that got lost.
func (c *Chain) Result(driver error, sent uint64) error {
	c.ended.Wait()
	for place, task := range c.results {
		if task.err != nil && !isEcho(task.err) {
			return fmt.Errorf("task %d: %w", place, task.err)
		}
	}
	all := uint64(0)
	for place, task := range c.results {
		// One that found a broken pipe has a neighbour downstream that left.
		if driver != nil && task.err == nil && task.passed < sent {
			return fmt.Errorf("task %d ended after it had passed on %d tokens: %w", place, task.passed, driver)
		}
		all += task.passed
	}
	if expected := uint64(len(c.results)) * sent; driver == nil && all != expected {
		return fmt.Errorf("the tasks passed on %d tokens, expected %d", all, expected)
	}
	return driver
}

// isEcho is whether an error follows from another: when a task ends, its neighbour upstream finds a
// broken pipe, or a connection that was reset.
func isEcho(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// Fault is what goes wrong in the link to a task, for a test.
type Fault struct {
	Name string
	task uint64
}

// ServedBefore is how many tokens a faulty link brings first, so that there are samples.
const ServedBefore = 3

// FaultFlag adds the hidden flag.
func FaultFlag() *Fault {
	fault := &Fault{}
	contract.Flags.Func("test-fault", "", func(text string) (err error) {
		fault.Name, text, _ = strings.Cut(text, "@")
		fault.task, err = strconv.ParseUint(text, 10, 32)
		switch fault.Name {
		case "fail", "panic", "close", "hang", "corrupt":
		default:
			err = strconv.ErrSyntax
		}
		if err != nil {
			return errors.New("write fail, panic, close, hang or corrupt, @ and a task")
		}
		return nil
	})
	return fault
}

// Check checks that the chain has such a task.
func (f *Fault) Check(tasks uint64) error {
	if f.Name != "" && f.task >= tasks {
		return fmt.Errorf("--test-fault %s@%d: the last task is %d", f.Name, f.task, tasks-1)
	}
	return nil
}

// IsOf is whether the link to this task is faulty.
func (f *Fault) IsOf(place uint64) bool { return f.Name != "" && f.task == place }

// Strike is the fault; nil where tokens are to be corrupted.
func (f *Fault) Strike() error {
	switch f.Name {
	case "fail":
		return errors.New("fails as --test-fault asks")
	case "panic":
		panic("ends as --test-fault asks")
	case "close":
		return io.EOF
	case "hang":
		select {}
	}
	return nil
}
