#!/usr/bin/env -S --block-signal=INT python3 -BIS
"""A number travels through N tasks of Python, asyncio's or threads; or N of them are created.

One iteration, by --kind:
  hop       the driver hands a number to the first task, each task adds one and hands it to the next, and
            the last hands it to the driver: N + 1 hops, by asyncio's future or by queue.SimpleQueue, whose
            receiver waits for a lock
  creation  N tasks are created, one after the other

Timed: the whole trip; the N creations. Left out: the creation of a chain, the check of the numbers, and the
end of created tasks. The garbage collector runs as it always does.

Not to be taken for a switch alone. asyncio asks the kernel for events (epoll_wait) before each batch of
tasks that can run, and with one number under way a batch is one task. A thread that wakes another one also
hands over the global interpreter lock, where there is one. Thread.start waits until the new thread runs.

For `hold` the tasks of `creation` wait at a gate.
"""
import array, asyncio, gc, os, platform, queue, re, resource, sys, threading, time

sys.path.append(os.path.dirname(os.path.realpath(__file__)))
from skeleton import NAME, answer, fail, follow, read_flags, requests, stopped

now = time.perf_counter_ns

# Tasks of asyncio. The event loop runs from a request to its answer.
def chain_of_tasks(run):
    loop = asyncio.new_event_loop()
    links = [Slot(loop) for _ in range(run.n + 1)]
    tasks = [loop.create_task(pass_on(run, links[k], links[k + 1])) for k in range(run.n)]
    loop.run_until_complete(asyncio.sleep(0))  # Each comes to where it waits.
    for _ in run.passes():
        loop.run_until_complete(drive(run, links))
    cancel_all(loop, tasks)

async def pass_on(run, source, target):
    get, put, count = source.get, target.put, 0
    try:
        while True:
            put(await get() + 1)
            count += 1
    finally:
        run.passed += count

async def drive(run, links):
    put, get = links[0].put, links[-1].get
    for start in run.iterations():
        clock = now()
        put(start)
        token = await get()
        run.record(now() - clock)
        run.check(token, start + run.n)

class Slot:
    """The future that a receiver waits for."""

    def __init__(self, loop):
        self.new_future = loop.create_future

    def get(self):
        self.future = future = self.new_future()
        return future

    def put(self, token):
        self.future.set_result(token)

def creation_of_tasks(run):
    loop = asyncio.new_event_loop()
    for is_hold in run.passes():
        if is_hold:
            gate = loop.create_future()
            tasks = [loop.create_task(at_gate(gate)) for _ in range(run.n)]
            loop.run_until_complete(asyncio.sleep(0))
            run.held()
            cancel_all(loop, tasks)
            del tasks
        else:
            loop.run_until_complete(create_tasks(run))

async def create_tasks(run):
    tasks = []
    for _ in run.iterations():
        clock = now()
        for k in range(run.n):
            tasks.append(asyncio.create_task(body(k)))
        run.record(now() - clock)
        run.check(await asyncio.gather(*tasks), [*range(run.n)])
        tasks.clear()

async def body(k):
    return k

async def at_gate(gate):
    await gate

def cancel_all(loop, tasks):
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.wait(tasks))

# Threads. The driver is the first one of the process.
def chain_of_threads(run):
    links = [queue.SimpleQueue() for _ in range(run.n + 1)]
    threads = [started(pass_on_thread, run, links[k], links[k + 1]) for k in range(run.n)]
    put, get = links[0].put, links[-1].get
    for _ in run.passes():
        for start in run.iterations():
            clock = now()
            put(start)
            token = get()
            run.record(now() - clock)
            run.check(token, start + run.n)
    put(None)
    join_all(threads)

def pass_on_thread(run, source, target):
    """A task of the chain. None is the end, which runs along the chain."""
    get, put, count = source.get, target.put, 0
    while (token := get()) is not None:
        put(token + 1)
        count += 1
    with run.lock:
        run.passed += count
    put(None)

def creation_of_threads(run):
    for is_hold in run.passes():
        if is_hold:
            gate = threading.Event()
            threads = [started(gate.wait) for _ in range(run.n)]
            run.held()
            gate.set()
            join_all(threads)
        else:
            create_threads(run)

def create_threads(run):
    threads, numbers = [], []
    for _ in run.iterations():
        clock = now()
        for k in range(run.n):
            threads.append(started(thread_body, numbers, k))
        run.record(now() - clock)
        join_all(threads)
        run.check(sorted(numbers), [*range(run.n)])
        threads, numbers = [], []

def thread_body(numbers, k):
    numbers.append(k)

