package harness

import (
	"fmt"
	"math"
	"strings"
)

// rlimitOf is what it takes to write a resource limit's command.
type rlimitOf struct {
	// option is the name of prlimit's option, letter that of the shell's ulimit, unit how much one of its
	// units is.
	option, letter string
	unit           uint64
	hard           uint64
	// preferBelow is a value that must not be passed without need, most the largest that the kernel takes.
	preferBelow, most uint64
}

// raise is how a limit is raised: by exactly one of these.
type raise struct {
	// sysctl is a kernel parameter that takes at most `most`, in units of which each of what is limited takes
	// `each`.
	sysctl     string
	most, each uint64
	rlimit     *rlimitOf
	// lift is what lifts the limit where it is written to the file that it was read from.
	lift string
	// key and value switch a kernel parameter so that the limit is gone.
	key, value string
	// never says why no command does.
	never string
}

// limit is one limit that binds this process.
type limit struct {
	name, source string
	resource     resource
	value, inUse uint64
	raise        raise
	// note says why the command may be refused here, if that is known.
	note   string
	asRoot bool
	// isHidden is whether what is in use is not shown by the kernel, and counted as nothing.
	isHidden bool
}

func (l *limit) room() uint64 { return satSub(l.value, l.inUse) }

// largest is the largest number of tasks of this demand that it allows by itself.
func (l *limit) largest(demand Demand) uint64 {
	each, fixed := demand.PerTask.of(l.resource), demand.Fixed.of(l.resource)
	// A map of the largest size may be there as often as one likes.
	if l.resource == largestMap {
		if max(fixed, each) <= l.room() {
			return math.MaxUint64
		}
		return 0
	}
	if fixed > l.room() {
		return 0
	}
	if each == 0 {
		return math.MaxUint64
	}
	return (l.room() - fixed) / each
}

// shortage is a limit that is too low for what was asked, as the runner reads it.
type shortage struct {
	Name      string   `json:"name"`
	Source    string   `json:"source"`
	Resource  resource `json:"resource"`
	Needed    uint64   `json:"needed"`
	InUse     uint64   `json:"in_use"`
	Allowed   uint64   `json:"allowed"`
	Remedy    string   `json:"remedy"`
	NeedsRoot bool     `json:"needs_root"`
	Lasts     *string  `json:"lasts"`
	ToLast    *string  `json:"to_last"`
	Note      *string  `json:"note"`
}

// shortage is what is missing when more is needed beyond what is in use; nil when it fits.
func (l *limit) shortage(more uint64) *shortage {
	needed := satAdd(l.inUse, more)
	if more == 0 || needed <= l.value {
		return nil
	}
	return l.shortageOf(needed)
}

func (l *limit) shortageOf(needed uint64) *shortage {
	short := l.remedy(needed)
	short.Name, short.Source, short.Resource = l.name, l.source, l.resource
	short.Needed, short.InUse, short.Allowed = needed, l.inUse, l.value
	if l.note != "" && short.Lasts != nil && short.NeedsRoot {
		short.Note = pointer(l.note)
	}
	return &short
}

func (s *shortage) isCommand() bool { return !strings.HasPrefix(s.Remedy, "#") }

func (s *shortage) amounts() string {
	needed, allowed, unit := s.Needed, s.Allowed, ""
	if s.Resource.isBytes() {
		// Rounded apart, so that what is needed never reads as what is allowed.
		needed, allowed, unit = divCeil(needed, 1<<20), allowed>>20, " MiB"
	}
	return fmt.Sprintf("needs %d%s, allows %d%s", needed, unit, allowed, unit)
}

func (s *shortage) String() string {
	text := fmt.Sprintf("  %s: %s (%s)\n      %s", s.Name, s.amounts(), s.Source, strings.TrimLeft(s.Remedy, "# "))
	if s.Note != nil {
		text += "\n      (" + *s.Note + ")"
	}
	return text
}

