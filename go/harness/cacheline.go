package harness

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// cacheLine is the round trip of a cache line between the first two CPUs that the run may use, in ns. What crosses
// CPUs waits for this, and on a virtual machine it changes within seconds.
type cacheLine struct {
	CPUs   [2]int   `json:"cpus"`
	Before *decimal `json:"before"`
	After  *decimal `json:"after"`
}

// init keeps the main goroutine on the main thread, so that the threads below are others.
func init() { runtime.LockOSThread() }

// measureCacheLine measures for the first time; nil where there is one CPU only.
func measureCacheLine() *cacheLine {
	cpus, err := allowedCPUs(0)
	if err != nil || len(cpus) < 2 {
		return nil
	}
	line := &cacheLine{CPUs: [2]int{cpus[0], cpus[1]}}
	line.Before = roundTrip(line.CPUs)
	return line
}

// sharedWord is alone in its cache line, between lines that nobody uses.
type sharedWord struct {
	_    [256]byte
	word atomic.Uint32
	_    [256]byte
}

// Round trips between two readings of the clock, batches of which the median counts, and how long to wait for an
// answer: a peer that does not run answers nothing.
const (
	tripsOfBatch    = 500
	batchesOfTrips  = 9
	patienceOfTrips = 10 * time.Millisecond
	stopWord        = 1<<32 - 1
)

// roundTrip is the median time in ns; nil where a CPU may not be used, or where no answer comes in time. Each end is
// a thread that is bound to its CPU and ends with its goroutine.
func roundTrip(cpus [2]int) *decimal {
	if workers := runtime.GOMAXPROCS(0); workers < 2 {
		runtime.GOMAXPROCS(2)
		defer runtime.GOMAXPROCS(workers)
	}
	var shared sharedWord
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		if pin(cpus[1:]) == nil {
			answer(&shared.word)
		}
	}()
	median := make(chan *decimal)
	go func() {
		runtime.LockOSThread()
		if pin(cpus[:1]) != nil {
			median <- nil
			return
		}
		median <- askAgainAndAgain(&shared.word)
	}()
	found := <-median
	shared.word.Store(stopWord)
	<-ended
	return found
}

// answer answers each odd word by the even one after it, until it is told to stop: a word to stop that comes in
// between is not to be lost, so that the answer takes its place only where nothing else has.
func answer(word *atomic.Uint32) {
	for expected := uint32(1); ; {
		switch word.Load() {
		case expected:
			if word.CompareAndSwap(expected, expected+1) {
				expected += 2
			}
		case stopWord:
			return
		}
	}
}

func askAgainAndAgain(word *atomic.Uint32) *decimal {
	deadline := time.Now().Add(patienceOfTrips)
	last := uint32(0)
	var times []time.Duration
	// The first batch finds the peer on its way to its CPU, and is no part of it.
	for batch := range batchesOfTrips + 1 {
		clock := time.Now()
		for range tripsOfBatch {
			word.Store(last + 1)
			last += 2
			for looks := 1; word.Load() != last; looks++ {
				if looks%1024 == 0 && time.Now().After(deadline) {
					return medianOf(times)
				}
			}
		}
		if batch > 0 {
			times = append(times, time.Since(clock))
		}
	}
	return medianOf(times)
}

func medianOf(times []time.Duration) *decimal {
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	return pointer(decimal(times[len(times)/2]) / tripsOfBatch)
}
