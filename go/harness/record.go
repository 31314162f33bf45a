package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
)

// Version is that of the whole project.
const Version = "0.1.0"

// schema is the version of the record's layout.
const schema = 1

// record is one run's result, one JSON line, as all programs of the project write it.
type record struct {
	Schema         uint32              `json:"schema"`
	Benchmark      string              `json:"benchmark"`
	Plan           *struct{}           `json:"plan"`
	Params         map[string]any      `json:"params"`
	CommandLine    []string            `json:"command_line"`
	Started        uint64              `json:"started"`
	Build          build               `json:"build"`
	Machine        machine             `json:"machine"`
	Runtime        *goRuntime          `json:"runtime"`
	Partial        bool                `json:"partial"`
	Samples        *summary            `json:"samples"`
	Hops           *uint64             `json:"hops"`
	PerHop         *decimal            `json:"per_hop"`
	PerTask        *decimal            `json:"per_task"`
	FirstIteration *uint64             `json:"first_iteration"`
	Distributions  map[string]*summary `json:"distributions"`
	Usage          *used               `json:"usage"`
	Waits          *struct{}           `json:"waits"`
	Workers        *struct{}           `json:"workers"`
	Payload        *uint64             `json:"payload"`
	PeakAlive      *uint64             `json:"peak_alive"`
	PeakThreads    *uint64             `json:"peak_threads"`
	PeakResident   *uint64             `json:"peak_resident"`
	TimerSlack     *uint64             `json:"timer_slack"`
	FileSystem     *struct{}           `json:"file_system"`
	Interference   *interference       `json:"interference"`
	Counters       *struct{}           `json:"counters"`
	CacheLine      *cacheLine          `json:"cache_line"`
	Memory         memoryChange        `json:"memory"`
	Setup          *uint64             `json:"setup"`
	Teardown       *uint64             `json:"teardown"`
	FutexSlots     *uint64             `json:"futex_slots"`
	Notes          []note              `json:"notes"`
	Error          *string             `json:"error"`
}

type memoryChange struct {
	Before held  `json:"before"`
	AtRest *held `json:"at_rest"`
}

// goRuntime is the runtime as it was set up. Its version has what the environment has changed in it.
type goRuntime struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Flavor  string `json:"flavor"`
	Workers uint64 `json:"workers"`
}

// build is what was compiled. Of what other compilers tell, nothing is known here.
type build struct {
	Rustc          *string `json:"rustc"`
	Profile        *string `json:"profile"`
	OptLevel       *string `json:"opt_level"`
	Target         *string `json:"target"`
	PackageVersion string  `json:"package_version"`
	GitRevision    *string `json:"git_revision"`
	Dirty          *bool   `json:"dirty"`
	Tokio          *string `json:"tokio"`
}

// currentBuild has the revision where the toolchain has written it down. Whether the sources were changed since
// is known only where nothing at all was: documents and results count for the toolchain too.
func currentBuild() build {
	found := build{PackageVersion: Version}
	info, isKnown := debug.ReadBuildInfo()
	if !isKnown {
		return found
	}
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision" && setting.Value != "":
			found.GitRevision = pointer(setting.Value)
		case setting.Key == "vcs.modified" && setting.Value == "false":
			found.Dirty = pointer(false)
		}
	}
	return found
}

// repeats is what is done over and over in an iteration, and how often.
func (r *record) repeats() (uint64, string) {
	if r.Hops != nil {
		return *r.Hops, "hop"
	}
	return r.tasks(), "task"
}

func (r *record) tasks() uint64 {
	tasks, _ := r.Params["tasks"].(uint64)
	return tasks
}

// gain is what a figure of the memory has grown by; nil where it is not known or has not.
func gain(before, after *uint64) *uint64 {
	if before == nil || after == nil || *after < *before {
		return nil
	}
	return pointer(*after - *before)
}

// note is what a reader should know before trusting the figures: a kind, and what is told of it, in order. It is
// made for people by text.
type note []any

// newNote makes one of a kind out of names and values.
func newNote(kind string, told ...any) note {
	return append(note{"kind", kind}, told...)
}

// at is the value of a name.
func (n note) at(name string) any {
	for i := 0; i+1 < len(n); i += 2 {
		if n[i] == name {
			return n[i+1]
		}
	}
	return nil
}

// MarshalJSON makes an object of it.
func (n note) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i := 0; i+1 < len(n); i += 2 {
		if i > 0 {
			text = append(text, ',')
		}
		for j, part := range n[i : i+2] {
			if number, is := part.(float64); is {
				part = decimal(number)
			}
			line, err := json.Marshal(part)
			if err != nil {
				return nil, err
			}
			if j > 0 {
				text = append(text, ':')
			}
			text = append(text, line...)
		}
	}
	return append(text, '}'), nil
}

// decimal is a number that is written with its point, also where it is a whole one, as the other programs do.
type decimal float64

// MarshalJSON writes it with as few digits as tell it from all others.
func (d decimal) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(float64(d))
	if err == nil && !bytes.ContainsAny(text, ".e") {
		text = append(text, ".0"...)
	}
	return text, err
}