// exceeded is that more tasks were asked for than the limits allow.
type exceeded struct {
	tasks, largest uint64
	shortages      []*shortage
	flags          []string
}

// wayOn is what is left to those whose links are more than may be open.
const wayOn = "goroutine-mem-brigade, async-mem-brigade and thread-mem-brigade need no descriptors: their links are in memory"

// isOfLinks is whether links in memory would not meet these limits. (Where not even one task fits it is what every
// program needs that is missing.)
func (e *exceeded) isOfLinks() bool {
	if e.largest == 0 {
		return false
	}
	for _, short := range e.shortages {
		if short.Resource.isOfLinks() {
			return true
		}
	}
	return false
}

func (e *exceeded) Error() string {
	var text strings.Builder
	tasks, most := fmt.Sprintf("%d tasks are", e.tasks), fmt.Sprintf("at most %d", e.largest)
	if e.tasks == 1 {
		tasks = "1 task is"
	}
	if e.largest == 0 {
		most = "not even one fits"
	}
	fmt.Fprintf(&text, "%s more than this system allows (%s):\n", tasks, most)
	raisable := true
	for _, short := range e.shortages {
		fmt.Fprintln(&text, short)
		raisable = raisable && short.isCommand()
	}
	lower := ""
	if e.largest > 0 {
		lower = fmt.Sprintf("lower --tasks to %d", e.largest)
	} else if len(e.flags) > 0 {
		lower = "lower " + strings.Join(e.flags, " and ")
	}
	switch {
	case lower == "" && raisable:
		text.WriteString("raise the limits above")
	case lower == "":
		text.WriteString("this system is too small for it")
	case raisable:
		text.WriteString(lower + ", or raise the limits above")
	default:
		text.WriteString(lower)
	}
	if e.isOfLinks() {
		text.WriteString("\n" + wayOn)
	}
	return text.String()
}

// commands is what raises the limits as text for a shell, to be sourced or pasted ($$).
func (e *exceeded) commands() string {
	var text strings.Builder
	for _, short := range e.shortages {
		fmt.Fprintf(&text, "# %s: %s (%s)\n", short.Name, short.amounts(), short.Source)
		if short.Note != nil {
			fmt.Fprintf(&text, "# %s\n", *short.Note)
		}
		fmt.Fprintln(&text, short.Remedy)
	}
	for _, flag := range e.flags {
		fmt.Fprintf(&text, "# or lower %s\n", flag)
	}
	if e.isOfLinks() {
		fmt.Fprintf(&text, "# %s\n", wayOn)
	}
	return text.String()
}

// limits are all that bind now: what others use moves, so a list holds for the moment.
type limits []*limit

// check is whether so many tasks fit within every limit; the error names each that is too low.
func (all limits) check(demand Demand, tasks uint64) *exceeded {
	need := demand.of(tasks)
	found := &exceeded{tasks: tasks, largest: all.largest(demand)}
	for _, one := range all {
		if short := one.shortage(need.of(one.resource)); short != nil {
			found.shortages = append(found.shortages, short)
			flag := demand.flagBehind(one.resource)
			isNew := len(found.flags) == 0 || found.flags[len(found.flags)-1] != flag
			if found.largest == 0 && flag != "" && isNew {
				found.flags = append(found.flags, flag)
			}
		}
	}
	if len(found.shortages) == 0 {
		return nil
	}
	return found
}

// largest is the largest number of tasks that every limit allows.
func (all limits) largest(demand Demand) uint64 {
	least := uint64(math.MaxUint64)
	for _, one := range all {
		least = min(least, one.largest(demand))
	}
	return least
}

// binding names the limits that allow no more than so many tasks.
func (all limits) binding(demand Demand, tasks uint64) []string {
	names := []string{}
	for _, one := range all {
		if one.largest(demand) <= tasks {
			names = append(names, one.name)
		}
	}
	return names
}
