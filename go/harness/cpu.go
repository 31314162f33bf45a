package harness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const cpuFolder = "sys/devices/system/cpu"

// cpuinfoHead is enough of /proc/cpuinfo for the first processor of any architecture. The kernel writes
// the file as it is read, and hundreds of processors take it milliseconds.
const cpuinfoHead = 8 << 10

func (m *machine) readCPU(s source) {
	info := ""
	if text := s.head("proc/cpuinfo", cpuinfoHead); text != nil {
		info = *text
	}
	m.CPUModel = cpuModel(info)
	m.CPUsOnline = s.text(cpuFolder + "/online")
	m.Topology = topologyOf(s, m.CPUsOnline)
	m.SMTActive = s.flag(cpuFolder + "/smt/active")
	if nodes := s.text("sys/devices/system/node/online"); nodes != nil {
		if list := cpuList(*nodes); list != nil {
			m.NUMANodes = pointer(uint64(len(list)))
		}
	}
	m.Caches = cachesOf(s)
	m.BaseFrequency = s.number(cpuFolder + "/cpu0/cpufreq/base_frequency")
	m.MaxFrequency = s.number(cpuFolder + "/cpu0/cpufreq/cpuinfo_max_freq")
	m.FrequencyDriver = s.text(cpuFolder + "/cpu0/cpufreq/scaling_driver")
	m.Governor = governorOf(s)
	m.Boost = s.flag(cpuFolder + "/cpufreq/boost")
	if m.Boost == nil {
		if forbidden := s.flag(cpuFolder + "/intel_pstate/no_turbo"); forbidden != nil {
			m.Boost = pointer(!*forbidden)
		}
	}
	m.IdleDriver = s.text(cpuFolder + "/cpuidle/current_driver")
	folder := cpuFolder + "/vulnerabilities"
	weaknesses, _ := names(s.path(folder))
	for _, name := range weaknesses {
		if state := s.text(folder + "/" + name); state != nil {
			m.Mitigations[name] = *state
		}
	}
	vendor, product := s.text("sys/class/dmi/id/sys_vendor"), s.text("sys/class/dmi/id/product_name")
	m.Hardware = joined(vendor, product)
	m.Virtualisation = hypervisor(s, info, orEmpty(vendor), orEmpty(product))
}

func pointer[T any](value T) *T { return &value }

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func joined(one, other *string) *string {
	switch {
	case one == nil:
		return other
	case other == nil:
		return one
	default:
		return pointer(*one + " " + *other)
	}
}

// infoValues are what the head of /proc/cpuinfo has under a key.
func infoValues(info, key string) []string {
	var values []string
	for line := range strings.Lines(info) {
		name, value, found := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if found && value != "" && strings.EqualFold(strings.TrimSpace(name), key) {
			values = append(values, value)
		}
	}
	return values
}

func cpuModel(info string) *string {
	// x86, s390 and LoongArch; MIPS; POWER; RISC-V.
	for _, key := range []string{"model name", "cpu model", "cpu", "uarch"} {
		if values := infoValues(info, key); len(values) > 0 {
			return &values[0]
		}
	}
	implementers, parts := infoValues(info, "CPU implementer"), infoValues(info, "CPU part")
	var models []string
	for i := range min(len(implementers), len(parts)) {
		key := implementers[i] + "/" + parts[i]
		model := fmt.Sprintf("implementer %s part %s", implementers[i], parts[i])
		if name, known := armCores[key]; known {
			model = fmt.Sprintf("%s (%s)", name, key)
		}
		models = append(models, model)
	}
	slices.Sort(models)
	return known(strings.Join(slices.Compact(models), " + "))
}

// armCores are the cores found in servers and small boards, by their main ID register.
var armCores = map[string]string{
	"0x41/0xd03": "Arm Cortex-A53",
	"0x41/0xd08": "Arm Cortex-A72",
	"0x41/0xd0b": "Arm Cortex-A76",
	"0x41/0xd0c": "Arm Neoverse-N1",
	"0x41/0xd40": "Arm Neoverse-V1",
	"0x41/0xd49": "Arm Neoverse-N2",
	"0x41/0xd4f": "Arm Neoverse-V2",
	"0x41/0xd84": "Arm Neoverse-V3",
	"0x41/0xd8e": "Arm Neoverse-N3",
	"0xc0/0xac3": "Ampere-1",
	"0xc0/0xac4": "Ampere-1A",
}

func topologyOf(s source, online *string) topology {
	if online == nil {
		return topology{}
	}
	cpus := cpuList(*online)
	if len(cpus) == 0 {
		return topology{}
	}
	cores, threads := siblings(s, cpus, "thread_siblings_list")
	found := topology{Cores: cores, Threads: threads}
	// Firmware that says nothing about packages leaves -1 here, and siblings that mean nothing.
	id := s.text(fmt.Sprintf("%s/cpu%d/topology/physical_package_id", cpuFolder, cpus[0]))
	if parseNumber(id) != nil {
		found.Sockets, _ = siblings(s, cpus, "core_siblings_list")
	}
	return found
}

