# The tables of docs/CLAIMS.md: claim, figure of its source, figure here, verdict. A verdict by a function of
# documents.jq is an error if its record does not bear it.
include "documents";

def claims(rows): ["| claim | theirs | here | verdict |", "| --- | --- | --- | --- |"]
    + [rows | "| \(join(" | ")) |"] | join("\n");

# Times of another machine prove nothing by themselves.
def time_row($claim; $theirs; figure): [$claim, $theirs, (figure | mean), "–"];
# A ratio: theirs, and whether it holds within a factor of two.
def ratio_row($claim; $theirs; figure): [$claim, ($theirs | tostring), (figure | times), (figure | ratio | about($theirs))];

def pinned: "pinned to one CPU";
def hop($row; $column): at("claims"; "Over socket"; $row; $column);
def channel($row; $column): at("claims"; "Over channels"; $row; $column);
def created($row): at("answer"; "Creation"; $row);
def resting($row): at("claims"; "Memory of a task at rest, with"; $row);
def used($row; $depth): at("claims"; "Memory of a task at rest that"; $row; $depth);
def switched($row): at("peers"; "A switch over pipes"; $row; "unpinned");
def ping($row): at("peers"; "Ping-pong"; $row; "unpinned");
def stream($row): at("peers"; "Stream"; $row);
def repeater($places; $flavor): stream("Tokio mpsc(\($places)), through a repeater to block_on, \($flavor)");
def inside($row; $column): at("blocking"; "What blocks"; $row; $column);
def outside($row; $column): at("blocking"; "Spawned from outside of the runtime: time per batch of o"; $row; $column);
def sleeping($row): at("blocking"; "Spawned from outside of the runtime: time per batch of 2"; $row; "a sleep");
def spinning($row): at("blocking"; "Over the operation's length"; $row; "1 ms");
def body($row; $column): at("body"; "16 bodies"; $row; $column);
def bodies($row; $column): at("sleepers"; "Bodies"; $row; $column);
def million($row; $column): at("sleepers"; "A million"; $row; $column);
def everyday($row): at("answer"; "Everyday"; $row);
def over_pipes($row; $column): at("answer"; "Switch"; $row; $column);

def tokio_128: "since Tokio 1.29 and 1.32, which align tasks and descriptors to 128 bytes ([memory](findings/memory.md))";

