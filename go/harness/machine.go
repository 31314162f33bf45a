package harness

import (
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// machine is what a measurement ran on, fact by fact as the schema of the record has it. A fact is read
// from the kernel or null.
type machine struct {
	KernelRelease     *string           `json:"kernel_release"`
	KernelVersion     *string           `json:"kernel_version"`
	Preemption        *string           `json:"preemption"`
	PreemptionMode    *string           `json:"preemption_mode"`
	PreemptionBoot    *string           `json:"preemption_boot"`
	Architecture      *string           `json:"architecture"`
	Distribution      *string           `json:"distribution"`
	CPUModel          *string           `json:"cpu_model"`
	CPUsOnline        *string           `json:"cpus_online"`
	Affinity          *string           `json:"affinity"`
	Topology          topology          `json:"topology"`
	SMTActive         *bool             `json:"smt_active"`
	NUMANodes         *uint64           `json:"numa_nodes"`
	Caches            []cache           `json:"caches"`
	BaseFrequency     *uint64           `json:"base_frequency_khz"`
	MaxFrequency      *uint64           `json:"max_frequency_khz"`
	FrequencyDriver   *string           `json:"frequency_driver"`
	Governor          *string           `json:"governor"`
	Boost             *bool             `json:"boost"`
	IdleDriver        *string           `json:"idle_driver"`
	Virtualisation    *string           `json:"virtualisation"`
	Hardware          *string           `json:"hardware"`
	Mitigations       map[string]string `json:"mitigations"`
	ClockSource       *string           `json:"clock_source"`
	ClockStep         *uint64           `json:"clock_step_ns"`
	ClockRead         *decimal          `json:"clock_read_ns"`
	THPEnabled        *string           `json:"thp_enabled"`
	THPDefrag         *string           `json:"thp_defrag"`
	SchedAutogroup    *bool             `json:"sched_autogroup"`
	TimerSlack        *uint64           `json:"timer_slack_ns"`
	Seccomp           *bool             `json:"seccomp"`
	CPUQuota          any               `json:"cpu_quota"`
	Rlimits           rlimits           `json:"rlimits"`
	MemoryTotal       *uint64           `json:"memory_total_bytes"`
	SwapTotal         *uint64           `json:"swap_total_bytes"`
	LoadAverage       []decimal         `json:"load_average"`
	Pressure          pressure          `json:"pressure"`
	PerfEventParanoid *int64            `json:"perf_event_paranoid"`
	IoUringDisabled   *uint64           `json:"io_uring_disabled"`
}

type topology struct {
	Sockets *uint64 `json:"sockets"`
	Cores   *uint64 `json:"cores"`
	Threads *uint64 `json:"threads_per_core"`
}

type cache struct {
	Level  *uint64 `json:"level"`
	Type   *string `json:"type"`
	Size   *uint64 `json:"size_bytes"`
	Shared *string `json:"shared_cpu_list"`
}

type rlimits struct {
	Nofile  *rlimitFact `json:"nofile"`
	Nproc   *rlimitFact `json:"nproc"`
	Stack   *rlimitFact `json:"stack"`
	Address *rlimitFact `json:"address_space"`
}

// rlimitFact has numbers, or the word "unlimited".
type rlimitFact struct {
	Soft any `json:"soft"`
	Hard any `json:"hard"`
}

type pressure struct {
	CPU    *decimal `json:"cpu"`
	Memory *decimal `json:"memory"`
	IO     *decimal `json:"io"`
}

// readMachine reads the facts of the running system, and measures its clock.
func readMachine() machine {
	m := machineUnder("/")
	if m.Architecture == nil {
		names := map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "x86"}
		name, known := names[runtime.GOARCH]
		if !known {
			name = runtime.GOARCH
		}
		m.Architecture = &name
	}
	m.ClockStep, m.ClockRead = measureClock()
	return m
}

// machineUnder reads the facts found in proc, sys and etc of a folder, and nothing else.
func machineUnder(root string) machine {
	s := source{root}
	m := machine{Caches: []cache{}, Mitigations: map[string]string{}}
	m.readKernel(s)
	m.readCPU(s)
	m.readMemory(s)
	m.readProcess(s)
	return m
}

