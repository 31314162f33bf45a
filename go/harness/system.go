package harness

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Numbers of capabilities, as in capabilities(7).
const (
	capSysAdmin    = 21
	capSysNice     = 23
	capSysResource = 24
)

const (
	noSysResource = "refused here: CAP_SYS_RESOURCE is withheld from this system; " +
		"raise it where this container, service or machine is started"
	sysctlReadOnly = "refused here: /proc/sys is mounted read-only; run it on the host of this container"
	groupReadOnly  = "refused here: the cgroup is mounted read-only; raise it where this container or service is started"
)

// The largest values that the kernel takes: PID_MAX_LIMIT, FUTEX_TID_MASK (kernel/fork.c), and
// sysctl_nr_open_max (fs/file_table.c).
const (
	mostPids    = 4_194_304
	mostThreads = 0x3fff_ffff
	mostOpen    = 2_147_483_584
)

// system is a view of /proc and /sys, and the facts about this process that decide which limits bind it.
type system struct {
	source
	mounts              []mount
	realUID             *uint64
	isRoot              bool
	effective, bounding uint64
	areRightsKnown      bool
	isFirstNamespace    bool
	rlimitText, status  string
	found               limits
}

func openSystem(root string) *system {
	s := &system{source: source{root}, bounding: math.MaxUint64, isFirstNamespace: true}
	s.mounts = parseMounts(orEmpty(s.text("proc/self/mountinfo")))
	// Without the file the kernel has no user namespaces.
	if users := s.text("proc/self/uid_map"); users != nil {
		s.isFirstNamespace = slices.Equal(strings.Fields(*users), []string{"0", "0", "4294967295"})
	}
	s.status = orEmpty(s.text("proc/self/status"))
	s.rlimitText = orEmpty(s.text("proc/self/limits"))
	// Real, effective, saved, file system.
	if uids := strings.Fields(orEmpty(lineAfter(s.status, "Uid:"))); len(uids) > 1 {
		s.realUID = parseNumber(&uids[0])
		s.isRoot = uids[1] == "0"
	}
	rights := func(key string) *uint64 {
		word := wordAfter(s.status, key)
		if word == nil {
			return nil
		}
		set, err := strconv.ParseUint(*word, 16, 64)
		if err != nil {
			return nil
		}
		return &set
	}
	effective, bounding := rights("CapEff:"), rights("CapBnd:")
	s.areRightsKnown = effective != nil
	switch {
	case !s.isFirstNamespace:
		s.bounding = 0
	default:
		if effective != nil {
			s.effective = *effective
		}
		if bounding != nil {
			s.bounding = *bounding
		}
	}
	return s
}

func (s *system) can(capability uint) bool { return s.effective>>capability&1 == 1 }

// mayPass is whether this process holds one of the two rights by which most limits of a user do not bind.
func (s *system) mayPass() bool { return s.can(capSysResource) || s.can(capSysAdmin) }

// isSysctlReadOnly is so in containers, which mount /proc/sys over itself.
func (s *system) isSysctlReadOnly() bool {
	for _, point := range []string{"/proc/sys", "/proc"} {
		for _, m := range slices.Backward(s.mounts) {
			if m.point == point {
				return m.isReadOnly
			}
		}
	}
	return false
}

// add keeps a limit, unless its value or what is in use is not known: an unknown limit is skipped.
func (s *system) add(name, file string, r resource, value, inUse *uint64, how raise) *limit {
	if value == nil || inUse == nil {
		return nil
	}
	note := ""
	switch {
	case how.rlimit != nil && s.bounding>>capSysResource&1 == 0:
		note = noSysResource
	case (how.sysctl != "" || how.key != "") && s.isSysctlReadOnly():
		note = sysctlReadOnly
	}
	one := &limit{name: name, source: file, resource: r, value: *value, inUse: *inUse, raise: how, note: note, asRoot: s.isRoot}
	s.found = append(s.found, one)
	return one
}

func (s *system) parameter(key string) *uint64 {
	return s.number("proc/sys/" + strings.ReplaceAll(key, ".", "/"))
}

func (s *system) addSysctl(key string, most uint64, r resource, inUse *uint64) *limit {
	file := "/proc/sys/" + strings.ReplaceAll(key, ".", "/")
	return s.add(key, file, r, s.parameter(key), inUse, raise{sysctl: key, most: most, each: 1})
}

