package contract

import (
	"encoding/json"
	"math"
	"os"
	"runtime"
	"slices"
	"syscall"
)

// Description is the program's of itself and of one command line. The first four are of `ready` alone.
type Description struct {
	At       string          `json:"at,omitempty"`
	Pids     []int           `json:"pids,omitempty"`
	Setup    int64           `json:"setup_ns,omitempty"`
	First    int64           `json:"first_ns,omitempty"`
	Contract int             `json:"contract"`
	Program  string          `json:"program"`
	Version  string          `json:"version"`
	Tasks    uint64          `json:"tasks"`
	Tokens   uint64          `json:"tokens,omitempty"`
	Bytes    uint64          `json:"bytes,omitempty"`
	Hops     uint64          `json:"hops,omitempty"`
	Claim    string          `json:"claim"`
	Passes   []PassKind      `json:"passes"`
	Needs    map[string]Need `json:"needs"`
	Runtime  map[string]any  `json:"runtime"`
}

// PassKind is a kind of pass: after a wait, so many untimed iterations at most.
type PassKind struct {
	Name   string `json:"name"`
	Settle uint64 `json:"settle"`
}

// Need of one resource: the whole process's share, and each task's.
type Need struct {
	Fixed uint64 `json:"fixed"`
	Each  uint64 `json:"each"`
}

// version is the workspace's.
const version = "0.1.0"

func newDescription(program string, tasks uint64) *Description {
	return &Description{
		Contract: 1, Program: program, Version: version, Tasks: tasks, Claim: "user-switch",
		Passes: []PassKind{{"main", 3}},
		// The runtime's event loop, a few threads beside the workers, its heap.
		Needs: map[string]Need{"descriptors": {12, 0}, "threads": {*workers + 10, 0}, "bytes": {12<<20 + *workers<<18, 0}},
		Runtime: map[string]any{
			"name": "go", "version": runtime.Version(), "flavor": "goroutines", "workers": *workers,
		},
	}
}

// Need adds to what the run takes of the system.
func (d *Description) Need(resource string, fixed, each uint64) {
	need := d.Needs[resource]
	d.Needs[resource] = Need{need.Fixed + fixed, need.Each + each}
}

// usage is what the process used between two readings.
func usage(from, to *syscall.Rusage) map[string]int64 {
	return map[string]int64{
		"user_ns": to.Utime.Nano() - from.Utime.Nano(), "system_ns": to.Stime.Nano() - from.Stime.Nano(),
		"voluntary_switches":   int64(to.Nvcsw - from.Nvcsw),
		"involuntary_switches": int64(to.Nivcsw - from.Nivcsw),
		"minor_faults":         int64(to.Minflt - from.Minflt), "major_faults": int64(to.Majflt - from.Majflt),
	}
}

// Distribution is a summary of samples.
type Distribution struct {
	Count  int     `json:"count"`
	Mean   float64 `json:"mean"`
	Stddev float64 `json:"stddev"`
	Min    uint64  `json:"min"`
	P50    uint64  `json:"p50"`
	P90    uint64  `json:"p90"`
	P99    uint64  `json:"p99"`
	Max    uint64  `json:"max"`
}

// summary sorts the samples, of which there is one at least.
func summary(samples []uint64) Distribution {
	slices.Sort(samples)
	n, sum, squares := len(samples), 0.0, 0.0
	for _, sample := range samples {
		sum += float64(sample)
	}
	mean := sum / float64(n)
	for _, sample := range samples {
		squares += (float64(sample) - mean) * (float64(sample) - mean)
	}
	percentile := func(p int) uint64 { return samples[(n*p+99)/100-1] }
	return Distribution{
		n, mean, math.Sqrt(squares / float64(n)),
		samples[0], percentile(50), percentile(90), percentile(99), samples[n-1],
	}
}

func printLine(answer any) error {
	line, err := json.Marshal(answer)
	if err == nil {
		_, err = os.Stdout.Write(append(line, '\n'))
	}
	return err
}
