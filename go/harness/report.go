package harness

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// report is a record as one line of JSON, or as text for people.
func (r *record) report(format string) (string, error) {
	if format == "json" {
		var line strings.Builder
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		err := encoder.Encode(r)
		return line.String(), err
	}
	if r.Samples == nil {
		return "", nil
	}
	text := &lines{}
	r.writeText(text, r.Samples)
	return text.String(), nil
}

// lines are those of a text.
type lines struct{ strings.Builder }

func (l *lines) row(name, format string, args ...any) {
	fmt.Fprintf(l, "  %-16s%s\n", strings.ReplaceAll(name, "_", " "), fmt.Sprintf(format, args...))
}

// writeText has the original experiment's two lines first, then what explains them.
func (r *record) writeText(text *lines, s *summary) {
	if r.Partial {
		fmt.Fprintf(text, "partial: %d of %d iterations\n", s.Count, r.Params["iters"])
	}
	fmt.Fprintf(text, "%d tasks, %d iterations:\n", r.tasks(), s.Count)
	fmt.Fprintf(text, "mean %s per iteration, stddev %s (%s per task per iter)\n",
		Nanos(s.Mean).decimals(3), Nanos(s.Stddev).decimals(3), Nanos(*r.PerTask).decimals(3))
	if r.PerHop != nil {
		text.row("per hop", "%v (%d hops per iteration)", Nanos(*r.PerHop), *r.Hops)
		r.writeRate(text, s)
	}
	text.row("iteration", "%s", s.percentiles())
	for _, name := range sortedKeys(r.Distributions) {
		one := r.Distributions[name]
		text.row(name, "mean %v, %s", Nanos(one.Mean), one.percentiles())
	}
	r.writeUsage(text, s)
	r.writeAlive(text, s)
	if line := r.CacheLine; line != nil {
		text.row("cache line", "from CPU %d to CPU %d and back in %s before, %s after",
			line.CPUs[0], line.CPUs[1], orUnknown(line.Before), orUnknown(line.After))
	}
	if rest := r.Memory.AtRest; rest != nil {
		if more := gain(r.Memory.Before.Resident, rest.Resident); more != nil {
			text.row("memory", "resident %s at rest, %s of it since the start",
				formatBytes(float64(*rest.Resident)), formatBytes(float64(*more)))
		}
	}
	for _, note := range r.Notes {
		text.row("note", "%s", note.text())
	}
}

func orUnknown(ns *decimal) string {
	if ns == nil {
		return "unknown"
	}
	return Nanos(*ns).String()
}

func sortedKeys[V any](values map[string]V) []string {
	var keys []string
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (s *summary) percentiles() string {
	return fmt.Sprintf("min %v, p50 %v, p90 %v, p99 %v, max %v",
		Nanos(s.Min), Nanos(s.P50), Nanos(s.P90), Nanos(s.P99), Nanos(s.Max))
}

// writeRate has round trips or messages per second, and bytes, where an iteration is such a thing.
func (r *record) writeRate(text *lines, s *summary) {
	tokens, _ := r.Params["tokens"].(uint64)
	name := "messages"
	if tokens == 1 {
		name = "round trips"
	}
	if tokens > 1 || r.tasks() == 1 {
		each := float64(s.Mean) / float64(tokens)
		text.row(name, "%s per second (%v each)", withCommas(1e9/each), Nanos(each))
	}
	if bytes, _ := r.Params["bytes"].(uint64); bytes > 1 && r.Payload != nil {
		text.row("throughput", "%s", mebibytesPerSecond(float64(*r.Payload)/float64(s.Mean)*1e9))
	}
}

// mebibytesPerSecond is a rate in MiB/s with four significant figures.
func mebibytesPerSecond(bytes float64) string {
	value := bytes / (1 << 20)
	return fmt.Sprintf("%.*f MiB/s", significant(value), value)
}

// withCommas is a rate with four significant figures, and commas between the thousands.
func withCommas(value float64) string {
	if value < 999.95 {
		return fmt.Sprintf("%.*f", significant(value), value)
	}
	scale := math.Pow(10, math.Floor(math.Log10(value))-3)
	digits := strconv.FormatFloat(math.Round(value/scale)*scale, 'f', 0, 64)
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, parts...), ",")
}

func (r *record) writeUsage(text *lines, s *summary) {
	if r.Usage == nil {
		return
	}
	text.row("cpu time", "user %v, system %v", Nanos(r.Usage.User), Nanos(r.Usage.System))
	repeats, what := r.repeats()
	all := float64(repeats * s.Count)
	text.row("switches", "%.3f voluntary, %.3f involuntary per %s",
		float64(r.Usage.Voluntary)/all, float64(r.Usage.Involuntary)/all, what)
	if r.Interference != nil && r.Interference.Wakeups != nil {
		// Fewer for each hop are those of others.
		if each := float64(*r.Interference.Wakeups) / all; each >= 0.01 {
			text.row("interrupts", "%.3f between CPUs per %s, of the whole system", each, what)
		}
	}
}

// writeAlive has what sleeping tasks are asked for.
func (r *record) writeAlive(text *lines, s *summary) {
	if r.PeakAlive == nil {
		return
	}
	tasks := float64(r.tasks())
	text.row("alive at once", "%d of %d", *r.PeakAlive, r.tasks())
	if r.Usage != nil {
		share := float64(r.Usage.User+r.Usage.System) / (float64(s.Mean) * float64(s.Count))
		text.row("cpu share", "%.3f CPUs", share)
	}
	if more := gain(r.Memory.Before.Resident, r.PeakResident); more != nil {
		text.row("peak memory", "%s resident, %s per task more than the empty process",
			formatBytes(float64(*r.PeakResident)), formatBytes(float64(*more)/tasks))
	}
	if rest, before := r.Memory.AtRest, &r.Memory.Before; rest != nil {
		now, then := rest.kernel(), before.kernel()
		if now != nil && then != nil && rest.Resident != nil && before.Resident != nil {
			kernel := float64(*now) - float64(*then)
			all := float64(*rest.Resident) - float64(*before.Resident) + kernel
			text.row("system memory", "%s per task at rest, of it %s of the kernel",
				formatBytes(all/tasks), formatBytes(kernel/tasks))
		}
	}
	if r.TimerSlack != nil {
		text.row("timer slack", "%v", Nanos(*r.TimerSlack))
	}
}
