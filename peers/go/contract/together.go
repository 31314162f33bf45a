package contract

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// mostTokens is how many tokens of a chain an iteration can send, so that products stay in bounds.
const mostTokens = 1 << 30

// Together are the flags of several chains at work at the same time.
type Together struct {
	chains, trips *uint64
}

// NewTogether adds the flags.
func NewTogether() Together {
	return Together{
		Number("chains", 1, 1, 1<<16, "`C` chains of --tasks each that work at the same time, each with a driver"),
		Number("trips", 1, 1, 1<<20, "`R` round trips that each chain makes in an iteration"),
	}
}

// IsOne is true where there is one chain, and one round trip an iteration.
func (t Together) IsOne() bool { return *t.chains == 1 && *t.trips == 1 }

// Trips is how many round trips each chain makes in an iteration.
func (t Together) Trips() uint64 { return *t.trips }

// Describe makes it the description of all chains, where it is that of one of them with one round trip.
func (t Together) Describe(d *Description) error {
	if d.Tokens**t.trips > mostTokens {
		return fmt.Errorf("--trips %d with --tokens %d is more than %d tokens an iteration: lower them",
			*t.trips, d.Tokens, mostTokens)
	}
	d.Chains, d.Trips = *t.chains, *t.trips
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

// ChainDriver is a chain and its driver.
type ChainDriver interface {
	// MakeTrips makes the round trips of an iteration: all tokens in, all tokens out.
	MakeTrips(iteration uint64) error
	// Verify checks the tokens that came out.
	Verify(iteration uint64) error
	// Close ends the chain.
	Close()
}

// Drive builds the chains, and drives them through all passes of a run: in each iteration their drivers start
// together, and it lasts from the start of the first to the end of the last. The error is the first true cause, with
// its chain. What build returns beside an error is nothing that there is to close.
func (t Together) Drive(run *Run, build func(*Chain) (ChainDriver, error)) error {
	chains, drivers, failed := []*Chain{}, []ChainDriver{}, error(nil)
	for range *t.chains {
		chain := NewChain(run.Tasks)
		driver, err := build(chain)
		if err != nil {
			return err
		}
		chain.Started.Wait()
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
		if err := chain.Result(errs[k], run.Begun**t.trips*run.description.Tokens); err != nil {
			return fmt.Errorf("chain %d: %w", k, err)
		}
	}
	return run.Err
}

// makeTrips has all drivers make their round trips, each in a goroutine of its own.
func makeTrips(drivers []ChainDriver, errs []error, iteration uint64) time.Duration {
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
	start, last := begun[0], time.Duration(math.MinInt64)
	for _, each := range begun {
		if each.Before(start) {
			start = each
		}
	}
	for _, each := range ended {
		last = max(last, each.Sub(start))
	}
	return last
}