def started(body, *args):
    (thread := threading.Thread(target=body, args=args)).start()
    return thread

def join_all(threads):
    for thread in threads:
        thread.join()

# Passes and samples. None of this is in a timed span.
USAGE = ("user_ns", "system_ns", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")
SETTLE, SETTLE_NS = 3, 5_000_000

class Run:
    def __init__(self, flags, description):
        self.n, self.warmup = int(flags["--tasks"]), int(flags["--warmup"])
        self.is_chain, self.description = flags["--kind"] == "hop", description
        self.samples, self.requests, self.ahead = array.array("Q", bytes(80_000)), requests(), None
        self.begun = self.first = self.passed = 0
        self.lock, self.started = threading.Lock(), now()

    def passes(self):
        """Yields False for each pass, and True where tasks are to be created for `hold`."""
        setup, self.plan = now() - self.started, (self.warmup, 0, float("inf"))
        yield False
        first = {"first_ns": self.first} if self.warmup else {}
        answer(at="ready", pids=[os.getpid()], setup_ns=setup, **first, **self.description)
        while (line := self.request()) != "end":
            if asked := re.fullmatch("run ([1-9][0-9]{0,3}|10000)( main)?", line):
                self.plan = SETTLE, int(asked[1]), now() + SETTLE_NS
                yield False
                answer(at="ran", samples_ns=self.samples[:self.count].tolist(), usage=dict(zip(USAGE, self.usage)))
            elif line != "hold":
                raise ValueError(f"cannot follow {line[:80]!a}: write run N [main] with N from 1 to 10000, hold or end")
            elif self.is_chain:
                self.held()
            else:
                yield True
        self.rested = now()

    def iterations(self):
        """Yields the number that begins to travel; the first iterations are not timed."""
        untimed, timed, until = self.plan
        self.count, self.is_timing = 0, False
        while untimed and now() < until and not stopped:
            untimed, self.begun = untimed - 1, self.begun + 1
            yield self.begun
            self.first = self.first or self.samples[0]
        self.is_timing, before = True, used()
        while self.count < timed and not stopped:
            self.begun += 1
            yield self.begun
        self.usage = [b - a for a, b in zip(before, used())]

    def record(self, elapsed):
        self.samples[self.count] = elapsed
        self.count += self.is_timing

    def check(self, came, expected):
        if came != expected:
            raise ValueError(f"{came} came out, expected {expected}: each task must be visited once"[:300])

    def held(self):
        gc.collect()
        answer(at="held", pids=[os.getpid()])
        self.ahead = next(self.requests, "end")

    def request(self):
        line, self.ahead = self.ahead, None
        return next(self.requests, "end") if line is None else line

def used():
    u = resource.getrusage(resource.RUSAGE_SELF)
    times = [round(seconds * 1e6) * 1000 for seconds in (u.ru_utime, u.ru_stime)]
    return *times, u.ru_nvcsw, u.ru_nivcsw, u.ru_minflt, u.ru_majflt

# Flags: what may follow each, and its default.
FLAGS = {
    "--tasks": ("[1-9][0-9]{0,8}", "500"), "--warmup": ("[0-9]{1,18}", "100"),
    "--kind": ("hop|creation", "hop"), "--tasks-are": ("asyncio|threads", "asyncio"),
}

def describe(flags):
    n, is_async = int(flags["--tasks"]), flags["--tasks-are"] == "asyncio"
    is_free = not getattr(sys, "_is_gil_enabled", lambda: True)()
    return {
        "contract": 1, "program": NAME, "version": "0.2.0", "tasks": n,
        **({"hops": n + 1} if flags["--kind"] == "hop" else {}),
        "claim": "user-switch" if is_async else "kernel-switch",
        "passes": [{"name": "main", "settle": SETTLE}],
        "runtime": {
            "name": "Python", "version": platform.python_version(),
            "flavor": flags["--tasks-are"] + ", free-threaded" * is_free,
            "workers": os.cpu_count() if is_free and not is_async else 1,
        },
    }

def measure(flags, description):
    run = Run(flags, description)
    tasks, threads = (creation_of_tasks, chain_of_tasks), (creation_of_threads, chain_of_threads)
    threading.excepthook = lambda failed: fail(failed.exc_value)  # Of a task: nobody would notice its end.
    (tasks if flags["--tasks-are"] == "asyncio" else threads)[run.is_chain](run)
    run.check(run.passed, run.n * run.begun * run.is_chain)
    answer(at="ended", teardown_ns=now() - run.rested)

flags = read_flags(iter(sys.argv[1:]), FLAGS)
follow(flags, describe(flags), measure)
