# The tables of docs/CLAIMS.md: claim, figure of its source, figure here, and the verdict of a rule (verdicts.jq).
include "documents";
include "verdicts";

def pinned: "pinned to one CPU";
def hop($row; $column): at("claims"; "Over socket"; $row; $column);
def io($how; $column): hop("I/O alone, \($how)"; $column);
def in_c($row): at("claims"; "C beside Rust"; $row; pinned);
def channel($row; $column): at("claims"; "Over channels"; $row; $column);
def created($row): at("claims"; "Creation"; $row; "unpinned");
def resting($row): at("claims"; "Memory of a task at rest, with"; $row);
def stack($size): at("claims"; "Memory of a thread at rest, by"; $size);
def used($row; $depth): at("claims"; "Memory of a task at rest that"; $row; $depth);
def over_channels($row; $column): at("peers"; "A hop over channels"; $row; $column);
def ping($row; $column): at("peers"; "Ping-pong"; $row; $column);
def stream($row): at("peers"; "Stream"; $row);
def repeater($places; $flavor): stream("Tokio mpsc(\($places)), through a repeater, \($flavor)");
def to_block_on($places; $flavor): stream("Tokio mpsc(\($places)), through a repeater to block_on, \($flavor)");
def go($capacity): ping("goroutine, capacity \($capacity)"; "unpinned");
def unbuffered: "0 (rendezvous)";
def outside($row; $column): at("blocking"; "Spawned from outside of the runtime: time per batch of o"; $row; $column);
def sleeping($row; $column): at("blocking"; "Spawned from outside of the runtime: time per batch of 2"; $row; "a sleep" + $column);
def inside($row; $column): at("blocking"; "What blocks"; $row; $column);
def spinning($row): at("blocking"; "Over the operation's length"; $row; "1 ms");
def body($row; $column): at("body"; "16 bodies"; $row; $column);
def bodies($row; $column): at("sleepers"; "Bodies"; $row; $column);
def million($row; $column): at("sleepers"; "A million"; $row; $column);
def task: "Tokio, multi-thread";
def everyday($row): at("answer"; "Everyday"; $row);
def over_pipes($row; $column): at("answer"; "Switch"; $row; $column);

# What so many tasks take, by the slope.
def of($count): value | scaled($count);
# Creation at one a time within a sleep: how many of theirs were alive, by their own time.
def alive_of($count; $elapsed; $sleep): $count * ($sleep | number) / ($elapsed | number) | exactly("count");
# The most tasks that a program of the record `scale` had alive.
def scaled_to($row): [record("scale").figures[] | select((.row | startswith($row + "-mem-brigade")) and (.outcome | IN("measured", "slope"))) | .x] | max;
# What `switchcost limits PROGRAM` said: tasks that a limit allows, and what each task takes.
def limits_of($program): record("limits") | [.[] | select(.programs[0].program == $program)]
    | ensure(length == 1; "limits: \($program): \(length) lines") | .[0];
def allowed($limit): limits_of("thread-creation") | [.limits[] | select(.name == $limit) | .most["thread-creation"]] | .[0] | exactly("count");
def needed($program; $resource): limits_of($program) | .programs[0].needs[$resource].each | exactly("count");