func (n note) text() string {
	switch n.at("kind") {
	case "not-steady":
		return fmt.Sprintf("not steady: the last third took %+.1f %% against the first: repeat it, or try more --warmups",
			n.at("relative").(float64)*100)
	case "short-samples":
		return fmt.Sprintf("short samples: the shortest, %v, is under 1000 steps of the clock (%v); more --tasks make it longer",
			nanosOf(n.at("shortest")), nanosOf(n.at("clock_step")))
	case "involuntary-switches":
		return fmt.Sprintf("%.2f involuntary switches per %v: a woken thread preempts its waker, or others need the CPU",
			n.at("each"), n.at("per"))
	case "steal":
		return fmt.Sprintf("the hypervisor took %v (%.1f %% of the measurement) for others",
			nanosOf(n.at("time")), n.at("share").(float64)*100)
	case "throttled":
		return fmt.Sprintf("a CPU quota (cpu.max) stopped this process for %v", nanosOf(n.at("time")))
	case "huge-pages":
		return formatBytes(float64(n.at("bytes").(uint64))) + " are in transparent huge pages: memory per task means little"
	case "small-pipes":
		return fmt.Sprintf("%d of %d pipes hold only %s instead of %s: this user's are past fs.pipe-user-pages-soft; "+
			"raise it by sysctl -w, or use fewer --tasks", n.at("links"), n.at("of"),
			formatBytes(float64(n.at("bytes").(uint64))), formatBytes(float64(n.at("usual").(uint64))))
	case "stopped":
		return stoppedText(n)
	case "cpus-changed":
		return fmt.Sprintf("the CPUs %v changed in mid-run from %v to %v: the figures mix both", n.at("which"), n.at("before"), n.at("after"))
	case "unreadable":
		return strings.Join(n.at("files").([]string), ", ") + " cannot be read here: what they tell (memory, limits, " +
			"interference) is unknown, and limits were not checked against it"
	case "cache-line-moved":
		return fmt.Sprintf("a cache line took %v to another CPU and back before the run, and %v after it: the host moves the "+
			"CPUs about, and what crosses them takes now this, now that; repeat it",
			Nanos(n.at("before").(float64)), Nanos(n.at("after").(float64)))
	case "fewer-alive":
		return fmt.Sprintf("only %d of %d tasks were ever alive at once: memory per task is not that of one that is alive; "+
			"--gate holds them until all are", n.at("most"), n.at("of"))
	case "held-back":
		return fmt.Sprintf("no more than %d tasks were alive at once, since more do not fit (%s): the driver waited for the "+
			"oldest to end; try --raise-limits", n.at("at_once"), strings.Join(n.at("limits").([]string), "; "))
	default:
		return fmt.Sprint(n.at("kind"))
	}
}

func stoppedText(n note) string {
	text := "stopped and continued (SIGCONT) in mid-run"
	if times := n.at("times").(uint64); times != 1 {
		text = fmt.Sprintf("stopped and continued (SIGCONT) %d times in mid-run", times)
	}
	var samples []string
	for _, sample := range n.at("samples").([]uint64) {
		samples = append(samples, fmt.Sprint(sample))
	}
	more := ""
	if count := n.at("more").(uint64); count > 0 {
		more = fmt.Sprintf(" and %d more", count)
	}
	return fmt.Sprintf("%s, in or next to sample %s%s, counted from 0, %v in all: kept as measured",
		text, strings.Join(samples, ", "), more, nanosOf(n.at("time")))
}

func nanosOf(ns any) Nanos { return Nanos(ns.(uint64)) }

// unreadable are the files whose facts are missing though every kernel has them.
func (r *record) unreadable() []string {
	var missing []string
	for _, one := range []struct {
		file      string
		isMissing bool
	}{
		{"/proc/self/smaps_rollup", r.Memory.Before.Resident == nil},
		{"/proc/meminfo", r.Memory.Before.AllSlab == nil},
		{"/proc/self/limits", r.Machine.Rlimits.Nofile == nil},
		{"/proc/self/status", r.Machine.Affinity == nil},
		{"/proc/stat", r.Interference != nil && r.Interference.Steal == nil},
	} {
		if one.isMissing {
			missing = append(missing, one.file)
		}
	}
	return missing
}

// ownNotes is what the figures themselves give cause to note.
func (r *record) ownNotes() []note {
	notes := []note{}
	if files := r.unreadable(); files != nil {
		notes = append(notes, newNote("unreadable", "files", files))
	}
	s := r.Samples
	if s == nil {
		return notes
	}
	if relative, isSteady, isKnown := s.drift(); isKnown && !isSteady {
		notes = append(notes, newNote("not-steady", "relative", relative))
	}
	if step := r.Machine.ClockStep; step != nil && s.Min < satMul(*step, 1000) {
		notes = append(notes, newNote("short-samples", "shortest", s.Min, "clock_step", *step))
	}
	timed := float64(s.Mean) * float64(s.Count)
	if r.Usage != nil {
		repeats, per := r.repeats()
		if each := float64(r.Usage.Involuntary) / float64(repeats*s.Count); each > 0.01 {
			notes = append(notes, newNote("involuntary-switches", "each", each, "per", per))
		}
	}
	if i := r.Interference; i != nil && i.Steal != nil && float64(*i.Steal) > timed/100 {
		notes = append(notes, newNote("steal", "time", *i.Steal, "share", float64(*i.Steal)/timed))
	}
	if i := r.Interference; i != nil && i.Throttled != nil && *i.Throttled > 0 {
		notes = append(notes, newNote("throttled", "time", *i.Throttled))
	}
	if line := r.CacheLine; line != nil && line.Before != nil && line.After != nil {
		if before, after := float64(*line.Before), float64(*line.After); max(before, after) > 2*min(before, after) {
			notes = append(notes, newNote("cache-line-moved", "before", before, "after", after))
		}
	}
	if rest := r.Memory.AtRest; rest != nil && rest.Huge != nil && *rest.Huge > 0 {
		notes = append(notes, newNote("huge-pages", "bytes", *rest.Huge))
	}
	if r.PeakAlive != nil && *r.PeakAlive < r.tasks() {
		notes = append(notes, newNote("fewer-alive", "most", *r.PeakAlive, "of", r.tasks()))
	}
	return notes
}