func (m *machine) readKernel(s source) {
	m.KernelRelease = s.text("proc/sys/kernel/osrelease")
	m.KernelVersion = s.text("proc/sys/kernel/version")
	if m.KernelVersion != nil {
		model := "none or voluntary"
		words := strings.Fields(*m.KernelVersion)
		if i := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "PREEMPT") }); i >= 0 {
			model = words[i]
		}
		m.Preemption = &model
	}
	m.PreemptionMode = s.chosen("sys/kernel/debug/sched/preempt", "(", ")")
	if line := s.text("proc/cmdline"); line != nil {
		mode := "default"
		for _, word := range strings.Fields(*line) {
			if asked, found := strings.CutPrefix(word, "preempt="); found {
				mode = asked
			}
		}
		m.PreemptionBoot = &mode
	}
	m.Architecture = s.text("proc/sys/kernel/arch")
	for _, path := range []string{"etc/os-release", "usr/lib/os-release"} {
		if text := s.text(path); text != nil && m.Distribution == nil {
			if name := lineAfter(*text, "PRETTY_NAME="); name != nil {
				m.Distribution = known(strings.TrimSpace(strings.Trim(*name, `"'`)))
			}
		}
	}
	m.ClockSource = s.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
	m.SchedAutogroup = s.flag("proc/sys/kernel/sched_autogroup_enabled")
	if text := s.text("proc/sys/kernel/perf_event_paranoid"); text != nil {
		if number, err := strconv.ParseInt(*text, 10, 32); err == nil {
			m.PerfEventParanoid = &number
		}
	}
	m.IoUringDisabled = s.number("proc/sys/kernel/io_uring_disabled")
	if text := s.text("proc/loadavg"); text != nil {
		m.LoadAverage = threeLoads(*text)
	}
	m.Pressure = pressure{
		CPU:    pressureOf(s, "proc/pressure/cpu"),
		Memory: pressureOf(s, "proc/pressure/memory"),
		IO:     pressureOf(s, "proc/pressure/io"),
	}
}

func (m *machine) readMemory(s source) {
	m.THPEnabled = s.chosen("sys/kernel/mm/transparent_hugepage/enabled", "[", "]")
	m.THPDefrag = s.chosen("sys/kernel/mm/transparent_hugepage/defrag", "[", "]")
	if info := s.text("proc/meminfo"); info != nil {
		m.MemoryTotal = kibibytes(*info, "MemTotal:")
		m.SwapTotal = kibibytes(*info, "SwapTotal:")
	}
}

func (m *machine) readProcess(s source) {
	m.TimerSlack = s.number("proc/self/timerslack_ns")
	if status := s.text("proc/self/status"); status != nil {
		m.Affinity = wordAfter(*status, "Cpus_allowed_list:")
		if mode := numberAfter(*status, "Seccomp:"); mode != nil {
			on := *mode > 0
			m.Seccomp = &on
		}
	}
	m.CPUQuota = cpuQuota(s)
	if text := s.text("proc/self/limits"); text != nil {
		m.Rlimits = rlimits{
			Nofile:  rlimitFactOf(*text, "Max open files"),
			Nproc:   rlimitFactOf(*text, "Max processes"),
			Stack:   rlimitFactOf(*text, "Max stack size"),
			Address: rlimitFactOf(*text, "Max address space"),
		}
	}
}

func rlimitFactOf(text, name string) *rlimitFact {
	line := lineAfter(text, name)
	if line == nil {
		return nil
	}
	words := strings.Fields(*line)
	if len(words) < 2 {
		return nil
	}
	bound := func(word string) any {
		if word == "unlimited" {
			return word
		}
		number, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return nil
		}
		return number
	}
	soft, hard := bound(words[0]), bound(words[1])
	if soft == nil || hard == nil {
		return nil
	}
	return &rlimitFact{Soft: soft, Hard: hard}
}

// known is a text that is not empty.
func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// kibibytes is a line in kB, by which /proc means KiB, in bytes.
func kibibytes(text, key string) *uint64 {
	number := numberAfter(text, key)
	if number == nil {
		return nil
	}
	bytes := satMul(*number, 1024)
	return &bytes
}

func threeLoads(text string) []decimal {
	words := strings.Fields(text)
	if len(words) < 3 {
		return nil
	}
	var loads []decimal
	for _, word := range words[:3] {
		load := finite(word)
		if load == nil {
			return nil
		}
		loads = append(loads, *load)
	}
	return loads
}

func pressureOf(s source, path string) *decimal {
	text := s.text(path)
	if text == nil {
		return nil
	}
	some := lineAfter(*text, "some ")
	if some == nil {
		return nil
	}
	for _, word := range strings.Fields(*some) {
		if share, found := strings.CutPrefix(word, "avg10="); found {
			return finite(share)
		}
	}
	return nil
}

// finite is a number that JSON can hold.
func finite(word string) *decimal {
	number, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsInf(number, 0) || math.IsNaN(number) {
		return nil
	}
	return pointer(decimal(number))
}

// measureClock finds how fine the clock is, and what it costs to look at it: the median of whole batches,
// since one difference cannot tell less than a step.
func measureClock() (*uint64, *decimal) {
	const batches, readings = 21, 100
	var costs []time.Duration
	step := time.Duration(math.MaxInt64)
	for range batches {
		first := time.Now()
		last := first
		for range readings {
			now := time.Now()
			if difference := now.Sub(last); difference > 0 {
				step = min(step, difference)
			}
			last = now
		}
		costs = append(costs, last.Sub(first))
	}
	slices.Sort(costs)
	median := costs[batches/2]
	if step == math.MaxInt64 || median <= 0 {
		// A clock that stood still all the while has told nothing about itself.
		return nil, nil
	}
	ns, read := uint64(step), decimal(median)/readings
	return &ns, &read
}
