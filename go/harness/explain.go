package harness

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// errnoText is an error of the system as the other programs word it.
func errnoText(err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err.Error()
	}
	words := errno.Error()
	return fmt.Sprintf("%s%s (os error %d)", strings.ToUpper(words[:1]), words[1:], int(errno))
}

// Explain says why something could not be built half-way, and which limit is used up: the limits are read
// again, so it must be called while what was built is still there.
func Explain(what string, built, tasks uint64, err error, demand Demand) error {
	all := readLimits()
	var errno syscall.Errno
	errors.As(err, &errno)
	// With no descriptor left no file can be read; the system call needs none.
	var open syscall.Rlimit
	if errno == syscall.EMFILE && syscall.Getrlimit(syscall.RLIMIT_NOFILE, &open) == nil {
		all = limits{descriptorLimit(open.Cur, open.Max)}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "cannot %s after %d of %d tasks: %s", what, built, tasks, errnoText(err))
	all.explain(&text, errno, demand, built, tasks)
	return errors.New(text.String())
}

// suspects is what may have run out, judged by the error alone.
func suspects(errno syscall.Errno) map[resource]bool {
	switch errno {
	case syscall.EMFILE:
		return map[resource]bool{descriptors: true}
	case syscall.ENFILE:
		return map[resource]bool{files: true, pipes: true}
	case syscall.ENOSPC:
		return map[resource]bool{watches: true}
	case syscall.ENOMEM:
		return map[resource]bool{maps: true, addressSpace: true, commit: true, memory: true}
	default:
		return nil
	}
}

func (all limits) explain(text *strings.Builder, errno syscall.Errno, demand Demand, built, tasks uint64) {
	suspected := suspects(errno)
	if suspected == nil {
		return
	}
	builtNeed, rest := demand.of(built), demand.PerTask.Times(satSub(tasks, built))
	var nearest *limit
	isFound := false
	for _, one := range all {
		if !suspected[one.resource] || demand.of(tasks).of(one.resource) == 0 {
			continue
		}
		if one.isHidden {
			// At least what this run has made itself.
			one.inUse = max(one.inUse, builtNeed.of(one.resource))
		}
		step := max(demand.PerTask.of(one.resource), 1)
		if one.room() < step {
			isFound = true
			one.describe(text, "used up", satAdd(one.inUse, max(rest.of(one.resource), step)))
		}
		if nearest == nil || one.part() > nearest.part() {
			nearest = one
		}
	}
	if isFound {
		return
	}
	text.WriteString("\n  no limit that can be read is used up")
	if nearest != nil {
		nearest.describe(text, "the nearest", satAdd(nearest.inUse, rest.of(nearest.resource)))
	}
}

// part is how much of it is in use.
func (l *limit) part() float64 { return float64(l.inUse) / float64(max(l.value, 1)) }

// describe adds one limit, and its command if it is too low for what is needed.
func (l *limit) describe(text *strings.Builder, what string, needed uint64) {
	shift, unit := 0, ""
	if l.resource.isBytes() {
		shift, unit = 20, " MiB"
	}
	fmt.Fprintf(text, "\n  %s: %s: %d%s of %d%s (%s)", what, l.name, l.inUse>>shift, unit, l.value>>shift, unit, l.source)
	if needed > l.value {
		short := l.shortageOf(needed)
		fmt.Fprintf(text, "\n      %s", strings.TrimLeft(short.Remedy, "# "))
		if short.Note != nil {
			fmt.Fprintf(text, "\n      (%s)", *short.Note)
		}
	}
}

// raiseDescriptors raises the soft limit of open files to the hard one, which needs no privilege. Where even
// that is forbidden, as a sandbox may, the soft one has to do.
func raiseDescriptors(needed uint64) error {
	var open syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &open); err != nil {
		return fmt.Errorf("cannot read the limit of open files: %s", errnoText(err))
	}
	if open.Cur >= open.Max {
		return nil
	}
	err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: open.Max, Max: open.Max})
	if err == nil || needed < open.Cur {
		return nil
	}
	return fmt.Errorf("cannot raise the soft descriptor limit, %d, to the %d that are needed: "+
		"start it with a higher `ulimit -n`: %s", open.Cur, needed, errnoText(err))
}

// raiseLimits raises what is too low and is this process's own, and tells of each limit. Kernel parameters and
// control groups are left as they are.
func raiseLimits(demand Demand, tasks uint64) []string {
	const rlimitNproc = 6
	resources := map[string]int{
		"nofile": syscall.RLIMIT_NOFILE, "nproc": rlimitNproc, "as": syscall.RLIMIT_AS, "data": syscall.RLIMIT_DATA,
	}
	var told []string
	need := demand.of(tasks)
	for _, one := range readLimits() {
		short := one.shortage(need.of(one.resource))
		if short == nil {
			continue
		}
		why := strings.TrimLeft(short.Remedy, "# ")
		target, isPossible := one.target(short.Needed)
		switch {
		case one.raise.rlimit != nil && isPossible:
			resource := resources[one.raise.rlimit.option]
			var now syscall.Rlimit
			err := syscall.Getrlimit(resource, &now)
			if err == nil {
				err = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: target, Max: max(target, now.Max)})
			}
			if err == nil {
				told = append(told, fmt.Sprintf("raised %s from %d to %d, for this process", one.name, one.value, target))
				continue
			}
			why = errnoText(err)
		case one.raise.sysctl != "" && isPossible, one.raise.key != "":
			why = "this program raises no kernel parameter: " + short.Remedy
		case one.raise.lift != "":
			why = "it belongs to who made the group: " + short.Remedy
		}
		if one.note != "" {
			why += " (" + one.note + ")"
		}
		told = append(told, fmt.Sprintf("not raised: %s: %s", one.name, why))
	}
	return told
}

// makeRoom makes the kernel's table of this process's descriptors as large as it is going to be: once the
// process has threads, each doubling waits until no CPU reads the old one (expand_fdtable, fs/file.c).
func makeRoom(descriptors uint64) {
	if descriptors > 1<<30 {
		return
	}
	fd, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(syscall.Stderr), syscall.F_DUPFD_CLOEXEC, uintptr(descriptors))
	// Nothing depends on it: where it fails, the table grows as it always does.
	if errno == 0 {
		syscall.Close(int(fd))
	}
}