// rlimit is the soft and the hard value of a line of /proc/self/limits.
func (s *system) rlimit(name string) (soft, hard *uint64) {
	words := strings.Fields(orEmpty(lineAfter(s.rlimitText, name)))
	if len(words) < 2 {
		return nil, nil
	}
	bound := func(word string) *uint64 {
		if word == "unlimited" {
			return pointer(uint64(noLimit))
		}
		return parseNumber(&word)
	}
	return bound(words[0]), bound(words[1])
}

// readLimits reads every limit that binds this process now.
func readLimits() limits { return limitsUnder("/") }

func limitsUnder(root string) limits {
	s := openSystem(root)
	s.addDescriptors()
	s.addThreads()
	var inUse *uint64
	if areas := s.text("proc/self/maps"); areas != nil {
		inUse = pointer(uint64(strings.Count(*areas, "\n") + 1))
	}
	s.addSysctl("vm.max_map_count", math.MaxInt32, maps, inUse)
	s.addPipes()
	s.addMemory()
	s.addGroups()
	return s.found
}

// addDescriptors has fs.nr_open before the process's own limit, which it bounds.
func (s *system) addDescriptors() {
	var open *uint64
	if entries, err := names(s.path("proc/self/fd")); err == nil {
		open = pointer(uint64(len(entries)))
	}
	nrOpen := s.addSysctl("fs.nr_open", mostOpen, descriptors, open)
	if _, hard := s.rlimit("Max open files"); hard != nil && *hard != noLimit {
		below := uint64(noLimit)
		if nrOpen != nil {
			below = nrOpen.value
		}
		s.add("open files (hard limit, ulimit -Hn)", "/proc/self/limits", descriptors, hard, open, openFiles(*hard, below))
	}
	most := s.parameter("fs.file-max")
	// CAP_SYS_ADMIN goes above it (alloc_empty_file, fs/file_table.c).
	if most != nil && *most < math.MaxInt64 && !s.can(capSysAdmin) {
		var allocated *uint64
		if text := s.text("proc/sys/fs/file-nr"); text != nil {
			allocated = parseNumber(&strings.Fields(*text)[0])
		}
		s.addSysctl("fs.file-max", math.MaxInt64, files, allocated)
	}
}

func openFiles(hard, below uint64) raise {
	return raise{rlimit: &rlimitOf{option: "nofile", letter: "n", unit: 1, hard: hard, preferBelow: below, most: mostOpen}}
}

func (s *system) addThreads() {
	soft, hard := s.rlimit("Max processes")
	// RLIMIT_NPROC does not bind the system's own root, nor who holds one of two rights (copy_process,
	// kernel/fork.c).
	isFirst := s.isFirstNamespace && s.realUID != nil && *s.realUID == 0
	if soft != nil && hard != nil && *soft != noLimit && !isFirst && !s.mayPass() {
		how := raise{rlimit: &rlimitOf{option: "nproc", letter: "u", unit: 1, hard: *hard, preferBelow: noLimit, most: mostPids}}
		s.add("user processes (ulimit -u)", "/proc/self/limits", threads, soft, s.threadsOfUser(), how)
	}
	var all, numbers *uint64
	if fields := strings.Fields(orEmpty(s.text("proc/loadavg"))); len(fields) > 3 {
		// The fourth field is runnable/all, the kernel's own threads included.
		if _, count, found := strings.Cut(fields[3], "/"); found {
			all = parseNumber(&count)
		}
	}
	if all != nil {
		// Once thread numbers have wrapped, those below 300 are not given out again (RESERVED_PIDS).
		numbers = pointer(satAdd(*all, 300))
	}
	s.addSysctl("kernel.threads-max", mostThreads, threads, all)
	s.addSysctl("kernel.pid_max", mostPids, threads, numbers)
}

// threadsOfUser are those of every process of our real user, as far as they can be seen.
func (s *system) threadsOfUser() *uint64 {
	entries, err := names(s.path("proc"))
	if err != nil || s.realUID == nil {
		return nil
	}
	count := uint64(0)
	for _, name := range entries {
		if parseNumber(&name) == nil {
			continue
		}
		// A process may end while the list is read.
		status := s.text("proc/" + name + "/status")
		if status == nil {
			continue
		}
		if owner := numberAfter(*status, "Uid:"); owner != nil && *owner == *s.realUID {
			own := uint64(1)
			if threads := numberAfter(*status, "Threads:"); threads != nil {
				own = *threads
			}
			count = satAdd(count, own)
		}
	}
	return &count
}