def headlines: claims(
    row("on one CPU \"the speed advantage of async disappears\": pinned threads ÷ unpinned tasks, socket pairs";
        per("3.417 µs"; "3.589 µs"); over(hop("thread"; pinned); hop("task"; "unpinned")), "both pinned", (hop("thread"; pinned) | ratio); as_equal),
    row("creating a thread ÷ creating a task"; per("17 µs"; "0.3 µs"); created("thread") | ratio; as_ratio),
    row("a thread holds 10 KiB of the kernel's memory"; "10 KiB"; (used("thread"; "0") | part(.kernel)), "its kernel stack alone", (resting("thread") | part(.parts.stacks)); as_size; "a kernel stack is that large since Linux `3.15` (x86-64)"),
    row("a thread holds 20 times as much as a task"; "20"; over(resting("thread"); resting("task")),
        "with a task of Tokio `1.19.2`", over(resting("thread"); original_task("1.19.2")); as_no_longer; "Tokio now aligns tasks and descriptors to cache lines ([memory](findings/memory.md))"),
    row("Tokio's channels use futexes to wake tasks: calls per hop"; "some"; calls("original, Tokio 0.2.19, one thread"; "futex"),
        "ours on one thread", calls("task over channels, one thread"; "futex"), "on several, driver in `block_on`", calls("task over channels, several threads, driver in block_on"; "futex");
        if .values[0].high < 0.01 then "never did" else "holds" end; "the original has one thread; threads are woken by futexes, tasks are not"),
    row("io_uring might change the story: a ring ÷ epoll on one thread, pinned"; "open"; (at("findings"; "What io_uring changes"; "ring"; "pipe") | ratio), "÷ epoll on several", (at("why"; "Switch"; "task on io_uring"; pinned) | ratio); as_asked; "one call in place of four ([io_uring](FINDINGS.md#what-does-io_uring-change))"),
    row("beside JSON or TLS a switch \"fades into insignificance\": a thread switch ÷ parsing a KiB of JSON, at most"; "0.1 (our reading)";
        over(at("\(near_bare)/answer"; "Switch"; "thread over pipes"; "unpinned"); at("\(near_bare)/answer"; "Everyday"; "parsing 1 KiB of JSON")), "near bare metal; where the host delivers wake-ups",
        over(over_pipes("thread over pipes"; "unpinned"); everyday("parsing 1 KiB of JSON")); as_under; "for a task on channels it holds, for JSON ([does it matter](FINDINGS.md#does-any-of-it-matter))"),
    row("physical memory of a thread"; "9.7 KB"; used("thread"; "0"), "and of the kernel", (used("thread"; "0") | part(.kernel)); as_size; "of the process alone"),
    row("\"on CPU-bound computations, async doesn't provide any advantage\": a pool of threads ÷ tasks, computing for a millisecond"; "1"; spinning("dispatch to a pool") | ratio; as_under; "threads take less"),
    row("threads that `kernel.threads-max` allows: fewer than 20,000"; "20,000"; allowed("kernel.threads-max"), "that `vm.max_map_count` allows", allowed("vm.max_map_count"); as_under; "another limit ends it first here"),
    row("goroutine ÷ thread, a switch: over channels ÷ over pipes"; "0.1 (\"order of magnitude\")"; over(go(unbuffered); ping("thread over pipes"; "unpinned")); as_ratio),
    row("Go: a buffer makes \"almost no difference\""; per("440.8 ns"; "452.7 ns"); over(go("4096"); go(unbuffered)); as_equal; "a waiting receiver is handed the message past the buffer"),
    row("Rust takes 4.4 times as long as Go: a message through a repeater ÷ a round trip"; per("1993 ns"; "452.7 ns"); over(repeater(1; "current-thread"); go(unbuffered)),
        "round trip ÷ round trip", over(ping("Tokio mpsc(1), current-thread"; "unpinned"); go(unbuffered)); as_ratio; "its Rust program switches three tasks, its Go program two; its Tokio was of another design"),
    row("blocking the runtime's thread is fastest \"in all cases tested\": the best other one ÷ it"; "1 and more"; "nothing to do", (outside("dispatch to a pool"; "nothing") | ratio),
        "sorting", (outside("spawn_blocking"; "work") | ratio), "sleeping", (sleeping("dispatch to a pool"; "") | ratio); as_least; "and [its neighbours wait](FINDINGS.md#what-if-a-task-must-block)"),
    row("... with a millisecond of computing, which he did not test"; "1 and more"; spinning("dispatch to a pool") | ratio; as_least),
    row("a map on a tmpfs with huge pages outperforms gathered memory: ÷ it"; per("79.71 ms"; "85.53 ms"); over(body("in a map, tmpfs, huge pages"; "in the task"); body("in memory, gathered"; "in the task")); as_side),
    row("a million sleeping threads, as readers take it: alive at once"; "1,000,000"; (million("thread"; "1,000,000: alive at once").mean.value | exactly("count")), "theirs on average, by their own time",
        alive_of(1000000; "38.55 s"; "1 s"); as_reached; "those that slept a second exit while others are created"),
    row("a million goroutines are quicker than threads, over"; "10 times"; over(million("thread"; "1,000,000"); million("goroutine"; "1,000,000")); as_over),
    row("Rust and Go \"could converge\", as stacks grow: a thread's user memory ÷ a goroutine's, 64 KiB in use"; "1";
        over(used("thread"; "64 KiB deep"); used("goroutine, in use"; "64 KiB deep")), "after the use", over(used("thread"; "64 KiB deep"); used("goroutine"; "64 KiB deep")); as_ratio; "a goroutine gives it back, a thread keeps it")
);

