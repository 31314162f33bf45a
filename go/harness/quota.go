package harness

import (
	"slices"
	"strconv"
	"strings"
)

// quota is CPU time that a control group may use in each period.
type quota struct {
	Quota  uint64 `json:"quota_us"`
	Period uint64 `json:"period_us"`
}

// hierarchy is where the CPU controller keeps this process.
type hierarchy struct {
	isVersion1 bool
	path       string
}

// cpuHierarchy looks through /proc/self/cgroup. A controller is in one hierarchy at a time, so where version
// 1 has it, version 2 does not.
func cpuHierarchy(s source) *hierarchy {
	text := s.text("proc/self/cgroup")
	if text == nil {
		return nil
	}
	var version2 *hierarchy
	for line := range strings.Lines(*text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 {
			continue
		}
		if slices.Contains(strings.Split(fields[1], ","), "cpu") {
			return &hierarchy{isVersion1: true, path: fields[2]}
		}
		if fields[1] == "" {
			version2 = &hierarchy{path: fields[2]}
		}
	}
	return version2
}

// folders are where the group and those above it are, as far as they are mounted: the group first.
func (h *hierarchy) folders(s source) []string {
	text := s.text("proc/self/mountinfo")
	if text == nil {
		return nil
	}
	for _, m := range parseMounts(*text) {
		isOurs := m.kind == "cgroup2"
		if h.isVersion1 {
			isOurs = m.kind == "cgroup" && slices.Contains(m.options, "cpu")
		}
		below, isInside := belowRoot(m.root, h.path)
		if !isOurs || !isInside {
			continue
		}
		folder := strings.Trim(m.point, "/")
		if below != "" {
			folder += "/" + below
		}
		if !s.exists(folder) {
			return nil
		}
		folders := []string{folder}
		for len(folder) > len(strings.Trim(m.point, "/")) {
			folder = folder[:strings.LastIndexByte(folder, '/')]
			folders = append(folders, folder)
		}
		return folders
	}
	return nil
}

// cpuQuota is the tightest quota from this process's group up: "unlimited", a quota, or nil where it is not
// known.
func cpuQuota(s source) any {
	h := cpuHierarchy(s)
	if h == nil {
		return nil
	}
	folders := h.folders(s)
	if folders == nil {
		return nil
	}
	var tightest *quota
	for _, folder := range folders {
		found, isThere, isLimited := h.quotaIn(s, folder)
		if !isThere {
			continue
		}
		if found == nil && isLimited {
			return nil
		}
		if found != nil && (tightest == nil || found.Quota*tightest.Period < tightest.Quota*found.Period) {
			tightest = found
		}
	}
	if tightest == nil {
		return "unlimited"
	}
	return tightest
}

// quotaIn is the quota of one group; whether there is such a file; and whether it limits, so that a limit
// without a quota is one that makes no sense.
func (h *hierarchy) quotaIn(s source, folder string) (*quota, bool, bool) {
	var time, period string
	if h.isVersion1 {
		a, b := s.text(folder+"/cpu.cfs_quota_us"), s.text(folder+"/cpu.cfs_period_us")
		if a == nil || b == nil {
			return nil, false, false
		}
		time, period = *a, *b
		if time == "-1" {
			return nil, true, false
		}
	} else {
		text := s.text(folder + "/cpu.max")
		if text == nil {
			return nil, false, false
		}
		time, period, _ = strings.Cut(*text, " ")
	}
	us, err := strconv.ParseUint(period, 10, 64)
	if err != nil || us == 0 {
		return nil, true, true
	}
	if time == "max" {
		return nil, true, false
	}
	allowed, err := strconv.ParseUint(time, 10, 64)
	if err != nil {
		return nil, true, true
	}
	return &quota{Quota: allowed, Period: us}, true, true
}

// throttled is for how long quotas have stopped this process's group so far, in ns. Of several groups the
// longest time, since they overlap.
func throttled(s source) *uint64 {
	h := cpuHierarchy(s)
	if h == nil {
		return nil
	}
	var longest *uint64
	for _, folder := range h.folders(s) {
		text := s.text(folder + "/cpu.stat")
		if text == nil {
			continue
		}
		time := numberAfter(*text, "throttled_time ")
		if !h.isVersion1 {
			if time = numberAfter(*text, "throttled_usec "); time != nil {
				*time = satMul(*time, 1000)
			}
		}
		if time != nil && (longest == nil || *time > *longest) {
			longest = time
		}
	}
	return longest
}

// withoutRealtime is the file that says that this process's group has no bandwidth for real-time policies, if
// it is so: of version 1, since version 2 has none.
func withoutRealtime(s source) string {
	h := cpuHierarchy(s)
	if h == nil {
		return ""
	}
	folders := h.folders(s)
	if len(folders) == 0 {
		return ""
	}
	file := folders[0] + "/cpu.rt_runtime_us"
	if number := s.number(file); number != nil && *number == 0 {
		return "/" + file
	}
	return ""
}

// mount is one line of mountinfo (proc_pid_mountinfo(5)).
type mount struct {
	root, point, kind string
	isReadOnly        bool
	options           []string
}

func parseMounts(text string) []mount {
	var mounts []mount
	for line := range strings.Lines(text) {
		before, after, found := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		place, kind := strings.Split(before, " "), strings.Split(after, " ")
		if !found || len(place) < 6 || len(kind) < 2 {
			continue
		}
		point := unescaped(place[4])
		// A path with a line break could not be shown in a comment of a shell.
		if !strings.HasPrefix(point, "/") || strings.ContainsFunc(point, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			continue
		}
		mounts = append(mounts, mount{
			root:       unescaped(place[3]),
			point:      point,
			kind:       kind[0],
			isReadOnly: slices.Contains(strings.Split(place[5], ","), "ro"),
			options:    strings.Split(kind[len(kind)-1], ","),
		})
	}
	return mounts
}

// unescaped undoes the kernel's octal escapes of blanks and backslashes.
func unescaped(field string) string {
	var text strings.Builder
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+3 < len(field) {
			if number, err := strconv.ParseUint(field[i+1:i+4], 8, 8); err == nil {
				text.WriteByte(byte(number))
				i += 3
				continue
			}
		}
		text.WriteByte(field[i])
	}
	return text.String()
}

// belowRoot is a path with a root taken off its front, and whether it is below that.
func belowRoot(root, path string) (string, bool) {
	// A group outside this namespace cannot be walked to from here.
	if slices.Contains(strings.Split(path, "/"), "..") {
		return "", false
	}
	rest, found := strings.CutPrefix(path, strings.TrimRight(root, "/"))
	if !found || rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.Trim(rest, "/"), true
}
