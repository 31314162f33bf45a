// What it takes to create goroutines.
//
// One iteration: N go statements, one after the other, each for a goroutine that writes its own number down and ends.
// Timed: the N statements (taking a goroutine, with its stack, from those that have ended or allocating it, and
// queueing it), from a goroutine. Left out: awaiting them, which follows.
//
// The same number of iterations is then repeated with one more clock reading for each goroutine, which gives two
// distributions, apart so that those readings burden no sample:
//   - creation: one go statement, with one reading;
//   - spawn_to_body: from that statement to the first instruction of the goroutine's body.
//
// The memory is that of N goroutines alive at once that wait at a channel.
//
// With --sleep it is another program: see sleep.go.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"switchcost/harness"
)

// bare is the memory of a goroutine that waits: its first stack of 2 KiB, and what the runtime knows of it.
const bare = 3584

func main() {
	session := harness.New("goroutine-creation", "Time the creation of goroutines")
	session.Defaults("10000", "100", "10")
	sleep := addSleep(session)
	session.Main(sleep.check, func(session *harness.Session) error {
		if sleep.isAsked() {
			return sleep.measure(session)
		}
		return measure(session)
	})
}

func measure(session *harness.Session) error {
	if err := session.Require(harness.RuntimeDemand(session.Workers()).Plus(harness.HeapOf(bare)), nil); err != nil {
		return err
	}
	laps := session.Laps()
	err := harness.Go(func() error { return create(int(session.Tasks()), laps) })
	session.Timed(laps)
	if err != nil {
		return err
	}
	if err := harness.Go(func() error { return createStamped(session) }); err != nil {
		return err
	}
	return harness.Go(func() error { return hold(session) })
}

// create begins N goroutines in each lap and times that.
func create(n int, laps *harness.Laps) error {
	returned := make([]int, n)
	var bodies sync.WaitGroup
	for laps.Advance() {
		bodies.Add(n)

		clock := time.Now()
		for k := range n {
			go body(&bodies, returned, k)
		}
		laps.Record(time.Since(clock))

		bodies.Wait()
		for k, number := range returned {
			if number != k+1 {
				return fmt.Errorf("task %d returned %d", k, number-1)
			}
			returned[k] = 0
		}
	}
	return laps.Err()
}

// body writes its own number down, from 1.
func body(bodies *sync.WaitGroup, returned []int, k int) {
	returned[k] = k + 1
	bodies.Done()
}

// createStamped begins as many again, reading the clock between the statements and first thing in each goroutine.
func createStamped(session *harness.Session) error {
	n := int(session.Tasks())
	samples := session.Iters() * session.Tasks()
	if samples/session.Tasks() != session.Iters() {
		samples = 1<<64 - 1
	}
	creation, toBody := harness.NewRecorder(samples), harness.NewRecorder(samples)
	calls, delays := make([]time.Duration, n), make([]time.Duration, n)
	var bodies sync.WaitGroup
	for round := uint64(0); round < session.Iters() && harness.Received() == 0; round++ {
		bodies.Add(n)
		called := time.Now()
		for k := range n {
			go stamped(&bodies, delays, k, called)
			now := time.Now()
			calls[k] = now.Sub(called)
			called = now
		}
		bodies.Wait()
		for k := range n {
			creation.Record(calls[k])
			toBody.Record(delays[k])
		}
	}
	session.Distribution("creation", creation)
	session.Distribution("spawn_to_body", toBody)
	return nil
}

// stamped writes down how long ago it was called.
func stamped(bodies *sync.WaitGroup, delays []time.Duration, k int, called time.Time) {
	delays[k] = time.Since(called)
	bodies.Done()
}

// hold has N goroutines alive at once for the look at the memory and the user's command.
func hold(session *harness.Session) error {
	if harness.Received() != 0 {
		return nil
	}
	begun := time.Now()
	gate := make(chan struct{})
	var arrived, lost atomic.Uint64
	var bodies sync.WaitGroup
	for range session.Tasks() {
		bodies.Add(1)
		go func() {
			arrived.Add(1)
			<-gate
			bodies.Done()
		}()
	}
	err := harness.Await(session.Tasks(), &arrived, &lost)
	if err == nil {
		session.Built(time.Since(begun))
		session.AtRest()
	}
	close(gate)
	bodies.Wait()
	return err
}