def context_switch: claims(
    row("a switch of threads ÷ of tasks over channels"; per("1.7 µs"; "0.2 µs"); over(hop("thread"; pinned) | net; channel("task, current-thread"; "unpinned")); as_ratio),
    row("\"best-case order-of-magnitude advantages\": thread ÷ task, to keep in memory"; "10"; over(at("answer"; "Memory"; "bare thread") | altogether; at("answer"; "Memory"; "bare task") | altogether), "to create", (created("thread") | ratio),
        "to switch to, in memory", (over_pipes("thread over futexes"; "one CPU") | ratio); as_all_over),
    row("a switch between tasks over channels"; "200 ns"; channel("task, current-thread"; "unpinned"); as_order),
    row("thread-brigade, a hop, unpinned"; "5.313 µs"; hop("thread"; "unpinned"); as_order),
    row("thread-brigade, one CPU"; "3.417 µs"; hop("thread"; pinned); as_order),
    row("async-brigade, unpinned"; "3.589 µs"; hop("task"; "unpinned"); as_order),
    row("a switch of threads, less the I/O, one CPU"; "1.7 µs"; hop("thread"; pinned) | net; as_order),
    row("a switch of tasks, less the same I/O"; "1.7 µs"; less(hop("task"; pinned); io("blocking"; pinned)); as_order),
    row("\"both converge\": threads ÷ tasks, both less the blocking I/O, one CPU"; per("1.7 µs"; "1.7 µs");
        over(less(hop("thread"; pinned); io("blocking"; pinned)); less(hop("task"; pinned); io("blocking"; pinned))),
        "less each its own I/O", (hop("thread"; pinned) | {quantity: "ratio"} + (.net_ratio | bounds)); as_equal),
    row("threads ÷ tasks, unpinned"; per("26.91 s"; "18.19 s"); hop("thread"; "unpinned") | ratio; as_ratio),
    row("CPU time of tasks ÷ elapsed time"; "0.99"; hop("task"; "unpinned: busy CPUs"); as_share),
    row("... of threads, unpinned"; "1.37"; hop("thread"; "unpinned: busy CPUs"); as_share),
    row("... of threads, one CPU"; "0.99"; hop("thread"; pinned + ": busy CPUs"); as_share),
    row("tasks: user ÷ system time"; per("9.83 s"; "8.33 s"); over(hop("task"; "unpinned: user time"); hop("task"; "unpinned: system time")); as_ratio),
    row("threads: user ÷ system time"; per("9.14 s"; "27.88 s"); over(hop("thread"; "unpinned: user time"); hop("thread"; "unpinned: system time")); as_ratio),
    row("creating a task (theirs: async-std)"; "0.3 µs"; created("task"); as_order),
    row("creating a thread"; "17 µs"; created("thread"); as_order),
    row("a thread's user memory"; "9.5 KiB"; resting("thread"); as_size),
    row("a task's user memory"; "0.4 KiB"; resting("task"), "with Tokio `1.19.2`", original_task("1.19.2"); as_no_longer; "tasks and descriptors are now aligned to cache lines ([memory](findings/memory.md))"),
    cannot("a run of 500 threads, resident"; "16,784 KiB"; "theirs is the peak of `cargo run`; that of the program decides it"),
    row("50,000 threads, resident"; "466 MiB"; resting("thread") | of(50000); as_size; "by the slope"),
    row("50,000 tasks, resident"; "21 MiB"; (resting("task") | of(50000)), "with Tokio `1.19.2`", (original_task("1.19.2") | of(50000)); as_no_longer; "by the slopes"),
    cannot("with 50,000 tasks \"the speedup doesn't change much\""; "1.48"; "`ulimit -Hn` of 100,010 decides it"),
    cannot("tasks alive, over socket pairs"; "250,000"; "`ulimit -Hn` of 500,010 decides it; [channels](FINDINGS.md#how-far-does-it-go) take as many"),
    row("threads alive"; "80,000"; (scaled_to("thread") | exactly("count")); as_reached; "over futexes, with raised limits"),
    row("calls of a hop of a thread: reads, writes"; "1 and 1"; (calls("thread over pipes"; "read"), calls("thread over pipes"; "write")); as_counts),
    row("calls of a hop of a task: reads, writes"; "2 and 1"; (calls("task over pipes"; "read"), calls("task over pipes"; "write")); as_counts),
    row("the current-thread scheduler changes little for tasks"; "1"; hop("task, current-thread"; "unpinned") | ratio; as_equal),
    row("a switch costs more than a read and an epoll_wait"; "yes"; (hop("thread"; pinned) | net), "those", less(io("non-blocking"; pinned); io("blocking"; pinned)); as_larger),
    row("each thread takes two descriptors, a process id and (200,000 for 50,000 threads) four memory maps"; "2, 1 and 4"; needed("thread-brigade"; ("descriptors", "threads", "maps")); as_counts; "as the program declares: stack, guard page, signal stack and its guard"),
    row("the size of a stack does not matter: a thread with 8 MiB ÷ with 1 MiB"; "1"; over(stack("8 MiB") | altogether; stack("1 MiB") | altogether); as_equal; "a larger stack may have a page table of its own"),
    row("does the number of tasks matter: a hop of 9,979 threads ÷ of two, one CPU"; "open"; over(point("tasks"; "thread-brigade"; 9979); point("tasks"; "thread-brigade"; 2)),
        "of tasks", over(point("tasks"; "async-brigade"; 9979); point("tasks"; "async-brigade"; 2)); as_asked),
    row("why one CPU is as fast for threads: unpinned ÷ pinned"; "\"I don't know why\""; (at("why"; "Placement"; "unpinned"; "thread over pipes") | ratio), "a crossing at each hop ÷ none", (at("why"; "Placement"; "neighbours on different CPUs"; "thread over pipes") | ratio); as_asked; "a wake-up on another CPU takes longer ([one CPU](findings/one-cpu.md))")
);

