package harness

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// Laps is the frame of a timed loop: which lap comes next, and where its time goes. A program's loop reads
//
//	for laps.Advance() {
//		clock := time.Now()
//		// one iteration, and nothing else
//		laps.Record(time.Since(clock))
//	}
//
// so that all that is done here happens while the clock stands.
type Laps struct {
	warmups, iters uint64
	begun          uint64
	recorder       *Recorder
	err            error
	firstAt        time.Time
	first          *time.Duration
	progress       *progress
	stops          stops
	cpus           *whereabouts
	notes          []note
	before         *used
	disturbances   interference
	used           *used
	meanwhile      *interference
}

func newLaps(warmups, iters uint64, label string, isQuiet bool) *Laps {
	laps := &Laps{warmups: warmups, iters: iters, recorder: NewRecorder(iters)}
	laps.stops.samples = make([]uint64, 0, namedStops)
	if isTerminal(2) && !isQuiet {
		laps.progress = &progress{label: label}
	}
	return laps
}

// Advance begins the next lap; false after the last one, at a signal, or where the system does not tell what is
// used, which Err has. What the system counts is read before the first timed lap and after the last one.
func (l *Laps) Advance() bool {
	all := satAdd(l.warmups, l.iters)
	if l.begun == all || l.err != nil || Received() != 0 {
		l.close()
		return false
	}
	if l.begun == 0 {
		l.firstAt = time.Now()
	}
	if l.begun == l.warmups {
		l.cpus = whereaboutsNow()
		l.stops.begin()
		// The usage last: reading the rest takes some itself.
		l.disturbances = interferenceSoFar()
		now, err := usedSoFar()
		if err != nil {
			l.err = fmt.Errorf("getrusage(2) failed: %s", named(err))
			return false
		}
		l.before = &now
	}
	l.begun++
	return true
}

// Lap is the number of the lap that was begun last, warm-ups included.
func (l *Laps) Lap() uint64 { return l.begun - 1 }

// IsTimed is whether that lap is no warm-up.
func (l *Laps) IsTimed() bool { return l.begun > l.warmups }

// Record takes the time of the lap that was begun last; a warm-up's is dropped, but for the very first one's,
// which is kept by itself.
func (l *Laps) Record(elapsed time.Duration) {
	if l.first == nil {
		l.first = &elapsed
	}
	if l.begun > l.warmups {
		l.recorder.Record(elapsed)
		l.stops.look(continued.Load(), elapsed)
	}
	if l.progress != nil {
		l.progress.lap(elapsed, l.begun, satAdd(l.warmups, l.iters))
	}
}

// Begun is how many laps were begun, warm-ups included.
func (l *Laps) Begun() uint64 { return l.begun }

// Err is why the laps ended early, if not by a signal.
func (l *Laps) Err() error { return l.err }

// close reads what the timed laps used.
func (l *Laps) close() {
	if l.before != nil && l.used == nil {
		if now, err := usedSoFar(); err == nil {
			l.used = pointer(now.since(*l.before))
		}
		l.meanwhile = pointer(interferenceSoFar().since(l.disturbances))
	}
	l.end()
}

// end looks where the process can run now, also where an error has cut the laps short.
func (l *Laps) end() {
	l.stops.finish(continued.Load())
	if l.cpus != nil {
		l.notes = whereaboutsNow().since(l.cpus)
		l.cpus = nil
	}
	if l.progress != nil && l.progress.drawn > 0 {
		draw("")
	}
	l.progress = nil
}

func (l *Laps) isComplete() bool { return l.recorder.count == l.iters }

// progress is a line on the terminal, redrawn between laps.
type progress struct {
	label        string
	spent, drawn time.Duration
}

func (p *progress) lap(elapsed time.Duration, done, all uint64) {
	p.spent += elapsed
	if p.spent-p.drawn < 200*time.Millisecond {
		return
	}
	p.drawn = p.spent
	left := Nanos(float64(p.spent) / float64(done) * float64(all-done))
	draw(fmt.Sprintf("%s: %d of %d iterations, about %s left", p.label, done, all, left.decimals(1)))
}

// draw replaces the progress line. A terminal that has gone away is no reason to stop a measurement.
func draw(line string) {
	os.Stderr.WriteString("\r\x1b[K" + line)
}

// namedStops is how many of the samples under way at a stop are named.
const namedStops = 10

// stops tells which samples were under way when the process was stopped.
type stops struct {
	before, seen, lookedAt uint64
	previous, time         time.Duration
	samples                []uint64
	more                   uint64
}

func (s *stops) begin() {
	s.before = continued.Load()
	s.seen = s.before
}

// look sees whether the process was continued during the sample that has just been taken. The thread that the
// signal interrupts may not be the one that takes the samples: it is then seen a sample late, and the longer of
// the two is the one that was stopped.
func (s *stops) look(continued uint64, elapsed time.Duration) {
	if continued != s.seen {
		s.seen = continued
		index := s.lookedAt
		if s.previous > elapsed {
			index--
		}
		if n := len(s.samples); n == 0 || s.samples[n-1] != index {
			s.time += max(elapsed, s.previous)
			if n < namedStops {
				s.samples = append(s.samples, index)
			} else {
				s.more++
			}
		}
	}
	s.previous = elapsed
	s.lookedAt++
}

// finish looks for the last time: seen now, it belongs to the sample before one that never was.
func (s *stops) finish(continued uint64) {
	if continued != s.seen && s.lookedAt > 0 {
		s.look(continued, 0)
	}
}

func (s *stops) note() []note {
	if s.seen == s.before {
		return nil
	}
	return []note{newNote("stopped", "times", s.seen-s.before, "samples", s.samples, "more", s.more, "time", uint64(s.time))}
}

// whereabouts is where the process can run: what others may change while it measures. A driver that is a
// goroutine has no CPUs of its own.
type whereabouts struct{ online, process *string }

func whereaboutsNow() *whereabouts {
	found := &whereabouts{online: source{"/"}.text("sys/devices/system/cpu/online")}
	if cpus, err := allowedCPUs(syscall.Getpid()); err == nil {
		found.process = pointer(listOf(cpus))
	}
	return found
}

func (w *whereabouts) since(before *whereabouts) []note {
	var notes []note
	add := func(which string, before, after *string) {
		if before != nil && after != nil && *before != *after {
			notes = append(notes, newNote("cpus-changed", "which", which, "before", *before, "after", *after))
		}
	}
	add("online", before.online, w.online)
	add("that the process may use", before.process, w.process)
	return notes
}