// pagesOfPipe are those of a new pipe (PIPE_DEF_BUFFERS, include/linux/pipe_fs_i.h); past the soft limit it
// has two (PIPE_MIN_DEF_BUFFERS, fs/pipe.c).
const pagesOfPipe = 16

// addPipes has what bounds the links of one user over all of its processes, of which the kernel does not show
// how much is in use.
func (s *system) addPipes() {
	none := uint64(0)
	if hard := s.parameter("fs.pipe-user-pages-hard"); hard != nil && *hard != 0 && !s.mayPass() {
		// Up to the soft limit each pipe takes 16 pages, past it two; past the hard one pipe2(2) fails.
		soft := *hard
		if limit := s.parameter("fs.pipe-user-pages-soft"); limit != nil && *limit != 0 {
			soft = min(*limit, *hard)
		}
		full := soft / pagesOfPipe
		count := full
		if soft < *hard {
			count += (*hard - full*pagesOfPipe) / 2
		}
		key := "fs.pipe-user-pages-hard"
		how := raise{sysctl: key, most: math.MaxUint32, each: pagesOfPipe}
		s.add(key, "/proc/sys/fs/pipe-user-pages-hard", pipes, &count, &none, how).isHidden = true
	}
	// One more watch than this fails with ENOSPC, for root too (ep_insert, fs/eventpoll.c).
	if one := s.addSysctl("fs.epoll.max_user_watches", math.MaxInt64, watches, &none); one != nil {
		one.isHidden = true
	}
}

func (s *system) addMemory() {
	info := orEmpty(s.text("proc/meminfo"))
	none := uint64(0)
	s.add("MemAvailable", "/proc/meminfo", memory, kibibytes(info, "MemAvailable:"), &none,
		raise{never: "free some memory, or use a larger machine (swap is not counted)"})
	for _, one := range []struct{ name, line, inUse, option, letter string }{
		{"virtual memory (ulimit -v)", "Max address space", "VmSize:", "as", "v"},
		// Since Linux 4.7 private writable maps count (is_data_mapping, mm/internal.h).
		{"data segment (ulimit -d)", "Max data size", "VmData:", "data", "d"},
	} {
		soft, hard := s.rlimit(one.line)
		if soft == nil || hard == nil || *soft == noLimit {
			continue
		}
		how := raise{rlimit: &rlimitOf{
			option: one.option, letter: one.letter, unit: 1 << 10, hard: *hard, preferBelow: noLimit, most: math.MaxInt64,
		}}
		s.add(one.name, "/proc/self/limits", addressSpace, soft, kibibytes(s.status, one.inUse), how)
	}
	s.add("user address space", "/proc/self/maps", addressSpace, s.userSpace(), kibibytes(s.status, "VmSize:"),
		raise{never: "the processor's page tables end there"})
	s.addOvercommit(info)
}

// userSpace is the size of the address space that a program gets: the kernel puts the first stack at its very
// end, less a random offset far below a half of it.
func (s *system) userSpace() *uint64 {
	for line := range strings.Lines(orEmpty(s.text("proc/self/maps"))) {
		if !strings.HasSuffix(strings.TrimSpace(line), "[stack]") {
			continue
		}
		place, _, _ := strings.Cut(line, " ")
		_, last, _ := strings.Cut(place, "-")
		end, err := strconv.ParseUint(last, 16, 64)
		if err != nil || end < 2 || end > 1<<63 {
			return nil
		}
		return pointer(uint64(1) << bits.Len64(end-1))
	}
	return nil
}

// addOvercommit has what the kernel grants before anything is touched (__vm_enough_memory, mm/util.c).
func (s *system) addOvercommit(info string) {
	mode := s.number("proc/sys/vm/overcommit_memory")
	if mode == nil || *mode == 1 {
		return
	}
	if *mode == 0 {
		all, swap := kibibytes(info, "MemTotal:"), kibibytes(info, "SwapTotal:")
		if all != nil && swap != nil {
			*all = satAdd(*all, *swap)
		}
		s.add("a single map (vm.overcommit_memory is 0)", "/proc/meminfo", largestMap, all, new(uint64),
			raise{key: "vm.overcommit_memory", value: "1"})
		return
	}
	value := kibibytes(info, "CommitLimit:")
	if value != nil {
		for _, reserve := range []string{"admin_reserve_kbytes", "user_reserve_kbytes"} {
			if kib := s.number("proc/sys/vm/" + reserve); kib != nil {
				*value = satSub(*value, satMul(*kib, 1<<10))
			}
		}
	}
	s.add("CommitLimit (vm.overcommit_memory is 2)", "/proc/meminfo", commit, value, kibibytes(info, "Committed_AS:"),
		raise{key: "vm.overcommit_memory", value: "0"})
}