def sleepers: claims(
    row("threads: user time"; "0.07 s"; bodies("thread"; "10,000: user time"); as_order),
    row("threads: system ÷ user time"; per("0.57 s"; "0.07 s"); over(bodies("thread"; "10,000: system time"); bodies("thread"; "10,000: user time")); as_ratio),
    row("threads: busy CPUs"; "0.53"; bodies("thread"; "10,000: busy CPUs"); as_share),
    row("threads: elapsed, less the second"; "0.19 s"; less(bodies("thread"; "10,000"); 1e9 | exactly("time")); as_order),
    row("threads: peak of each"; "9.7 KB"; bodies("thread"; "10,000: peak per body"); as_size; "without the kernel's memory"),
    row("threads: virtual memory of each"; "2 MiB"; bodies("thread"; "10,000: virtual memory per body"); as_size),
    row("with raised limits over 100,000 threads run"; "100,000"; bodies("thread"; "100,000, gate: alive at once"); as_reached),
    row("tasks: user time"; "0.02 s"; bodies(task; "10,000: user time"); as_order),
    row("tasks: system time"; "0.01 s"; bodies(task; "10,000: system time"); as_order),
    row("tasks: busy CPUs"; "0.03"; bodies(task; "10,000: busy CPUs"); as_order),
    row("tasks: elapsed"; "1.00 s"; bodies(task; "10,000"); as_equal),
    row("a task, peak ÷ tasks"; "660 B"; bodies(task; "10,000: peak per body"), "less the process, by the slope", (less(bodies(task; "100,000, gate: peak per body") | value | scaled(100000); bodies(task; "10,000, gate: peak per body") | value | scaled(10000)) | scaled(1 / 90000)); as_size)
);

def go_and_rust: claims(
    row("a switch of processes: half a round trip over pipes, one CPU"; "2.5 µs"; ping("process over pipes"; pinned) | value | scaled(0.5); as_order),
    row("C and Rust \"showed same numbers\", for processes: C ÷ Rust, for threads"; "1"; (in_c("thread, C") | ratio), "the I/O alone", (in_c("I/O alone, C") | ratio); as_equal),
    row("thread ÷ process, a round trip, one CPU"; "1"; over(ping("thread over pipes"; pinned); ping("process over pipes"; pinned)); as_equal),
    row("Go, a round trip, capacity 0"; "452.7 ns"; go(unbuffered); as_order),
    row("Go, a round trip, capacity 4096"; "440.8 ns"; go("4096"); as_order),
    row("Rust, a message through a repeater, one place, one thread"; "1.993 µs"; repeater(1; "current-thread"); as_order),
    row("... thread pool ÷ one thread"; per("4727 ms"; "3985 ms"); over(repeater(1; "multi-thread"); repeater(1; "current-thread")),
        "receiver in `block_on`", over(to_block_on(1; "multi-thread"); to_block_on(1; "current-thread")); as_ratio;
        "its `block_on` ran the receiver on the pool; today's runs it on the caller's thread, which the kernel wakes for each message"),
    row("Rust, 4096 places, one thread"; "201.7 ns"; repeater(4096; "current-thread"); as_order),
    row("... thread pool ÷ one thread"; per("1412 ms"; "403.4 ms"); over(repeater(4096; "multi-thread"); repeater(4096; "current-thread")),
        "receiver in `block_on`", over(to_block_on(4096; "multi-thread"); to_block_on(4096; "current-thread")); as_ratio),
    row("\"for many small tasks\" one thread is faster: current-thread ÷ multi-thread"; per("3985 ms"; "4727 ms"); over(repeater(1; "current-thread"); repeater(1; "multi-thread")),
        "with a chain of tasks", over(over_channels("Tokio, current-thread"; "unpinned"); over_channels("Tokio, multi-thread"; "unpinned")); as_side),
    row("buffered, Go's round trip ÷ Rust's message"; per("440.8 ns"; "201.7 ns"); over(go("4096"); repeater(4096; "current-thread")); as_ratio),
    row("channels with a buffer \"preform much better\", 9.9 times: one place ÷ 4096"; per("3985 ms"; "403.4 ms"); over(repeater(1; "current-thread"); repeater(4096; "current-thread")); as_ratio)
);

