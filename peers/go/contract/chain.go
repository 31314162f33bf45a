package contract

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// mostTokens is how many tokens of a chain an iteration can send, so that products stay in bounds.
const mostTokens = 1 << 30

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

// Go starts the next task, which returns how many tokens it passed on, and why it failed.
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

// result waits for the end of all tasks and returns the first true cause of an error: a task's own, the
// driver's, tokens that got lost.
func (c *Chain) result(driver error, sent uint64) error {
	c.ended.Wait()
	if c.err != nil {
		return c.err
	}
	if expected := c.tasks * sent; driver == nil && c.passed != expected {
		return fmt.Errorf("the tasks passed on %d tokens, expected %d", c.passed, expected)
	}
	return driver
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

// Driver has both ends of a chain.
type Driver interface {
	// MakeTrips makes the round trips of an iteration: all tokens in, all tokens out.
	MakeTrips(iteration uint64) error
	// Verify checks the tokens that came out.
	Verify(iteration uint64) error
	// Close ends the chain.
	Close()
}

// Builder builds a chain of so many tasks. What it returns beside an error is nothing that there is to close.
type Builder func(tasks uint64, chain *Chain) (Driver, error)

// Brigade has the flags of a program whose tasks are chained.
type Brigade struct {
	tokens, chains, trips *uint64
}

// NewBrigade adds the flags.
func NewBrigade(mostTokens uint64) Brigade {
	return Brigade{
		Number("tokens", 1, 1, mostTokens, "`K` tokens in flight at once"),
		Number("chains", 1, 1, 1<<16, "`C` chains of --tasks each that work at the same time, each with a driver"),
		Number("trips", 1, 1, 1<<20, "`R` round trips that each chain makes in an iteration"),
	}
}

// Tokens is how many are in flight at once.
func (b Brigade) Tokens() int { return int(*b.tokens) }

// Trips is how many round trips each chain makes in an iteration.
func (b Brigade) Trips() int { return int(*b.trips) }

// IsPingPong is true for one token in one chain, once in an iteration.
func (b Brigade) IsPingPong() bool {
	return *b.tokens == 1 && *b.chains == 1 && *b.trips == 1
}

// Describe makes it the description of all chains, where it is that of one of them with one round trip.
func (b Brigade) Describe(d *Description) error {
	if *b.tokens**b.trips > mostTokens {
		return fmt.Errorf("--trips %d with --tokens %d is more than %d tokens an iteration: lower them",
			*b.trips, *b.tokens, mostTokens)
	}
	if d.Hops == 0 {
		d.Hops = (d.Tasks + 1) * *b.tokens
	}
	d.Tokens, d.Chains, d.Trips = *b.tokens, *b.chains, *b.trips
	all := d.Chains * d.Trips
	d.Hops *= all
	d.Bytes *= all
	for resource, need := range d.Needs {
		// A further driver with its link needs what a task does.
		d.Needs[resource] = Need{need.Fixed + need.Each*(d.Chains-1), need.Each * d.Chains}
	}
	d.Need("bytes", (all-1)*d.Tokens*8, 0)
	return nil
}

// Measure builds the chains, and drives them through all passes of a run. The error is the first true cause, with its
// chain.
func (b Brigade) Measure(run *Run, build Builder) error {
	chains, drivers, failed := []*Chain{}, []Driver{}, error(nil)
	for range *b.chains {
		chain := &Chain{}
		driver, err := build(run.Tasks, chain)
		if err != nil {
			return err
		}
		chain.started.Wait()
		chains, drivers = append(chains, chain), append(drivers, driver)
	}
	errs := make([]error, len(drivers))
	for failed == nil && run.Next() {
		for failed == nil && run.Iterate() {
			elapsed := makeTrips(drivers, errs, run.Begun)
			for k, driver := range drivers {
				if errs[k] == nil {
					errs[k] = driver.Verify(run.Begun)
				}
			}
			if failed = errors.Join(errs...); failed == nil {
				run.Record(elapsed)
			}
		}
	}
	for _, driver := range drivers {
		driver.Close()
	}
	for k, chain := range chains {
		if err := chain.result(errs[k], run.Begun**b.trips**b.tokens); err != nil {
			return fmt.Errorf("chain %d: %w", k, err)
		}
	}
	return run.Err
}

// makeTrips is an iteration. A single driver makes its round trips right here. Several start together, each in a
// goroutine of its own, and the time is from the start of the first one to the end of the last.
func makeTrips(drivers []Driver, errs []error, iteration uint64) time.Duration {
	if len(drivers) == 1 {
		clock := time.Now()
		errs[0] = drivers[0].MakeTrips(iteration)
		return time.Since(clock)
	}
	begun, ended := make([]time.Time, len(drivers)), make([]time.Time, len(drivers))
	var back sync.WaitGroup
	back.Add(len(drivers))
	for k, driver := range drivers {
		go func() {
			begun[k] = time.Now()
			errs[k] = driver.MakeTrips(iteration)
			ended[k] = time.Now()
			back.Done()
		}()
	}
	back.Wait()
	first, last := begun[0], ended[0]
	for k := range drivers {
		if begun[k].Before(first) {
			first = begun[k]
		}
		if ended[k].After(last) {
			last = ended[k]
		}
	}
	return last.Sub(first)
}