// siblings is how many sets of siblings the CPUs fall into, and the size of the largest.
func siblings(s source, cpus []int, list string) (*uint64, *uint64) {
	seen := map[int]bool{}
	var count, largest uint64
	for _, cpu := range cpus {
		if seen[cpu] {
			continue
		}
		text := s.text(fmt.Sprintf("%s/cpu%d/topology/%s", cpuFolder, cpu, list))
		if text == nil {
			return nil, nil
		}
		set := cpuList(*text)
		if set == nil {
			return nil, nil
		}
		count++
		largest = max(largest, uint64(len(set)))
		for _, sibling := range set {
			seen[sibling] = true
		}
	}
	return &count, &largest
}

func cachesOf(s source) []cache {
	caches := []cache{}
	// No CPU describes more caches than this.
	for index := range 16 {
		folder := fmt.Sprintf("%s/cpu0/cache/index%d", cpuFolder, index)
		if !s.exists(folder) {
			break
		}
		found := cache{
			Level:  s.number(folder + "/level"),
			Type:   s.text(folder + "/type"),
			Shared: s.text(folder + "/shared_cpu_list"),
		}
		if size := s.text(folder + "/size"); size != nil {
			found.Size = cacheSize(*size)
		}
		if found != (cache{}) {
			caches = append(caches, found)
		}
	}
	return caches
}

// cacheSize is the bytes of a size such as 48K or 1M.
func cacheSize(text string) *uint64 {
	digits := strings.TrimRightFunc(text, isLetter)
	shift, known := map[string]uint{"": 0, "K": 10, "M": 20, "G": 30}[text[len(digits):]]
	count, err := strconv.ParseUint(digits, 10, 64)
	if !known || err != nil || count<<shift>>shift != count {
		return nil
	}
	return pointer(count << shift)
}

func governorOf(s source) *string {
	policies, _ := names(s.path(cpuFolder + "/cpufreq"))
	var governors []string
	for _, policy := range policies {
		if strings.HasPrefix(policy, "policy") {
			if governor := s.text(cpuFolder + "/cpufreq/" + policy + "/scaling_governor"); governor != nil {
				governors = append(governors, *governor)
			}
		}
	}
	slices.Sort(governors)
	return known(strings.Join(slices.Compact(governors), ","))
}

// hypervisor is what is below, by sources in the order of how much each can be trusted.
func hypervisor(s source, info, vendor, product string) *string {
	// Xen shows itself here to its privileged domain too, whose CPU may hide it.
	if kind := s.text("sys/hypervisor/type"); kind != nil && *kind == "xen" {
		return pointer("Xen")
	}
	flags := infoValues(info, "flags")
	if len(flags) == 0 {
		return known(firmwareHypervisor(vendor, product))
	}
	if !slices.Contains(strings.Fields(flags[0]), "hypervisor") {
		return pointer("none")
	}
	// The kernel offers these clocks only after it has talked to the hypervisor they belong to.
	clocks := orEmpty(s.text("sys/devices/system/clocksource/clocksource0/available_clocksource"))
	for _, clock := range strings.Fields(clocks) {
		switch {
		case clock == "kvm-clock":
			return pointer("KVM")
		case clock == "xen":
			return pointer("Xen")
		case strings.HasPrefix(clock, "hyperv_clocksource"):
			return pointer("Hyper-V")
		}
	}
	if name := firmwareHypervisor(vendor, product); name != "" && name != "none" {
		return &name
	}
	return pointer("unnamed")
}

// firmwareHypervisor is the hypervisor where the firmware is its own.
func firmwareHypervisor(vendor, product string) string {
	switch {
	case vendor == "Amazon EC2" && strings.Contains(product, ".metal"):
		return "none"
	case vendor == "Amazon EC2" && product != "":
		return "Amazon EC2"
	case vendor == "Microsoft Corporation" && product == "Virtual Machine":
		return "Hyper-V"
	case vendor == "Xen":
		return "Xen"
	case vendor == "BHYVE":
		return "bhyve"
	case vendor == "innotek GmbH" || product == "VirtualBox":
		return "VirtualBox"
	case vendor == "Apple Inc." && strings.Contains(product, "Virtualization"):
		return "Apple"
	case strings.HasPrefix(vendor, "VMware"):
		return "VMware"
	case strings.HasPrefix(vendor, "Parallels"):
		return "Parallels"
	case strings.Contains(product, "KVM"):
		return "KVM"
	case vendor == "QEMU":
		return "QEMU"
	default:
		return ""
	}
}