# The strategies of one operation, each ÷ in the task; and how much less permits vary.
def strategies($name; $within; $theirs; $varies; direct; dispatch; permit; spawn; direct_variation; permit_variation):
    row("\($name), in the task"; $theirs[0]; direct; as_order),
    row("... dispatch ÷ in the task"; per($theirs[1]; $theirs[0]); dispatch | ratio; as_ratio),
    row("... permit ÷ in the task"; per($theirs[2]; $theirs[0]); permit | ratio; as_ratio),
    row("... spawn_blocking ÷ in the task"; per($theirs[3]; $theirs[0]); spawn | ratio; as_ratio),
    row("... variation: permit ÷ in the task"; ($varies | "\(.[2] / .[3] / (.[0] / .[1]) | digits(2))"); over(permit_variation; direct_variation),
        "spawned by a task", over(inside("permit, block_in_place"; $within); inside("in the task"; $within)); as_side);

def permits($workers): "permit, block_in_place, \($workers) workers";
def strategies_outside($name; $column; $theirs; $varies):
    strategies($name; $column + ": variation"; $theirs; $varies; outside("in the task"; $column); outside("dispatch to a pool"; $column);
        outside(permits(8); $column); outside("spawn_blocking"; $column);
        outside("in the task"; $column + ": variation"); outside(permits(8); $column + ": variation"));

# A store of bodies ÷ memory in pieces, in the task.
def store($name; $theirs; $row; $column):
    row("bodies, \($name) ÷ ram"; per($theirs; "58.53 ms"); over(body($row; $column); body("in memory, in pieces"; "in the task")); as_ratio);
def tmpfs($name; $there; $disk; $row; $column):
    row("\($name): tmpfs with huge pages ÷ disk"; per($there; $disk); over(body($row + ", tmpfs, huge pages"; $column); body($row; $column)); as_ratio);

