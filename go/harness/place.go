package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// mostCPUs is what cpu_set_t of the C library has room for.
const mostCPUs = 1024

type cpuSet [mostCPUs / 64]uint64

// allowedCPUs are those that a thread may run on, in ascending order; 0 is the calling one.
func allowedCPUs(thread int) ([]int, error) {
	var set cpuSet
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, uintptr(thread), unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	if errno != 0 {
		return nil, errno
	}
	var cpus []int
	for cpu := range mostCPUs {
		if set[cpu/64]>>(cpu%64)&1 == 1 {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// pin binds the calling thread.
func pin(cpus []int) error {
	var set cpuSet
	for _, cpu := range cpus {
		set[cpu/64] |= 1 << (cpu % 64)
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	if errno != 0 {
		return errno
	}
	return nil
}

// parseCPUs reads a list such as 0-3,8.
func parseCPUs(text string) ([]int, error) {
	var set [mostCPUs]bool
	number := func(part string) (int, error) {
		cpu, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("'%s' is not a CPU number: write a list such as 0-3,8", part)
		}
		if cpu >= mostCPUs {
			return 0, fmt.Errorf("CPU %d is past the last one, %d", cpu, mostCPUs-1)
		}
		return int(cpu), nil
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := number(from)
		if err != nil {
			return nil, err
		}
		last, err := number(to)
		if err != nil {
			return nil, err
		}
		if first > last {
			return nil, fmt.Errorf("the range '%s' runs backwards", part)
		}
		for cpu := first; cpu <= last; cpu++ {
			set[cpu] = true
		}
	}
	var cpus []int
	for cpu, is := range set {
		if is {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// scheduling is a policy with its priority: sched(7).
type scheduling struct {
	Policy   int32 `json:"policy"`
	Priority int32 `json:"priority"`
}

// policies are named as include/uapi/linux/sched.h numbers them.
var policies = []string{"other", "fifo", "rr", "batch", "", "idle", "deadline", "ext"}

func schedulingNow() (scheduling, error) {
	const resetOnFork = 0x40000000
	var now scheduling
	policy, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
	if errno == 0 {
		_, _, errno = syscall.RawSyscall(syscall.SYS_SCHED_GETPARAM, 0, uintptr(unsafe.Pointer(&now.Priority)), 0)
	}
	if errno != 0 {
		return now, errno
	}
	now.Policy = int32(policy) &^ resetOnFork
	return now, nil
}

// apply puts the calling thread, and those that it will create, under it.
func (s scheduling) apply() error { return s.applyTo(0) }

// applyTo is the same for another process.
func (s scheduling) applyTo(pid int) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, uintptr(pid), uintptr(s.Policy), uintptr(unsafe.Pointer(&s.Priority)))
	if errno != 0 {
		return errno
	}
	return nil
}

func (s scheduling) name() string {
	if int(s.Policy) < len(policies) && s.Policy >= 0 && policies[s.Policy] != "" {
		return policies[s.Policy]
	}
	return strconv.Itoa(int(s.Policy))
}

// place is where the program runs and how it is scheduled there.
type place struct {
	cpus      []int
	placement *string
	policy    *string
	slack     *uint64
}

func (p *place) register(flags *Flags) {
	flags.Text("cpus", "LIST", "CPUs to run on, such as 0-3,8 [default: all that this process may use]", func(text string) (err error) {
		p.cpus, err = parseCPUs(text)
		return err
	})
	p.placement = flags.Choice("placement", "How the runtime's threads are laid over these CPUs", "free", []Choice{
		{"free", "the kernel decides"},
		{"one-cpu", "everything on the first CPU"},
	})
	// A plan may ask all of its programs for the others.
	placement := flags.find("placement")
	ordinary := placement.set
	placement.set = func(text string) error {
		if text == "half" || text == "spread" {
			return BadUsagef("--placement: a goroutine has no thread of its own that could be kept on a CPU: use free or one-cpu")
		}
		return ordinary(text)
	}
	p.policy = flags.Choice("policy", "The scheduling policy of all threads [default: as inherited]", "", []Choice{
		{"other", "SCHED_OTHER, which most programs run under: a woken thread may preempt the one that runs"},
		{"batch", "SCHED_BATCH: the same shares, but a woken thread preempts nobody"},
		{"fifo", "SCHED_FIFO with priority 1: runs before everything that is not real-time, until it sleeps. " +
			"It takes CAP_SYS_NICE or a real-time priority (ulimit -r). The kernel stops what does not sleep for 50 ms " +
			"of each second (kernel.sched_rt_runtime_us; since Linux 6.12 mostly where others wait for that CPU only), " +
			"so that the machine can still be used and the run be interrupted; but whatever shares a CPU with it waits " +
			"until then. --command runs under the policy that this program was started with"},
	})
	flags.find("policy").param = func() any {
		if now, err := schedulingNow(); err == nil {
			return now.name()
		}
		return nil
	}
}

// before is what the process was before it confined itself and began anew.
type before struct {
	Affinity   *string     `json:"affinity"`
	TimerSlack *uint64     `json:"timer_slack"`
	Scheduling *scheduling `json:"scheduling"`
	Started    int64       `json:"started"`
}

// beforeVariable hands it on.
const beforeVariable = "SWITCHCOST_GO_BEFORE"

// confine sets the CPUs, the policy and the timer slack that are asked for. They belong to threads, of which a Go
// program has several by now: so they are set for this one, and the program begins anew with nothing but it.
// What it returns is of the program's first beginning.
func (p *place) confine() (before, error) {
	if text, isSecond := os.LookupEnv(beforeVariable); isSecond {
		os.Unsetenv(beforeVariable)
		var first before
		if err := json.Unmarshal([]byte(text), &first); err != nil {
			return first, fmt.Errorf("%s is not to be set: %w", beforeVariable, err)
		}
		return first, nil
	}
	first := before{Started: time.Now().UnixMilli()}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	allowed, err := allowedCPUs(0)
	if err != nil {
		return first, fmt.Errorf("cannot read the CPUs of this process: %s", named(err))
	}
	chosen, err := p.choose(allowed)
	if err != nil {
		return first, err
	}
	s := source{"/"}
	first.Affinity = wordAfter(orEmpty(s.text("proc/self/status")), "Cpus_allowed_list:")
	first.TimerSlack = s.number("proc/self/timerslack_ns")
	isChanged := listOf(chosen) != listOf(allowed)
	if isChanged {
		if err := pin(chosen); err != nil {
			return first, fmt.Errorf("cannot set the CPUs of this process: %s", named(err))
		}
	}
	if p.slack != nil && *p.slack != 0 {
		const setTimerSlack = 29
		if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, uintptr(*p.slack), 0); errno != 0 {
			return first, fmt.Errorf("--timer-slack: prctl(2) failed: %s", named(errno))
		}
		isChanged = true
	}
	if *p.policy != "" {
		old, err := p.settle()
		if err != nil {
			return first, err
		}
		isChanged = isChanged || old != nil
		first.Scheduling = old
	}
	if !isChanged {
		return first, nil
	}
	return first, beginAnew(first)
}

// choose are the CPUs to run on.
func (p *place) choose(allowed []int) ([]int, error) {
	cpus := p.cpus
	if cpus == nil {
		cpus = allowed
	}
	isAllowed := map[int]bool{}
	for _, cpu := range allowed {
		isAllowed[cpu] = true
	}
	for _, cpu := range cpus {
		if !isAllowed[cpu] {
			return nil, BadUsagef("--cpus: CPU %d is not one that this process may use (%s)", cpu, listOf(allowed))
		}
	}
	if *p.placement == "one-cpu" {
		cpus = cpus[:1]
	}
	return cpus, nil
}

// settle sets the policy, and returns the one before where that was another.
func (p *place) settle() (*scheduling, error) {
	old, err := schedulingNow()
	if err != nil {
		return nil, fmt.Errorf("--policy %s: sched_getscheduler(2) failed: %s", *p.policy, named(err))
	}
	wanted := map[string]scheduling{"other": {0, 0}, "batch": {3, 0}, "fifo": {1, 1}}[*p.policy]
	if wanted == old {
		return nil, nil
	}
	switch err := wanted.apply(); {
	case err == nil:
		return &old, nil
	case errors.Is(err, syscall.EPERM) && *p.policy == "fifo":
		return nil, errors.New("--policy fifo: " + whyDenied())
	default:
		return nil, fmt.Errorf("--policy %s: sched_setscheduler(2) failed: %s", *p.policy, named(err))
	}
}

// whyDenied says why a real-time policy is. It takes CAP_SYS_NICE in the first user namespace, or RLIMIT_RTPRIO;
// and with CONFIG_RT_GROUP_SCHED, root or not, a control group that has some bandwidth (__sched_setscheduler,
// kernel/sched/syscalls.c).
func whyDenied() string {
	const rlimitRtprio = 14
	var priority syscall.Rlimit
	_ = syscall.Getrlimit(rlimitRtprio, &priority)
	s := openSystem("/")
	if priority.Cur < 1 && s.areRightsKnown && !s.can(capSysNice) {
		return "this process has no right to a real-time policy, which takes CAP_SYS_NICE or a real-time priority " +
			"(RLIMIT_RTPRIO): start it as root, or in a shell that has run `ulimit -r 1`, which takes an rtprio in " +
			"/etc/security/limits.conf"
	}
	if file := withoutRealtime(s.source); file != "" {
		return "the control group of this process has no real-time bandwidth (CONFIG_RT_GROUP_SCHED), which root needs " +
			"too: " + file + " is 0: write some of the µs of its period there, or start it in another group"
	}
	return "sched_setscheduler(2) is refused, and nothing that could be read here says why: it takes CAP_SYS_NICE or a " +
		"real-time priority (`ulimit -r 1`), a control group that has real-time bandwidth (CONFIG_RT_GROUP_SCHED: try it " +
		"in the root group), and a sandbox that allows the call"
}

// beginAnew makes this program the only thread of its process; it returns only where that fails.
func beginAnew(first before) error {
	text, err := json.Marshal(first)
	if err != nil {
		return err
	}
	// By its own path, so that it keeps its name.
	path, err := os.Executable()
	if err != nil {
		if path, err = exec.LookPath(os.Args[0]); err != nil {
			return fmt.Errorf("cannot find this executable, to begin anew on these CPUs: start it by its path: %w", err)
		}
	}
	err = syscall.Exec(path, os.Args, append(os.Environ(), beforeVariable+"="+string(text)))
	return fmt.Errorf("cannot begin anew on these CPUs: %s", named(err))
}

// named is an error of the system with its symbol.
func named(err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err.Error()
	}
	symbols := map[syscall.Errno]string{
		syscall.EPERM: "EPERM", syscall.EINVAL: "EINVAL", syscall.ESRCH: "ESRCH", syscall.ENOSYS: "ENOSYS", syscall.EFAULT: "EFAULT",
	}
	words := errno.Error()
	words = strings.ToUpper(words[:1]) + words[1:]
	if symbol := symbols[errno]; symbol != "" {
		return symbol + ": " + words
	}
	return words
}

// timerSlack is that of the calling thread, in ns; nil where the kernel does not tell.
func timerSlack() *uint64 {
	const getTimerSlack = 30
	slack, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, getTimerSlack, 0, 0)
	if errno != 0 {
		return nil
	}
	return pointer(uint64(slack))
}