def headlines: claims(
    ["on one CPU \"the speed advantage of async disappears\": threads ÷ tasks, socket pairs", "0.95",
        (hop("thread"; pinned) | times), (hop("thread"; pinned) | ratio | not_here(0.95))],
    ["creating a thread ÷ creating a task", "57",
        "\(created("thread") | times); \(at("xeon-2vcpu-6.18/answer"; "Creation"; "thread") | times) on the older Xeon",
        (at("xeon-2vcpu-6.18/answer"; "Creation"; "thread") | ratio | about(57)) + " on the older Xeon, more here"],
    ["a thread holds 10 KiB of the kernel's memory", "10 KiB", (resting("thread") | kernel),
        (resting("thread") | .kernel.line.slope | never_did(10 * 1024)) + ": its kernel stack alone is 16 KiB"],
    ["a task holds 0.4 KiB, a thread 20 times as much", "20",
        "\(resting("task") | mean), \(times(resting("thread"); resting("task")))", (over(resting("thread"); resting("task")) | no_longer(20)) + ", " + tokio_128],
    ["Tokio's channels use futexes to wake tasks", "yes",
        "2 calls in 5,100 hops: `strace -f -c -e trace=futex target/release/async-mem-brigade --tasks 50 --iters 100`", "never did"],
    ["io_uring might change the story", "open", "[one call for four](FINDINGS.md#what-does-io_uring-change)", "answered"],
    ["beside JSON or TLS a switch is insignificant: a switch ÷ parsing 1 KiB of JSON", "a comment",
        times(over_pipes("thread over pipes"; "unpinned"); everyday("parsing 1 KiB of JSON")),
        "it depends: [what does it matter](FINDINGS.md#does-any-of-it-matter)"],
    ["\"9.7 KB of physical memory per thread\", \"8 KB\"", "9.7 KB, 8 KB",
        "\(used("thread"; "0") | mean) of the process, \(used("thread"; "0") | kernel) of the kernel",
        "holds of the process; the kernel's share is larger"],
    ["\"on CPU-bound computations, async doesn't provide any advantage\": a pool of threads ÷ tasks, 16 times 1 ms", "1",
        (spinning("dispatch to a pool") | times), (spinning("dispatch to a pool") | ratio | about(1))],
    ["20,000 threads exceed `threads-max`", "EAGAIN",
        "`kernel.threads-max` is 192,731; `vm.max_map_count`, 65,530, ends it: four maps each (`switchcost limits thread-creation --tasks 20000 --sleep 1s`)",
        "not here; some distributions raise max_map_count, so their cause cannot be known"],
    ["goroutine ÷ thread, a switch", "0.1", times(switched("goroutine"); switched("thread")), (over(switched("goroutine"); switched("thread")) | about(0.1))],
    ["Go: a buffer makes \"almost no difference\": 4096 places ÷ none", "0.97",
        times(ping("goroutine, capacity 4096"); ping("goroutine, capacity 0 (rendezvous)")),
        (over(ping("goroutine, capacity 4096"); ping("goroutine, capacity 0 (rendezvous)")) | about(0.97)) + ": a waiting receiver is handed the message past the buffer"],
    ["Rust takes 4.4 times as long as Go", "4.4",
        "\(times(ping("Tokio mpsc(1), current-thread"); ping("goroutine, capacity 0 (rendezvous)"))), ping-pong against ping-pong",
        "never did: its Rust program switches three tasks, its Go program two"],
    ["blocking the runtime's thread is fastest \"in all cases\": permit ÷ direct, sorting", "1.02",
        (outside("permit, block_in_place, 8 workers"; "work") | times),
        (outside("permit, block_in_place, 8 workers"; "work") | ratio | about(1.02)) + ", but [its neighbours wait](FINDINGS.md#what-if-a-task-must-block)"],
    ["a tmpfs with huge pages makes files as fast as gathered memory: map ÷ gathered", "0.93",
        times(body("in a map, tmpfs, huge pages"; "in the task"); body("in memory, gathered"; "in the task")),
        (over(body("in a map, tmpfs, huge pages"; "in the task"); body("in memory, gathered"; "in the task")) | about(0.93))],
    ["a million threads", "1,000,000", "\(million("thread"; "1,000,000: alive at once") | .mean.value | round) alive at once",
        "never did: those that sleep a second exit while others are created"],
    ["a million goroutines are over ten times as fast", "16",
        times(million("thread"; "1,000,000"); million("goroutine"; "1,000,000")),
        (over(million("thread"; "1,000,000"); million("goroutine"; "1,000,000")) | bears(.low > 10; "holds"; "over ten"))],
    ["Rust and Go \"could converge\", as stacks grow: a thread ÷ a goroutine that used 64 KiB once", "a guess",
        times(used("thread"; "64 KiB deep"); used("goroutine"; "64 KiB deep")),
        "they meant stacks in use; once used, a thread keeps its pages and a goroutine does not"]
);

