package contract

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// check compares what the run needs with what the system allows. (Go's runtime has raised the soft
// descriptor limit to the hard one.)
func check(d *Description) error {
	most, short := uint64(math.MaxUint64), ""
	against := func(name, resource string, limit, used uint64) {
		need, left := d.Needs[resource], limit-min(used, limit)
		if needed := need.Fixed + need.Each*d.Tasks; needed > left {
			short += fmt.Sprintf("%s leaves %d of the %d needed; ", name, left, needed)
		}
		if need.Fixed > left {
			most = 0
		} else if need.Each > 0 {
			most = min(most, (left-need.Fixed)/need.Each)
		}
	}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		open, _ := os.ReadDir("/proc/self/fd")
		against("the descriptor limit (ulimit -n)", "descriptors", files.Cur, uint64(len(open)))
	}
	if available, isKnown := numberOf("/proc/meminfo", "MemAvailable:"); isKnown {
		against("the available memory", "bytes", available*1024, 0)
	}
	const root = "/sys/fs/cgroup"
	groups, _ := os.ReadFile("/proc/self/cgroup")
	_, group, _ := strings.Cut(string(groups), "0::")
	group, _, _ = strings.Cut(group, "\n")
	for group = filepath.Join(root, group); strings.HasPrefix(group, root); group = filepath.Dir(group) {
		for controller, resource := range map[string]string{"memory": "bytes", "pids": "threads"} {
			if limit, isKnown := numberOf(filepath.Join(group, controller+".max"), ""); isKnown {
				used, _ := numberOf(filepath.Join(group, controller+".current"), "")
				against(controller+".max of "+group, resource, limit, used)
			}
		}
	}
	if short == "" {
		return nil
	}
	return fmt.Errorf("--tasks %d is more than this system allows: %sat most %d tasks fit; "+
		"`switchcost limits %s --tasks %d` has the remedies", d.Tasks, short, most, d.Program, d.Tasks)
}

// numberOf reads the first number behind a name in a file; false where there is none, such as `max`.
func numberOf(path, name string) (uint64, bool) {
	text, _ := os.ReadFile(path)
	_, rest, _ := strings.Cut(string(text), name)
	words := append(strings.Fields(rest), "")
	value, err := strconv.ParseUint(words[0], 10, 64)
	return value, err == nil
}
