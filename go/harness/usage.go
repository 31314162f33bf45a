package harness

import (
	"strconv"
	"strings"
	"syscall"
)

// used is what the process used, all its threads included, as getrusage(2) counts it. Times are in ns.
type used struct {
	User        uint64 `json:"user"`
	System      uint64 `json:"system"`
	Voluntary   uint64 `json:"voluntary_switches"`
	Involuntary uint64 `json:"involuntary_switches"`
	Minor       uint64 `json:"minor_faults"`
	Major       uint64 `json:"major_faults"`
}

func usedSoFar() (used, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return used{}, err
	}
	return used{
		User:        uint64(u.Utime.Nano()),
		System:      uint64(u.Stime.Nano()),
		Voluntary:   uint64(u.Nvcsw),
		Involuntary: uint64(u.Nivcsw),
		Minor:       uint64(u.Minflt),
		Major:       uint64(u.Majflt),
	}, nil
}

func (u used) since(before used) used {
	return used{
		User:        satSub(u.User, before.User),
		System:      satSub(u.System, before.System),
		Voluntary:   satSub(u.Voluntary, before.Voluntary),
		Involuntary: satSub(u.Involuntary, before.Involuntary),
		Minor:       satSub(u.Minor, before.Minor),
		Major:       satSub(u.Major, before.Major),
	}
}

// interference is what went on in the system meanwhile, where the kernel tells. Times are in ns.
type interference struct {
	Steal     *uint64 `json:"steal"`
	Throttled *uint64 `json:"throttled"`
	Wakeups   *uint64 `json:"wakeup_interrupts"`
}

func interferenceSoFar() interference {
	s := source{"/"}
	return interference{Steal: stolen(s), Throttled: throttled(s), Wakeups: wakeups(s)}
}

func (i interference) since(before interference) interference {
	difference := func(now, then *uint64) *uint64 {
		if now == nil || then == nil {
			return nil
		}
		return pointer(satSub(*now, *then))
	}
	found := interference{
		Steal:     difference(i.Steal, before.Steal),
		Throttled: difference(i.Throttled, before.Throttled),
	}
	// A total that fell was counted over other CPUs, or began again.
	if i.Wakeups != nil && before.Wakeups != nil && *i.Wakeups >= *before.Wakeups {
		found.Wakeups = difference(i.Wakeups, before.Wakeups)
	}
	return found
}

// stolen is what the hypervisor gave to others: the eighth number of the cpu line of /proc/stat, in ticks, of
// which there are 100 a second on every architecture that Linux runs on today.
func stolen(s source) *uint64 {
	text := s.text("proc/stat")
	if text == nil {
		return nil
	}
	first, _, _ := strings.Cut(*text, "\n")
	numbers := strings.Fields(first)
	if len(numbers) < 9 || numbers[0] != "cpu" {
		return nil
	}
	ticks := parseNumber(&numbers[8])
	if ticks == nil {
		return nil
	}
	return pointer(satMul(*ticks, 10_000_000))
}

// wakeups is how often CPUs called each other, wake-ups among it: the lines are told by their description,
// since their names differ between architectures.
func wakeups(s source) *uint64 {
	text := s.text("proc/interrupts")
	if text == nil {
		return nil
	}
	var sum *uint64
	for line := range strings.Lines(*text) {
		line = strings.TrimSpace(line)
		if !strings.HasSuffix(line, "Rescheduling interrupts") && !strings.HasSuffix(line, "Function call interrupts") {
			continue
		}
		_, counts, _ := strings.Cut(line, ":")
		for _, word := range strings.Fields(counts) {
			count, err := strconv.ParseUint(word, 10, 64)
			if err != nil {
				break
			}
			if sum == nil {
				sum = new(uint64)
			}
			*sum = satAdd(*sum, count)
		}
	}
	return sum
}

// held is the memory of this process, and the kernel's of the whole system, in bytes.
type held struct {
	Resident     *uint64 `json:"resident"`
	Proportional *uint64 `json:"proportional"`
	Anonymous    *uint64 `json:"anonymous"`
	Huge         *uint64 `json:"huge"`
	Virtual      *uint64 `json:"virtual_size"`
	PageTables   *uint64 `json:"page_tables"`
	AllStacks    *uint64 `json:"system_kernel_stacks"`
	AllTables    *uint64 `json:"system_page_tables"`
	AllSlab      *uint64 `json:"system_slab"`
}

func heldNow() held {
	s := source{"/"}
	rollup := orEmpty(s.text("proc/self/smaps_rollup"))
	status := orEmpty(s.text("proc/self/status"))
	info := orEmpty(s.text("proc/meminfo"))
	return held{
		Resident:     kibibytes(rollup, "Rss:"),
		Proportional: kibibytes(rollup, "Pss:"),
		Anonymous:    kibibytes(rollup, "Anonymous:"),
		Huge:         kibibytes(rollup, "AnonHugePages:"),
		Virtual:      kibibytes(status, "VmSize:"),
		PageTables:   kibibytes(status, "VmPTE:"),
		AllStacks:    kibibytes(info, "KernelStack:"),
		AllTables:    kibibytes(info, "PageTables:"),
		AllSlab:      kibibytes(info, "SUnreclaim:"),
	}
}

// kernel is the kernel's share of it.
func (h *held) kernel() *uint64 {
	if h.AllStacks == nil || h.AllTables == nil || h.AllSlab == nil {
		return nil
	}
	return pointer(*h.AllStacks + *h.AllTables + *h.AllSlab)
}

// peakResident is the largest resident set that this process has had (VmHWM in proc_pid_status(5)).
func peakResident() *uint64 {
	return kibibytes(orEmpty(source{"/"}.text("proc/self/status")), "VmHWM:")
}
