package harness

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestTimesReadInTheUnitThatSuitsThem(t *testing.T) {
	for ns, text := range map[Nanos]string{
		0: "0.000ns", 112.34: "112.3ns", 999.97: "1.000µs", 82016: "82.02µs", 1.5e6: "1.500ms", 12.5e9: "12.50s",
	} {
		if ns.String() != text {
			t.Errorf("%v is not %s", ns, text)
		}
	}
}

func TestSpansAndSizesAreRead(t *testing.T) {
	for text, ns := range map[string]uint64{"1s": 1e9, "1.5ms": 1_500_000, "50us": 50_000, "50µs": 50_000, "0.000000001s": 1} {
		if got, err := parseSpan(text); got != ns || err != nil {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1", "s", ".5s", "-1s", "1.5ns", "1m", "1 s", "1e3s", "1.2.3s", "99999999999s"} {
		if _, err := parseSpan(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
	for text, size := range map[string]uint64{"0": 0, "64k": 65536, "1MiB": 1 << 20, "2G": 2 << 30, "12b": 12} {
		if got, err := parseBytes(text); got != size || err != nil {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5M", "1Q", "99999999999T", "1 M"} {
		if _, err := parseBytes(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestRatesHaveCommas(t *testing.T) {
	for value, text := range map[float64]string{12.345: "12.35", 431_034: "431,000", 14_012_345: "14,010,000"} {
		if got := withCommas(value); got != text {
			t.Errorf("%v: %s", value, got)
		}
	}
}

// The same figures as the recorder of the other programs has in its tests: the discrete uniform distribution.
func TestMomentsAndPercentilesOfOneToAThousand(t *testing.T) {
	r := NewRecorder(1000)
	for ns := range 1000 {
		r.Record(time.Duration(ns + 1))
	}
	s := r.summary()
	if s.Mean != 500.5 || math.Abs(float64(s.Stddev)-math.Sqrt(999_999.0/12)) > 1e-9 {
		t.Errorf("%v, %v", s.Mean, s.Stddev)
	}
	got := []uint64{s.Min, s.P50, s.P90, s.P99, s.P999, s.Max}
	if !slices.Equal(got, []uint64{1, 500, 900, 990, 999, 1000}) {
		t.Error(got)
	}
	if s.Series.Batch != 1 || len(s.Series.Sums) != 1000 {
		t.Error(s.Series)
	}
}

func TestTheDeviationKeepsItsDigitsBesideALargeMean(t *testing.T) {
	r := NewRecorder(3)
	for _, ns := range []time.Duration{10_000_000_000_001, 10_000_000_000_002, 10_000_000_000_003} {
		r.Record(ns)
	}
	if s := r.summary(); s.Mean != 10_000_000_000_002 || math.Abs(float64(s.Stddev)-math.Sqrt(2.0/3)) > 1e-9 || s.Max != 10_000_000_000_003 {
		t.Error(s)
	}
}

func TestEveryTimeHasItsPlaceInTheHistogram(t *testing.T) {
	for _, ns := range []uint64{0, 1, 2047, 2048, 2049, 4095, 4096, 1_000_000, 999_999_999_999, longest} {
		top := highest(slot(ns))
		if top < ns || float64(top-ns) > float64(ns)/1000 || slot(top) != slot(ns) {
			t.Errorf("%d ends at %d", ns, top)
		}
	}
}

func TestALongRunIsKeptAsBatches(t *testing.T) {
	r := NewRecorder(10_050)
	for range 10_050 {
		r.Record(7)
	}
	s := r.summary().Series
	if s.Batch != 101 || len(s.Sums) != 100 || s.Sums[0] != 707 {
		t.Error(s.Batch, len(s.Sums))
	}
}

func TestAStopMarksTheLongerOfTheSamplesThatItMayHaveHit(t *testing.T) {
	marked := func(seen ...uint64) []uint64 {
		s := stops{}
		times := []time.Duration{1, 1000, 1, 1}
		for i, count := range seen {
			s.look(count, times[i])
		}
		return s.samples
	}
	if got := marked(0, 1, 1, 1); !slices.Equal(got, []uint64{1}) {
		t.Error("at once", got)
	}
	if got := marked(0, 0, 1, 1); !slices.Equal(got, []uint64{1}) {
		t.Error("late", got)
	}
	if got := marked(0, 0, 0, 0); got != nil {
		t.Error("never", got)
	}
}

// fixture is a folder with files below it.
func fixture(t *testing.T, files map[string]string) string {
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestNothingIsKnownOfAMachineWithoutFiles(t *testing.T) {
	line, err := json.Marshal(machineUnder(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	var facts map[string]any
	if err := json.Unmarshal(line, &facts); err != nil {
		t.Fatal(err)
	}
	for name, fact := range facts {
		switch name {
		case "topology", "caches", "mitigations", "rlimits", "pressure":
		default:
			if fact != nil {
				t.Errorf("%s is %v", name, fact)
			}
		}
	}
}

func TestTheTightestQuotaOfAllGroupsCounts(t *testing.T) {
	root := fixture(t, map[string]string{
		"proc/self/cgroup":            "0::/a/b\n",
		"proc/self/mountinfo":         "31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
		"sys/fs/cgroup/a/cpu.max":     "50000 100000\n",
		"sys/fs/cgroup/a/b/cpu.max":   "90000 100000\n",
		"sys/fs/cgroup/a/cpu.stat":    "usage_usec 5\nthrottled_usec 70\n",
		"sys/fs/cgroup/a/b/cpu.stat":  "usage_usec 5\nthrottled_usec 0\n",
		"sys/fs/cgroup/a/b/pids.max":  "100\n",
		"sys/fs/cgroup/a/pids.max":    "max\n",
		"sys/fs/cgroup/a/b/unrelated": "",
	})
	if got, is := cpuQuota(source{root}).(*quota); !is || *got != (quota{50_000, 100_000}) {
		t.Error(got)
	}
	if got := throttled(source{root}); got == nil || *got != 70_000 {
		t.Error(got)
	}
}

func TestEveryLimitThatIsTooLowIsNamedWithItsCommand(t *testing.T) {
	root := fixture(t, map[string]string{
		"proc/self/status":                   "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0\nCapBnd:\t1ffffffffff\nVmSize:\t 2000 kB\n",
		"proc/self/limits":                   "Max open files            64                   64                   files     \n",
		"proc/self/fd/0":                     "",
		"proc/self/cgroup":                   "0::/a\n",
		"proc/self/mountinfo":                "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"proc/sys/fs/nr_open":                "1048576\n",
		"proc/meminfo":                       "MemAvailable:    1000 kB\n",
		"sys/fs/cgroup/a/memory.max":         "900000\n",
		"sys/fs/cgroup/a/memory.current":     "100000\n",
		"sys/fs/cgroup/a/memory.stat":        "inactive_file 40000\n",
		"proc/sys/fs/epoll/max_user_watches": "1000000\n",
	})
	demand := Demand{Fixed: Need{Descriptors: 10}, PerTask: Need{Descriptors: 2, Memory: 1000}}
	all := limitsUnder(root)
	if got := all.largest(demand); got != 26 {
		t.Errorf("(64 - 1 - 10) / 2 is not %d", got)
	}
	if all.check(demand, 26) != nil {
		t.Error("what is the largest does not fit")
	}
	verdict := all.check(demand, 2000)
	text := verdict.Error()
	for _, words := range []string{
		"2000 tasks are more than this system allows (at most 26)",
		"open files (hard limit, ulimit -Hn): needs 4011, allows 64",
		"sudo prlimit --pid $$ --nofile=",
		"MemAvailable",
		"memory.max: needs 2 MiB, allows 0 MiB (/sys/fs/cgroup/a/memory.max)",
		"| sudo tee /sys/fs/cgroup/a/memory.max",
		"lower --tasks to 26",
	} {
		if !strings.Contains(text, words) {
			t.Errorf("%q is missing:\n%s", words, text)
		}
	}
	for line := range strings.Lines(verdict.commands()) {
		if line[0] != '#' && !strings.HasPrefix(line, "sudo ") && !strings.HasPrefix(line, "echo ") {
			t.Errorf("no command and no comment: %s", line)
		}
	}
}

// As the other programs round it.
func TestRoundingLeavesSlackAndNeverOverflows(t *testing.T) {
	for needed, expected := range map[uint64]uint64{
		0: 0, 5: 5, 250_000: 262_144, 400_300: 425_984, math.MaxUint64: math.MaxUint64,
	} {
		if got := rounded(needed); got != expected {
			t.Errorf("%d: %d", needed, got)
		}
	}
}

func TestFlagsAreFollowedAndRefused(t *testing.T) {
	parse := func(args ...string) (*Session, error) {
		s := New("test", "A test")
		return s, s.Flags.parse(args)
	}
	s, err := parse("--threads=3", "--iters", "18446744073709551615", "-q", "--cpus", "0-1", "--policy", "batch")
	if err != nil || s.Tasks() != 3 || *s.iters != math.MaxUint64 || !*s.quiet || !slices.Equal(s.place.cpus, []int{0, 1}) {
		t.Error(err, s.Tasks())
	}
	for _, args := range []string{
		"--nonsense", "--tasks 0", "--tasks -1", "--tasks", "--tasks=", "--tasks 1 --tasks 2", "--quiet=1", "--format xml",
		"--cpus 3-1", "--cpus 9999", "stray", "-x", "--command ", "-- stray", "--placement half", "--gogc -1",
	} {
		if _, err := parse(strings.Split(args, " ")...); err == nil {
			t.Errorf("%q is followed", args)
		}
	}
	for _, args := range []string{"--help", "-h", "--version", "-V", "-qh"} {
		var text shown
		if _, err := parse(args); !errors.As(err, &text) || text.text == "" {
			t.Errorf("%q shows nothing: %v", args, err)
		}
	}
}

func TestTheHelpFitsAndNamesEveryFlag(t *testing.T) {
	s := New("test", "A test")
	for _, help := range []string{s.Flags.longHelp(), s.Flags.shortHelp()} {
		for line := range strings.Lines(help) {
			if len([]rune(line)) > width+1 {
				t.Errorf("too long: %s", line)
			}
		}
		for _, one := range s.Flags.visible() {
			if !strings.Contains(help, "--"+one.long) {
				t.Errorf("--%s is missing:\n%s", one.long, help)
			}
		}
	}
}

func TestAPayloadShowsWhatWasLostDoubledOrSwapped(t *testing.T) {
	size := uint64(1000)
	p := Payload{bytes: &size}
	p.Make()
	for j := range 256 {
		if p.sequence[j] != byte(j) {
			t.Fatal("the first 256 are their own numbers")
		}
	}
	passed := func(change func([]byte) []byte) error {
		token := slices.Clone(p.Token(250))
		token[0] += 9
		return p.Verify(0, change(token), 250, 9)
	}
	if err := passed(func(token []byte) []byte { return token }); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"number":  func(token []byte) []byte { token[0]++; return token },
		"lost":    func(token []byte) []byte { return append(slices.Delete(token, 7, 8), 0) },
		"doubled": func(token []byte) []byte { return slices.Insert(token, 7, token[7])[:size] },
		"swapped": func(token []byte) []byte { token[300], token[556] = token[556], token[300]; return token },
		"last":    func(token []byte) []byte { token[size-1] ^= 0xff; return token },
	} {
		if passed(change) == nil {
			t.Errorf("%s is not seen", name)
		}
	}
}

func TestATaskThatLeftWithoutAWordIsFound(t *testing.T) {
	settle := func(driver error, sent uint64, outcomes ...outcome) string {
		c := NewChain(uint64(len(outcomes)), nil)
		copy(c.outcomes, outcomes)
		if err := c.Settle(driver, sent); err != nil {
			return err.Error()
		}
		return ""
	}
	ok := func(passed uint64) outcome { return outcome{passed: passed, isSpawned: true} }
	echo := outcome{err: syscall.EPIPE, isSpawned: true}
	for _, one := range []struct{ got, begin string }{
		{settle(ErrEnded, 4, ok(4), echo, ok(3), ok(3)), "task 2 ended after it had passed on 3 tokens: the chain"},
		{settle(ErrEnded, 4, ok(4), ok(4), ok(3), ok(3)), "task 2 ended"},
		{settle(ErrEnded, 4, echo, ok(3), ok(3)), "task 1 ended"},
		{settle(ErrEnded, 4, ok(3), ok(3)), "task 0 ended"},
		{settle(ErrEnded, 4, ok(4), echo), "the chain ended early"},
		{settle(ErrEnded, 4, ok(4), outcome{err: errors.New("out of luck"), isSpawned: true}), "task 1: out of luck"},
		{settle(nil, 4, ok(4), ok(3)), "the tasks passed on 7 tokens, expected 8"},
	} {
		if !strings.HasPrefix(one.got, one.begin) {
			t.Errorf("%q is not %q", one.got, one.begin)
		}
	}
	if got := settle(nil, 4, ok(4), ok(4)); got != "" {
		t.Error(got)
	}
}

func TestAShuffledChainHasEveryTaskAndLinkOnce(t *testing.T) {
	for _, seed := range []*uint64{nil, pointer(uint64(0)), pointer(uint64(7)), pointer(uint64(math.MaxUint64))} {
		c := NewChain(100, seed)
		made, next := 0, map[int]int{}
		first, last, err := Wire(c, func(uint64) (int, error) { made++; return made, nil }, func(post Post, upstream, downstream int) {
			next[upstream] = downstream
			post.Leave(0, nil, nil)
		})
		for range 100 {
			first = next[first]
		}
		if err != nil || made != 101 || first != last {
			t.Errorf("seed %v: %d links, %v", seed, made, err)
		}
	}
}

func TestAPanicIsAnErrorWithItsPlace(t *testing.T) {
	err := guarded(func() error { panic("out of\nluck") })
	if err == nil || !strings.HasPrefix(err.Error(), "out of luck (a panic at ") || !strings.Contains(err.Error(), "harness_test.go:") {
		t.Error(err)
	}
}

func TestWhatATerminalObeysIsWrittenOut(t *testing.T) {
	if got := plain("\x1b[2J a\tb\u202e"); got != `\u{1b}[2J a`+"\tb"+`\u{202e}` {
		t.Error(got)
	}
}
