package main

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"switchcost/harness"
)

// sleepers are N goroutines that each sleep for a time.
//
// One iteration: N go statements, one after the other, and the wait for all of them. Each goroutine sleeps as soon as
// it runs; with --gate as soon as all are alive. Timed: the whole, from before the first statement until the last
// goroutine has ended. After the last iteration there is one more, untimed, for the memory.
type sleepers struct {
	time, slack *uint64
	gate        *bool
	// atOnce is how many may be alive at once where not all of them fit; 0 for all.
	atOnce uint64
	limits []string
	// isHeldBack is whether the driver had to wait for an end before it began another.
	isHeldBack bool
	// alive are those that were begun and have not ended; most is the largest number of them so far, for the driver
	// alone, which is the only one that adds.
	alive atomic.Int64
	most  int64
}

// longestWait is how long a sleep may be that is awaited after a signal.
const longestWait = time.Second

func addSleep(session *harness.Session) *sleepers {
	return &sleepers{
		time: session.Flags.Span("sleep", "Let each body sleep for so long as soon as it runs, and time the whole: N bodies "+
			"begun, asleep and ended. The usual size is then --iters 1 --warmups 0", func(span uint64) error {
			if span == 0 || span > uint64(24*time.Hour) {
				return errors.New("from 1ns to 86400s")
			}
			return nil
		}),
		gate: session.Flags.Switch("gate", 0, "With --sleep: hold every body until all are alive, and let them sleep at the same time"),
		slack: session.Flags.Span("timer-slack", "How much later than asked the kernel may wake a thread that sleeps for a time, "+
			"so as to serve several timers at once: 1ns for as exact as it can [default: as inherited, 50µs mostly]", func(span uint64) error {
			if span == 0 {
				return errors.New("the kernel knows no timer slack of 0: the least is 1ns")
			}
			return nil
		}),
	}
}

func (s *sleepers) isAsked() bool { return *s.time > 0 }

// check is which flags go together, and the usual size.
func (s *sleepers) check(session *harness.Session) error {
	for _, flag := range []string{"gate", "timer-slack"} {
		if session.Flags.Given(flag) && !s.isAsked() {
			return harness.BadUsagef("--%s: nothing sleeps here: add --sleep, or drop --%s", flag, flag)
		}
	}
	session.TimerSlack(s.slack)
	if s.isAsked() {
		session.Flags.Default("iters", "1")
		session.Flags.Default("warmups", "0")
	}
	return nil
}

func (s *sleepers) measure(session *harness.Session) error {
	demand := harness.RuntimeDemand(session.Workers()).Plus(harness.HeapOf(bare + 8))
	heldBack := func(most uint64, limits []string) { s.atOnce, s.limits = most, limits }
	if *s.gate {
		heldBack = nil
	}
	if err := session.Require(demand, heldBack); err != nil {
		return err
	}
	laps := session.Laps()
	late := harness.NewRecorder(session.Iters() * session.Tasks())
	err := harness.Go(func() error { return s.sleep(session, laps, late) })
	session.Timed(laps)
	session.Distribution("late", late)
	if err == nil && harness.Received() == 0 {
		err = harness.Go(func() error { return s.rest(session) })
	}
	session.AliveAtOnce(uint64(s.most))
	if s.isHeldBack {
		session.HeldBack(s.atOnce, s.limits)
	}
	return err
}

// sleep begins N goroutines in each lap, waits for all of them, and times that.
func (s *sleepers) sleep(session *harness.Session, laps *harness.Laps, late *harness.Recorder) error {
	n := int(session.Tasks())
	bodies := s.bodies(n)
	for laps.Advance() {
		clock := time.Now()
		if !s.begin(bodies, n) {
			return nil
		}
		if *s.gate && !s.open(bodies) {
			return nil
		}
		if !bodies.await(time.Duration(*s.time)) {
			return nil
		}
		laps.Record(time.Since(clock))

		if laps.IsTimed() {
			for _, time := range bodies.late {
				late.Record(time)
			}
		}
		bodies.renew()
	}
	return laps.Err()
}