def context_switch: claims(
    time_row("a switch between tasks over channels"; "200 ns"; channel("task, current-thread"; "unpinned")),
    time_row("thread-brigade, a hop unpinned"; "5.30 µs"; hop("thread"; "unpinned")),
    time_row("thread-brigade, pinned"; "3.41 µs"; hop("thread"; pinned)),
    time_row("async-brigade, unpinned"; "3.58 µs"; hop("task"; "unpinned")),
    ["a switch of threads, less the I/O (blocking)", "1.7 µs", (hop("thread"; pinned) | .net.value | plain("time")) + " pinned", "–"],
    ["a switch of tasks, less the I/O (non-blocking)", "1.7 µs", (hop("task"; pinned) | .net.value | plain("time")) + " pinned", "–"],
    ["\"both converge\": threads ÷ tasks, both less their I/O, pinned", "1", (hop("thread"; pinned) | .net_ratio.interval | shown("ratio")),
        (hop("thread"; pinned) | .net_ratio.interval | not_here(1))],
    ["threads ÷ tasks, unpinned", "1.48", (hop("thread"; "unpinned") | times), (hop("thread"; "unpinned") | ratio | not_here(1.48))],
    ["CPU time of tasks ÷ elapsed time", "0.99", (hop("task"; "unpinned: busy CPUs") | mean_interval), "holds: one worker is busy"],
    ["... of threads, unpinned", "1.37", (hop("thread"; "unpinned: busy CPUs") | mean_interval), "–"],
    ["... of threads, pinned", "0.99", (hop("thread"; pinned + ": busy CPUs") | mean_interval), "holds"],
    ["tasks: user ÷ system time", "1.2", times(hop("task"; "unpinned: user time"); hop("task"; "unpinned: system time")), "–"],
    ["threads: user ÷ system time", "0.33", times(hop("thread"; "unpinned: user time"); hop("thread"; "unpinned: system time")), "–"],
    time_row("creating a task (theirs: async-std)"; "300 ns"; created("task")),
    time_row("creating a thread"; "17 µs"; created("thread")),
    ["a thread's user memory", "9.5 KiB", (resting("thread") | mean_interval), (resting("thread") | interval | about(9.5 * 1024))],
    ["a task's user memory (with Tokio 0.2.19, 2020)", "0.4 KiB", (resting("task") | mean_interval), (resting("task") | interval | no_longer(0.4 * 1024)) + ", " + tokio_128],
    ["resident set and page faults of a run of 500 threads", "16.7 MB, 3,610", "`/usr/bin/time target/release/thread-brigade` prints both", "–"],
    ["50,000 tasks: \"the speedup doesn't change much\", 466 and 21 MiB", "466, 21 MiB", "needs 100,000 descriptors; the hard limit is 20,000", "cannot be tried here"],
    ["250,000 tasks; 80,000 threads", "yes", "in memory both run: `stat thread-mem-brigade --tasks 80000`, `stat async-mem-brigade --tasks 250000`", "holds, in memory"],
    ["a thread makes one read and one write a hop; a task one write, two reads, one epoll_wait", "as said", "the same (`strace -f -c`; a test counts them)", "holds"],
    ["the current-thread scheduler changes little for tasks", "about 1", (hop("task, current-thread"; "unpinned") | times), (hop("task, current-thread"; "unpinned") | ratio | about(1))],
    ["a switch costs more than a read and epoll_wait", "yes", "\(hop("thread"; pinned) | .net.value | plain("time")) against \(hop("task"; pinned) | .net.value | plain("time"))", "holds"],
    ["two descriptors, a process id and a memory map for each thread", "as said", "four maps: stack, guard page, signal stack and its guard ([limits](LIMITS.md))", "holds; four maps"],
    ["the size of a stack does not matter", "1 or 8 MiB", "from 2 MiB on each stack has a page table of its own, 4 KiB", "holds below 2 MiB"],
    ["the number of tasks", "open", "[it matters once caches overflow](FINDINGS.md#does-the-number-of-tasks-matter)", "answered"],
    ["why one CPU is as fast for threads", "\"I don't know why\"", "[waking another CPU costs more](findings/one-cpu.md)", "answered"]
);