def blocking: claims(
    strategies_outside("noop"; "nothing"; ["52.22 µs", "159.2 µs", "72.94 µs", "147.8 µs"]; [10434, 52220, 3534, 72940]),
    strategies_outside("sorting"; "work"; ["1.253 ms", "1.545 ms", "1.272 ms", "1.574 ms"]; [189310, 1253295, 89466, 1272118]),
    strategies("sleeping"; "a sleep: variation"; ["649.9 µs", "992.5 µs", "800.1 µs", "1625 µs"]; [8448, 649913, 41226, 800128]; sleeping("in the task"; "");
        sleeping("dispatch to a pool"; ""); sleeping(permits(44); ""); sleeping("spawn_blocking"; "");
        sleeping("in the task"; ": variation"); sleeping(permits(44); ": variation")),
    row("sleeping: spawn_blocking ÷ dispatch"; per("1625 µs"; "992.5 µs"); over(sleeping("spawn_blocking"; ""); sleeping("dispatch to a pool"; "")); as_ratio),
    cannot("a semaphore of futures-intrusive ÷ Tokio's, sleeping"; per("6811 µs"; "800.1 µs"); "a strategy on that crate decides it; none was written"),
    row("bodies, ram"; "58.53 ms"; body("in memory, in pieces"; "in the task"); as_order),
    store("ram, gathered"; "81.69 ms"; "in memory, gathered"; "in the task"),
    store("file, direct"; "119.8 ms"; "in a file"; "in the task"),
    store("file, permit"; "141.3 ms"; "in a file"; "permit"),
    store("file, dispatch"; "151.8 ms"; "in a file"; "pool"),
    store("map copied, direct"; "137.4 ms"; "copied out of a map"; "in the task"),
    store("map copied, permit"; "157.1 ms"; "copied out of a map"; "permit"),
    store("map, direct"; "110.5 ms"; "in a map"; "in the task"),
    store("map, permit"; "124.6 ms"; "in a map"; "permit"),
    tmpfs("file, direct"; "94.06 ms"; "119.8 ms"; "in a file"; "in the task"),
    tmpfs("file, permit"; "120.5 ms"; "141.3 ms"; "in a file"; "permit"),
    tmpfs("file, dispatch"; "130.2 ms"; "151.8 ms"; "in a file"; "pool"),
    tmpfs("map copied, direct"; "104.4 ms"; "137.4 ms"; "copied out of a map"; "in the task"),
    tmpfs("map copied, permit"; "129.8 ms"; "157.1 ms"; "copied out of a map"; "permit"),
    tmpfs("map, direct"; "79.71 ms"; "110.5 ms"; "in a map"; "in the task"),
    tmpfs("map, permit"; "99.29 ms"; "124.6 ms"; "in a map"; "permit"),
    row("a map on that tmpfs ÷ ram: \"only a 36% latency overhead\""; per("79.71 ms"; "58.39 ms"); over(body("in a map, tmpfs, huge pages"; "in the task"); body("in memory, in pieces"; "in the task")); as_ratio),
    row("throughput in memory"; "2.14 GiB/s"; body("in memory, in pieces"; "in the task: throughput"); as_order),
    row("CPU time is \"mostly system time\": system ÷ user, file"; "1"; over(body("in a file"; "in the task: system"); body("in a file"; "in the task: user")); as_over)
);

def goroutines: claims(
    row("a million threads, not gated"; "38.55 s"; million("thread"; "1,000,000"); as_order),
    row("... user time"; "6.17 s"; million("thread"; "1,000,000: user time"); as_order),
    row("... system ÷ user time"; per("80.41 s"; "6.17 s"); over(million("thread"; "1,000,000: system time"); million("thread"; "1,000,000: user time")); as_ratio),
    cannot("... busy CPUs"; "2.24"; "a machine with more than two CPUs decides it"),
    row("... peak, each"; "8.5 KB"; million("thread"; "1,000,000: peak per body"); as_size),
    row("virtual memory of a thread"; "2 MB"; bodies("thread"; "100,000, gate: virtual memory per body"); as_size; "std's default, whatever `ulimit -s` says"),
    row("a million goroutines, not gated"; "2.44 s"; million("goroutine"; "1,000,000"); as_order),
    row("... user time"; "16.66 s"; million("goroutine"; "1,000,000: user time"); as_order),
    row("... system time"; "0.68 s"; million("goroutine"; "1,000,000: system time"); as_order),
    cannot("... busy CPUs"; "7.09"; "a machine with eight CPUs decides it"),
    row("... peak, each"; "2,122 B"; million("goroutine"; "1,000,000: peak per body"), "all alive", million("goroutine"; "1,000,000, gate: peak per body"); as_size),
    row("page faults of a thread (theirs of a goroutine: 0.53)"; per("2,125,114"; "1,000,000"); (million("thread"; "1,000,000: page faults") | value | scaled(1 / 1000000)), "of a goroutine", (million("goroutine"; "1,000,000: page faults") | value | scaled(1 / 1000000)); as_ratio),
    row("goroutines take more user time than threads"; per("16.66 s"; "6.17 s"); over(million("goroutine"; "1,000,000: user time"); million("thread"; "1,000,000: user time")); as_side),
    row("virtual memory of a goroutine"; "2 KB"; million("goroutine"; "1,000,000: virtual memory per body"), "all alive", million("goroutine"; "1,000,000, gate: virtual memory per body"); as_size),
    row("a thread's resident memory ÷ a goroutine's"; per("8 KB"; "2 KB"); over(used("thread"; "0"); used("goroutine"; "0")), "with the kernel's", over(used("thread"; "0") | altogether; used("goroutine"; "0") | altogether); as_ratio),
    row("a million threads take `vm.max_map_count`: maps of each"; "4"; needed("thread-creation"; "maps"); as_counts; "as the program declares")
);
