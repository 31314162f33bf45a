package harness

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

func noRemedy(format string, args ...any) shortage {
	return shortage{Remedy: "# no command helps: " + fmt.Sprintf(format, args...)}
}

// target is the value to set that makes room for so much in all, and whether there is one.
func (l *limit) target(needed uint64) (uint64, bool) {
	r := &l.raise
	switch {
	case r.sysctl != "":
		needed = satMul(needed, r.each)
		return min(rounded(needed), r.most), needed <= r.most
	case r.rlimit != nil:
		target := rounded(needed)
		// Slack must not turn a value that the system takes into one it refuses.
		for _, bound := range []uint64{r.rlimit.hard, r.rlimit.preferBelow, r.rlimit.most} {
			if bound >= needed {
				target = min(target, bound)
			}
		}
		return target, needed <= r.rlimit.most
	case r.lift != "":
		target := rounded(needed)
		return target, target <= r.most
	}
	return 0, false
}

// remedy is what makes room for so much in all.
func (l *limit) remedy(needed uint64) shortage {
	sudo := "sudo "
	if l.asRoot {
		sudo = ""
	}
	target, isPossible := l.target(needed)
	r := &l.raise
	switch {
	case r.sysctl != "" && isPossible:
		return sysctlRemedy(sudo, r.sysctl, fmt.Sprint(target))
	case r.sysctl != "":
		return noRemedy("%s goes to %d and no further", r.sysctl, r.most)
	case r.rlimit != nil && isPossible:
		return r.rlimit.remedy(target, sudo, l.asRoot)
	case r.rlimit != nil:
		return noRemedy("%s goes to %d and no further", r.rlimit.option, r.rlimit.most)
	case r.lift != "":
		value, number := r.lift, ""
		if isPossible {
			value = fmt.Sprint(target)
			number = value
		}
		return shortage{
			Remedy:    fmt.Sprintf("echo %s | %stee %s", value, sudo, quoted(l.source)),
			NeedsRoot: true,
			Lasts:     pointer("group"),
			ToLast:    pointer(groupAdvice(l.source, number, sudo)),
		}
	case r.key != "":
		return sysctlRemedy(sudo, r.key, r.value)
	default:
		return noRemedy("%s", r.never)
	}
}

func sysctlRemedy(sudo, key, value string) shortage {
	return shortage{
		Remedy:    fmt.Sprintf("%ssysctl -w %s=%s", sudo, key, value),
		NeedsRoot: true,
		Lasts:     pointer("reboot"),
		ToLast:    pointer(fmt.Sprintf("echo '%s = %s' | %stee -a /etc/sysctl.d/90-switchcost.conf", key, value, sudo)),
	}
}

func (r *rlimitOf) remedy(target uint64, sudo string, isRoot bool) shortage {
	// Rounded up: ulimit counts memory in KiB, as limits.conf(5) does.
	inUnits := divCeil(target, r.unit)
	command := fmt.Sprintf("%sprlimit --pid $$ --%s=%d:%d", sudo, r.option, target, target)
	if target <= r.hard {
		command = fmt.Sprintf("ulimit -S -%s %d", r.letter, inUnits)
	}
	// In limits.conf(5) the asterisk stands for everyone but root.
	who := "*"
	if isRoot {
		who = "root"
	}
	toLast := fmt.Sprintf("echo '%s - %s %d' | %stee -a /etc/security/limits.d/90-switchcost.conf\n"+
		"(for logins; in a systemd unit: Limit%s=%d)", who, r.option, inUnits, sudo, strings.ToUpper(r.option), target)
	return shortage{Remedy: command, NeedsRoot: target > r.hard, Lasts: pointer("shell"), ToLast: &toLast}
}

// rounded is a number with a few per cent of slack, rounded up to a value with few binary digits: what others
// use moves between one run and the next.
func rounded(needed uint64) uint64 {
	withSlack := satAdd(needed, needed/32)
	step := uint64(1) << 59
	if withSlack <= 1<<63 {
		power := uint64(1) << bits.Len64(satSub(withSlack, 1))
		step = max(power/16, 1)
	}
	return satMul(divCeil(withSlack, step), step)
}

// quoted is a path as a shell takes it.
func quoted(path string) string {
	isPlain := func(r rune) bool {
		return isLetter(r) || '0' <= r && r <= '9' || strings.ContainsRune("/._-@:+", r)
	}
	if strings.ContainsFunc(path, func(r rune) bool { return !isPlain(r) }) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// groupAdvice is what sets the limit of a control group for good, which its maker does. An empty number lifts
// the limit.
func groupAdvice(file, number, sudo string) string {
	cut := strings.LastIndexByte(file, '/')
	group, name := file[:cut], file[cut+1:]
	isPids := name == "pids.max"
	parts := strings.FieldsFunc(group, func(r rune) bool { return strings.ContainsRune("/-_.:", r) })
	isTop, isPod, isContainer := group == "/sys/fs/cgroup" || group == "/sys/fs/cgroup/pids" || group == "/sys/fs/cgroup/memory", false, false
	for _, part := range parts {
		isPod = isPod || strings.HasPrefix(part, "kubepods") || strings.HasPrefix(part, "kubelet")
		isContainer = isContainer || part == "docker" || part == "libpod" || part == "lxc" || part == "containerd"
	}
	or := func(other string) string {
		if number == "" {
			return other
		}
		return number
	}
	switch {
	case isPod && isPids:
		return "podPidsLimit: " + or("-1") + " in the kubelet's configuration"
	case isPod && number == "":
		return "no resources.limits.memory in the pod's manifest"
	case isPod:
		return "resources.limits.memory: \"" + number + "\" in the pod's manifest"
	case isTop || isContainer:
		option, pod := "--memory", "resources.limits.memory"
		if isPids {
			option, pod = "--pids-limit", "podPidsLimit"
		}
		return fmt.Sprintf("start the container with %s %s\n(%s in Kubernetes)", option, or("-1"), pod)
	}
	last := group[strings.LastIndexByte(group, '/')+1:]
	if strings.HasSuffix(last, ".slice") || strings.HasSuffix(last, ".service") || strings.HasSuffix(last, ".scope") {
		property := map[string]string{"pids.max": "TasksMax", "memory.high": "MemoryHigh"}[name]
		if property == "" {
			property = "MemoryMax"
		}
		return fmt.Sprintf("%ssystemctl set-property %s %s=%s", sudo, last, property, or("infinity"))
	}
	return "set it where " + group + " is made"
}

// noLimit is the number for "unlimited", as it is for the kernel.
const noLimit = math.MaxUint64