def sleepers: claims(
    time_row("threads: user time"; "0.07 s"; bodies("thread"; "10,000: user time")),
    time_row("threads: system time"; "0.57 s"; bodies("thread"; "10,000: system time")),
    ["threads: busy CPUs", "0.53", (bodies("thread"; "10,000: busy CPUs") | mean), "–"],
    ["threads: elapsed", "1.19 s", (bodies("thread"; "10,000") | mean), (bodies("thread"; "10,000") | interval | about(1.19e9))],
    ["threads: peak of each", "9.7 KB", (bodies("thread"; "10,000: peak per body") | mean), "holds, without the kernel's memory"],
    ["\"handling page faults and context switching\": page faults; switches of each", "–", "\(bodies("thread"; "10,000: page faults") | mean); \(bodies("thread"; "10,000: switches per body") | mean)", "measured"],
    ["each is given 2 MiB of virtual memory", "2 MiB", "std's default; `--stack-size 2MiB` here", "holds"],
    ["raised, over 100,000 threads run", "yes", (bodies("thread"; "100,000, gate") | mean) + ", all alive", "holds"],
    time_row("tasks: user time"; "0.02 s"; bodies("Tokio, multi-thread"; "10,000: user time")),
    ["tasks: busy CPUs", "0.03", (bodies("Tokio, multi-thread"; "10,000: busy CPUs") | mean), "–"],
    ["tasks: elapsed", "1.00 s", (bodies("Tokio, multi-thread"; "10,000") | mean), (bodies("Tokio, multi-thread"; "10,000") | interval | about(1e9))],
    ["660 bytes a task", "660 B", (bodies("Tokio, multi-thread"; "10,000: peak per body") | mean), "never did: the peak holds the process itself"]
);

def go_and_rust: claims(
    time_row("process over pipes, a switch (pinned, as its homework asks)"; "2.5 µs"; at("peers"; "A switch over pipes"; "process"; pinned)),
    ["\"C and Rust showed the same numbers\"", "same", "threads and one thread in C: `benches/brigade.c`, which `switchcost stat` measures", "undecided here: no record"],
    ["thread ÷ process", "about 1", times(switched("thread"); switched("process")), (over(switched("thread"); switched("process")) | about(1))],
    time_row("Go, a round trip, capacity 0"; "452.7 ns"; ping("goroutine, capacity 0 (rendezvous)")),
    time_row("Go, a round trip, capacity 4096"; "440.8 ns"; ping("goroutine, capacity 4096")),
    time_row("Rust, a message through a repeater, one place, one thread"; "1.993 µs"; repeater(1; "current-thread")),
    ["... thread pool ÷ one thread", "1.19", times(repeater(1; "multi-thread"); repeater(1; "current-thread")), "–"],
    time_row("Rust, 4096 places, one thread"; "201.7 ns"; repeater(4096; "current-thread")),
    ["... thread pool ÷ one thread", "3.5", times(repeater(4096; "multi-thread"); repeater(4096; "current-thread")), "–"],
    ["buffered, Go ÷ Rust", "2.2", times(ping("goroutine, capacity 4096"); repeater(4096; "current-thread")), "–"],
    ["channels with a buffer \"perform much better\" (a comment): one place ÷ 4096", "6.5", times(stream("Tokio mpsc(1), current-thread"); stream("Tokio mpsc(4096), current-thread")),
        (over(stream("Tokio mpsc(1), current-thread"); stream("Tokio mpsc(4096), current-thread")) | not_here(6.5)) + ": better, by less"]
);

def four($name; $theirs; direct; dispatch; permit; spawn):
    time_row("\($name), in the task"; $theirs[0]; direct), time_row("... dispatch to a pool"; $theirs[1]; dispatch),
    time_row("... permit"; $theirs[2]; permit), time_row("... spawn_blocking"; $theirs[3]; spawn),
    ["... permit ÷ in the task", $theirs[4], (permit | times), "–"];