// rest has one iteration more for the look at the memory and the user's command.
func (s *sleepers) rest(session *harness.Session) error {
	n := int(session.Tasks())
	bodies := s.bodies(n)
	begun := time.Now()
	if !s.begin(bodies, n) {
		return nil
	}
	if *s.gate {
		if err := harness.Await(uint64(n), &bodies.arrived, &bodies.lost); err != nil {
			bodies.isAwake = true
			close(bodies.gate)
			return err
		}
		session.Built(time.Since(begun))
	}
	session.AtRest()
	if *s.gate {
		bodies.isAwake = true
		close(bodies.gate)
	}
	bodies.await(time.Duration(*s.time))
	return nil
}

// begin begins all of them, and keeps the largest number that was alive; false where a signal came first, and those
// that were begun are let go.
func (s *sleepers) begin(bodies *bodies, n int) bool {
	for k := range n {
		if bodies.room != nil {
			select {
			case bodies.room <- struct{}{}:
			default:
				s.isHeldBack = true
				select {
				case bodies.room <- struct{}{}:
				case <-harness.Stopping():
					bodies.letGo()
					return false
				}
			}
		}
		if k%64 == 0 && harness.Received() != 0 {
			bodies.letGo()
			return false
		}
		s.most = max(s.most, s.alive.Add(1))
		bodies.running.Add(1)
		go bodies.sleep(k)
	}
	return true
}

// open waits until all have begun, looking once in a ms, and lets them sleep; false where a signal came first.
func (s *sleepers) open(bodies *bodies) bool {
	for bodies.arrived.Load() < uint64(len(bodies.late)) {
		if harness.Received() != 0 {
			bodies.isAwake = true
			close(bodies.gate)
			bodies.running.Wait()
			return false
		}
		time.Sleep(time.Millisecond)
	}
	close(bodies.gate)
	return true
}

// bodies are those of an iteration.
type bodies struct {
	time          time.Duration
	isGated       bool
	gate          chan struct{}
	arrived, lost atomic.Uint64
	// isAwake is set before the gate is opened where nobody is to sleep any more.
	isAwake bool
	late    []time.Duration
	alive   *atomic.Int64
	running sync.WaitGroup
	// room has as many places as may be alive at once; nil where all may.
	room chan struct{}
}

func (s *sleepers) bodies(n int) *bodies {
	b := &bodies{
		time: time.Duration(*s.time), isGated: *s.gate, gate: make(chan struct{}), late: make([]time.Duration, n), alive: &s.alive,
	}
	for k := range b.late {
		// Written, so that it is resident before the clock starts.
		b.late[k] = -1
	}
	if s.atOnce > 0 {
		b.room = make(chan struct{}, s.atOnce)
	}
	return b
}

// renew makes them ready for the next iteration.
func (b *bodies) renew() {
	b.gate = make(chan struct{})
	b.arrived.Store(0)
}

// sleep is one of them.
func (b *bodies) sleep(k int) {
	if b.isGated {
		b.arrived.Add(1)
		<-b.gate
	}
	if !b.isGated || !b.isAwake {
		begun := time.Now()
		time.Sleep(b.time)
		b.late[k] = max(time.Since(begun)-b.time, 0)
	}
	b.alive.Add(-1)
	if b.room != nil {
		<-b.room
	}
	b.running.Done()
}

// letGo opens the gate for those that were begun, none of which is to sleep any more, and waits until they have ended.
func (b *bodies) letGo() {
	b.isAwake = true
	close(b.gate)
	b.await(b.time)
}

// await waits until all have ended; false where a signal came and they sleep for so long that they are left asleep.
func (b *bodies) await(sleep time.Duration) bool {
	if sleep <= longestWait {
		b.running.Wait()
		return true
	}
	ended := make(chan struct{})
	go func() {
		b.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-harness.Stopping():
		return false
	}
}
