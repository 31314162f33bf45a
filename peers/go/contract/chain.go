package contract

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
)

// ErrEnded is that no more tokens come out.
var ErrEnded = errors.New("the chain ended early")

// Chain is the tasks of a brigade: what each passed on, and why it failed.
type Chain struct {
	// Started is done once by each task, first of all.
	Started sync.WaitGroup

	ended  sync.WaitGroup
	passed []uint64
	errors []error
}

// NewChain makes one whose tasks are about to be created.
func NewChain(tasks uint64) *Chain {
	c := &Chain{passed: make([]uint64, tasks), errors: make([]error, tasks)}
	c.Started.Add(int(tasks))
	c.ended.Add(int(tasks))
	return c
}

// Ended is what a task calls last: how many tokens it passed on, and why it failed.
func (c *Chain) Ended(place, passed uint64, err error) {
	c.passed[place], c.errors[place] = passed, err
	c.ended.Done()
}

// BesideIdle does the work beside so many goroutines of a chain that is sent nothing. The first function
// creates them and returns the one that ends them. Nothing tells how often a goroutine ran: the proof is
// that they passed nothing on.
func BesideIdle(idle uint64, build func(*Chain) (func(), error), work func() error) error {
	if idle == 0 {
		return work()
	}
	chain := NewChain(idle)
	end, err := build(chain)
	if err != nil {
		return fmt.Errorf("the idle tasks: %w", err)
	}
	chain.Started.Wait()
	err = work()
	end()
	if ended := chain.Result(err, 0); ended != err {
		return fmt.Errorf("the idle tasks: %w", ended)
	}
	return err
}

// Result waits for the end of all tasks and returns the first true cause of an error: a task's own, the
// driver's, tokens that got lost.
func (c *Chain) Result(driver error, sent uint64) error {
	c.ended.Wait()
	all := uint64(0)
	for place, err := range c.errors {
		// A broken pipe follows from the end of the neighbour downstream.
		if err != nil && !errors.Is(err, syscall.EPIPE) {
			return fmt.Errorf("task %d: %w", place, err)
		}
		all += c.passed[place]
	}
	if expected := uint64(len(c.passed)) * sent; driver == nil && all != expected {
		return fmt.Errorf("the tasks passed on %d tokens, expected %d", all, expected)
	}
	return driver
}

// CheckToken checks that a token visited each task once, since each of them adds one to it.
func CheckToken[T byte | int](token int, came, expected T) error {
	if came == expected {
		return nil
	}
	return fmt.Errorf("token %d came out as %d, expected %d: it did not visit each task once", token, came, expected)
}