def blocking: claims(
    four("noop"; ["52.22 µs", "159.2 µs", "72.94 µs", "147.8 µs", "1.40"]; outside("in the task"; "nothing");
        outside("dispatch to a pool"; "nothing"); outside("permit, block_in_place, 8 workers"; "nothing"); outside("spawn_blocking"; "nothing")),
    four("sorting"; ["1.253 ms", "1.545 ms", "1.272 ms", "1.574 ms", "1.02"]; outside("in the task"; "work");
        outside("dispatch to a pool"; "work"); outside("permit, block_in_place, 8 workers"; "work"); outside("spawn_blocking"; "work")),
    four("sleeping"; ["649.9 µs", "992.5 µs", "800.1 µs", "1.625 ms", "1.23"]; sleeping("in the task");
        sleeping("dispatch to a pool"); sleeping("permit, block_in_place, 44 workers"); sleeping("spawn_blocking")),
    ["sleeping: spawn_blocking ÷ dispatch", "1.64", times(sleeping("spawn_blocking"); sleeping("dispatch to a pool")), "–"],
    ["a sleep of 1 to 49 µs simulates a remote call", "mean 9.7 µs",
        "a sleep of 10 µs lasts 62 µs, since the timer slack is 50 µs (`switchcost stat --timer-slack 1ns blocking-strategies --operation sleep`)", "never did"],
    ["a semaphore of futures-intrusive is 8.5 times as slow for sleeps", "6.8 ms", "no strategy here uses that crate", "cannot be tried here"],
    time_row("bodies, ram"; "58.53 ms"; body("in memory, in pieces"; "in the task")),
    time_row("bodies, ram, gathered"; "81.69 ms"; body("in memory, gathered"; "in the task")),
    time_row("bodies, file, direct"; "119.8 ms"; body("in a file"; "in the task")),
    time_row("bodies, file, permit"; "141.3 ms"; body("in a file"; "permit")),
    time_row("bodies, file, dispatch"; "151.8 ms"; body("in a file"; "pool")),
    time_row("bodies, map copied, direct"; "137.4 ms"; body("copied out of a map"; "in the task")),
    time_row("bodies, map copied, permit"; "157.1 ms"; body("copied out of a map"; "permit")),
    time_row("bodies, map, direct"; "110.5 ms"; body("in a map"; "in the task")),
    time_row("bodies, map, permit"; "124.6 ms"; body("in a map"; "permit")),
    ratio_row("file, direct: tmpfs with huge pages ÷ disk"; 0.78; body("in a file, tmpfs, huge pages"; "in the task")),
    ratio_row("file, permit: the same"; 0.85; body("in a file, tmpfs, huge pages"; "permit")),
    ratio_row("file, dispatch: the same"; 0.86; body("in a file, tmpfs, huge pages"; "pool")),
    ratio_row("map copied, direct: the same"; 0.76; body("copied out of a map, tmpfs, huge pages"; "in the task")),
    ratio_row("map, direct: the same"; 0.72; body("in a map, tmpfs, huge pages"; "in the task")),
    ["throughput in memory", "2.14 GiB/s", (body("in memory, in pieces"; "in the task: throughput") | mean), "–"]
);

def goroutines: claims(
    time_row("a million threads, not gated"; "38.55 s"; million("thread"; "1,000,000")),
    time_row("... user time"; "6.17 s"; million("thread"; "1,000,000: user time")),
    time_row("... system time"; "80.41 s"; million("thread"; "1,000,000: system time")),
    ["... busy CPUs", "2.24, of about 8", (million("thread"; "1,000,000: busy CPUs") | mean), "two CPUs here"],
    ["... peak, each", "8 KB", (million("thread"; "1,000,000: peak per body") | mean), (million("thread"; "1,000,000: peak per body") | interval | about(8192))],
    ["... virtual memory", "2 TB", "2 MiB each are std's default, not `ulimit -s`", "holds"],
    time_row("a million goroutines, not gated"; "2.44 s"; million("goroutine"; "1,000,000")),
    time_row("... user time"; "16.66 s"; million("goroutine"; "1,000,000: user time")),
    time_row("... system time"; "0.68 s"; million("goroutine"; "1,000,000: system time")),
    ["... busy CPUs", "7.09, of about 8", (million("goroutine"; "1,000,000: busy CPUs") | mean), "cannot be tried here: two CPUs"],
    ["... peak, each", "2 KB", "\(million("goroutine"; "1,000,000: peak per body") | mean); gated \(million("goroutine"; "1,000,000, gate: peak per body") | mean)", "gated it is more"],
    ["Go's virtual memory", "2 GB", "records hold resident memory", "cannot be tried here"],
    ["limits: `vm.max_map_count`, `kernel.threads-max`", "4,000,000; 2e9", "and `kernel.pid_max`; four maps each with std's stacks", "holds"],
    ["a million Tokio tasks", "–", "\(million("Tokio, multi-thread"; "1,000,000") | mean); gated \(million("Tokio, multi-thread"; "1,000,000, gate") | mean)", "not in the text"]
);
