package contract

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
)

// ErrEnded is that no more tokens come out.
var ErrEnded = errors.New("the chain ended early")

// Chain is the tasks between two ends.
type Chain struct {
	tasks          uint64
	started, ended sync.WaitGroup
	lock           sync.Mutex
	passed         uint64
	err            error
}

// Go starts the next task, which returns how many tokens it passed on, or why it failed.
func (c *Chain) Go(task func() (passed uint64, err error)) {
	place := c.tasks
	c.tasks++
	c.started.Add(1)
	c.ended.Add(1)
	go func() {
		defer c.ended.Done()
		c.started.Done()
		passed, err := task()
		c.lock.Lock()
		defer c.lock.Unlock()
		c.passed += passed
		// A broken pipe follows from the end of the neighbour downstream.
		if err != nil && c.err == nil && !errors.Is(err, syscall.EPIPE) {
			c.err = fmt.Errorf("task %d: %w", place, err)
		}
	}()
}

// Started waits until all tasks run.
func (c *Chain) Started() { c.started.Wait() }

// Result waits for the end of all tasks, which have passed on so many tokens together, and returns the first true cause
// of an error: a task's own, the driver's, tokens that got lost.
func (c *Chain) Result(driver error, expected uint64) error {
	c.ended.Wait()
	switch {
	case c.err != nil:
		return c.err
	case driver == nil && c.passed != expected:
		return fmt.Errorf("the tasks passed on %d tokens, expected %d", c.passed, expected)
	}
	return driver
}

// Channels joins tasks, which pass on numbers, by channels that hold so many. It returns the driver's ends.
func (c *Chain) Channels(tasks, capacity uint64, passOn func(from <-chan int, to chan<- int) uint64) (chan<- int, <-chan int) {
	first := make(chan int, capacity)
	last := first
	for range tasks {
		from, to := last, make(chan int, capacity)
		c.Go(func() (uint64, error) { return passOn(from, to), nil })
		last = to
	}
	return first, last
}

// CheckTokens checks that each token visited each task once, since each of them adds one to it. The first one was
// sent as a number, and each further one as the next.
func CheckTokens[T byte | int](came []T, first, tasks T) error {
	for k, token := range came {
		if expected := first + T(k) + tasks; token != expected {
			return fmt.Errorf("token %d came out as %d, expected %d: it did not visit each task once", k, token, expected)
		}
	}
	return nil
}