// control is a file that holds a limit of a control group, beside the file that holds what is in use.
type control struct {
	controller   string
	resource     resource
	max, current string
	// reclaimable is the line of memory.stat for page cache that the kernel drops before it refuses memory.
	reclaimable string
	most        uint64
	lift        string
}

// noBytes is where a byte limit is no limit: version 1 writes the largest number where none is set.
const noBytes = 1 << 62

var (
	controlsOf1 = []control{
		{"pids", threads, "pids.max", "pids.current", "", mostPids, "max"},
		{"memory", memory, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", noBytes, "-1"},
	}
	controlsOf2 = []control{
		{"pids", threads, "pids.max", "pids.current", "", mostPids, "max"},
		{"memory", memory, "memory.max", "memory.current", "inactive_file", noBytes, "max"},
		// Past it nothing fails, but all is slowed down to the speed of reclaim, which measures nothing.
		{"memory", memory, "memory.high", "memory.current", "inactive_file", noBytes, "max"},
	}
)

// addGroups has the limits of the process's control groups and of all above them, as far as they are mounted.
func (s *system) addGroups() {
	for line := range strings.Lines(orEmpty(s.text("proc/self/cgroup"))) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(fields) < 3 {
			continue
		}
		isVersion2 := fields[1] == ""
		controls := controlsOf1
		if isVersion2 {
			controls = controlsOf2
		}
		for _, one := range controls {
			if isVersion2 || slices.Contains(strings.Split(fields[1], ","), one.controller) {
				s.walk(one, isVersion2, fields[2])
			}
		}
	}
}

// walk adds a limit of the group at a path and of each group above it. Of several mounts the one that shows the
// most groups counts; where none shows it, the mount point is the nearest group to be seen.
func (s *system) walk(c control, isVersion2 bool, path string) {
	var chosen *mount
	group, isInside := "", false
	for i := range s.mounts {
		m := &s.mounts[i]
		isOurs := m.kind == "cgroup2"
		if !isVersion2 {
			isOurs = m.kind == "cgroup" && slices.Contains(m.options, c.controller)
		}
		if !isOurs {
			continue
		}
		below, isBelow := belowRoot(m.root, path)
		if isBelow && (!isInside || len(below) > len(group)) {
			chosen, group, isInside = m, below, true
		} else if chosen == nil {
			chosen = m
		}
	}
	if chosen == nil {
		return
	}
	point := strings.TrimRight(chosen.point, "/")
	for {
		folder := point
		if group != "" {
			folder += "/" + group
		}
		s.addControl(c, chosen, folder)
		if group == "" {
			return
		}
		group = group[:max(strings.LastIndexByte(group, '/'), 0)]
	}
}

func (s *system) addControl(c control, m *mount, folder string) {
	value := s.number(folder + "/" + c.max)
	if value == nil || *value >= noBytes {
		return
	}
	inUse := s.number(folder + "/" + c.current)
	if inUse != nil && c.reclaimable != "" {
		if cached := numberAfter(orEmpty(s.text(folder+"/memory.stat")), c.reclaimable+" "); cached != nil {
			*inUse = satSub(*inUse, *cached)
		}
	}
	one := s.add(c.max, folder+"/"+c.max, c.resource, value, inUse, raise{lift: c.lift, most: c.most})
	if one != nil && m.isReadOnly {
		one.note = groupReadOnly
	}
}

// descriptorLimit is that of a process that has none left, which can read no file.
func descriptorLimit(soft, hard uint64) *limit {
	return &limit{
		name: "open files (ulimit -n)", source: "getrlimit(2)", resource: descriptors, value: soft, inUse: soft,
		raise:  openFiles(hard, noLimit),
		note:   "if refused: raise fs.nr_open first; CAP_SYS_RESOURCE is needed",
		asRoot: syscall.Geteuid() == 0,
	}
}
