#!/usr/bin/env -S --block-signal=INT python3 -IS
"""A number travels through N tasks of Python, asyncio's or threads; or N of them are created.

One iteration, by --kind:
  hop       the driver hands a number to the first task, each task adds one and hands it to the next, and
            the last hands it to the driver: N + 1 hops, by asyncio's future or by queue.SimpleQueue, whose
            receiver waits for a lock
  queue     the same over asyncio.Queue(1) or queue.Queue(1)
  pipe      the same, a byte over pipes: asyncio's event loop reads it and settles a future, threads read it
  creation  N tasks are created, one after the other
  sleepers  N tasks are created, each sleeps for --sleep, and all of them are awaited

Timed: the whole trip; the N creations; all that sleepers do. Left out: the creation of a chain, the check
of the numbers, and for `creation` the end of the tasks. The garbage collector runs as it always does.

Not to be taken for a switch alone. asyncio asks the kernel for events (epoll_wait) before each batch of
tasks that can run, and with one number under way a batch is one task. A thread that wakes another one also
hands over the global interpreter lock, where there is one. Thread.start waits until the new thread runs.

For `hold` the tasks of `creation`, and threads that are to sleep, wait at a gate; sleepers of asyncio sleep.
"""
import array, asyncio, gc, json, os, platform, queue, re, resource, select, signal, sys, threading, time

now = time.perf_counter_ns
# Tasks of asyncio. The event loop runs from a request to its answer.
def chain_of_tasks(run):
    loop = asyncio.new_event_loop()
    make = {"hop": AsyncSlot, "queue": lambda _: asyncio.Queue(1), "pipe": AsyncPipe}[run.kind]
    links = [make(loop) for _ in range(run.n + 1)]
    tasks = [loop.create_task(pass_on(run, links, run.steps.get(k, 1), k)) for k in range(run.n)]
    loop.run_until_complete(asyncio.sleep(0))  # Each comes to where it waits.
    for _ in run.passes():
        run.driver = loop.create_task(drive(run, links))
        loop.run_until_complete(run.driver)
    cancel_all(loop, tasks)

async def pass_on(run, links, step, k):
    get, put, count = links[k].get, links[k + 1].put_nowait, 0
    try:
        while True:
            put(await get() + step)
            count += 1
    except Exception as error:
        run.errors[k] = error
        run.driver.cancel()
    finally:
        run.passed[k] = count

async def drive(run, links):
    put, get = links[0].put_nowait, links[-1].get
    for start in run.iterations():
        clock = now()
        put(start)
        token = await get()
        run.record(now() - clock)
        run.check(token, start + run.n & run.mask)

class AsyncSlot:
    """The future that a receiver waits for."""
    def __init__(self, loop):
        self.new_future = loop.create_future
    def get(self):
        self.future = future = self.new_future()
        return future
    def put_nowait(self, token):
        self.future.set_result(token)

class AsyncPipe(AsyncSlot):
    def __init__(self, loop):
        super().__init__(loop)
        self.source, self.target = os.pipe()
        loop.add_reader(self.source, lambda: self.future.set_result(os.read(self.source, 1)[0]))
    def put_nowait(self, token):
        os.write(self.target, bytes((token & 255,)))

def creation_of_tasks(run):
    loop = asyncio.new_event_loop()
    for is_hold in run.passes():
        if is_hold:
            gate = loop.create_future()
            tasks = [loop.create_task(body(k, A_DAY) if run.sleep else at_gate(gate)) for k in range(run.n)]
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
            tasks.append(asyncio.create_task(body(k, run.sleep)))
        if run.sleep:
            await asyncio.wait(tasks)
        run.record(now() - clock)
        run.check(await asyncio.gather(*tasks), [*range(run.n)])
        tasks.clear()

async def body(k, sleep):
    if sleep:
        await asyncio.sleep(sleep)
    return k

async def at_gate(gate):
    await gate

def cancel_all(loop, tasks):
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.wait(tasks))

# Threads. The driver is the first one of the process.
def chain_of_threads(run):
    make = {"hop": queue.SimpleQueue, "queue": lambda: queue.Queue(1), "pipe": Pipe}[run.kind]
    links = [make() for _ in range(run.n + 1)]
    threads = [started(pass_on_thread, run, links, run.steps.get(k, 1), k) for k in range(run.n)]
    put, get = links[0].put, links[-1].get
    for _ in run.passes():
        for start in run.iterations():
            clock = now()
            put(start)
            token = get()
            run.record(now() - clock)
            run.check(token, start + run.n & run.mask)
    put(None)
    join_all(threads)

def pass_on_thread(run, links, step, k):
    """A task of the chain. None is the end, which runs along the chain."""
    get, put, count = links[k].get, links[k + 1].put, 0
    try:
        while (token := get()) is not None:
            put(token + step)
            count += 1
    except Exception as error:
        run.errors[k] = error
    run.passed[k] = count
    put(None)

class Pipe:
    def __init__(self):
        self.source, self.target = os.pipe()
    def get(self):
        data = os.read(self.source, 1)
        return data[0] if data else None
    def put(self, token):
        os.close(self.target) if token is None else os.write(self.target, bytes((token & 255,)))

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
            threads.append(started(thread_body, numbers, k, run.sleep))
        if run.sleep:
            join_all(threads)
        run.record(now() - clock)
        join_all(threads)
        run.check(sorted(numbers), [*range(run.n)])
        threads, numbers = [], []

def thread_body(numbers, k, sleep):
    if sleep:
        time.sleep(sleep)
    numbers.append(k)

def started(body, *args):
    (thread := threading.Thread(target=body, args=args)).start()
    return thread

def join_all(threads):
    for thread in threads:
        thread.join()

# The contract, docs/CONTRACT.md. None of it is in a timed span.
NAME, CHAINS = os.path.basename(sys.argv[0]), ("hop", "queue", "pipe")
MOST_SAMPLES, SETTLE_NS, LONGEST_LINE, A_DAY = 10_000, 5_000_000, 1024, 86_400
USAGE = ("user_ns", "system_ns", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")
FLAGS = {  # What may follow each, and its default.
    "--tasks": ("[1-9][0-9]{0,8}", "500"), "--warmup": ("[0-9]{1,18}", "100"),
    "--kind": ("hop|queue|pipe|creation|sleepers", "hop"), "--tasks-are": ("asyncio|threads", "asyncio"),
    "--sleep": ("[1-9][0-9]{0,4}(us|ms|s)", "1s"), "--test-fault": ("(corrupt|panic)@[0-9]{1,9}", ""),
}

class Failure(Exception): "The reason why nothing can be measured."

class Run:
    def __init__(self, flags, description):
        self.n, self.kind, self.warmup = int(flags["--tasks"]), flags["--kind"], int(flags["--warmup"])
        self.sleep, self.steps, self.mask = flags["--sleep"], flags["--test-fault"], 255 if self.kind == "pipe" else -1
        self.description, self.errors, self.passed = description, {}, {}
        self.samples, self.unread, self.ahead = array.array("Q", bytes(8 * MOST_SAMPLES)), b"", None
        self.begun = self.first = self.signal = 0
        resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE)[1:] * 2)
        self.wake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(each) is not signal.SIG_IGN:
                signal.signal(each, self.stop)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # Python ends with 1 if one comes as it starts.
        self.started = now()
    def stop(self, number, _):
        self.signal = self.signal or number

    def passes(self):
        """Yields False for each pass, and True where tasks are to be created for `hold`."""
        setup, self.plan = now() - self.started, (self.warmup, 0, float("inf"))
        yield False
        first = {"first_ns": self.first} if self.warmup else {}
        answer(at="ready", pids=[os.getpid()], setup_ns=setup, **first, **self.description)
        while (line := self.request()) != "end":
            if asked := re.fullmatch("run ([1-9][0-9]{0,3}|10000)( main)?", line):
                self.plan = self.description["passes"][0]["settle"], int(asked[1]), now() + SETTLE_NS
                yield False
                answer(at="ran", samples_ns=self.samples[:self.count].tolist(), usage=dict(zip(USAGE, self.usage)))
            elif line != "hold":
                raise Failure(f"cannot follow {line[:80]!a}: write run N [main] with N from 1 to 10000, hold or end")
            elif self.kind in CHAINS:
                self.held()
            else:
                yield True
        self.rested = now()

    def iterations(self):
        """Yields the number that begins to travel; the first iterations are not timed."""
        untimed, timed, until = self.plan
        self.count, self.is_timing = 0, False
        while untimed and now() < until and not self.signal:
            untimed, self.begun = untimed - 1, self.begun + 1
            yield self.begun
            self.first = self.first or self.samples[0]
        self.is_timing, before = True, used()
        while self.count < timed and not self.signal:
            self.begun += 1
            yield self.begun
        self.usage = [b - a for a, b in zip(before, used())]

    def record(self, elapsed):
        self.samples[self.count] = elapsed
        self.count += self.is_timing
    def check(self, came, expected):
        if came != expected:
            raise Failure(f"{came} came out, expected {expected}: each task must be visited once"[:300])
    def held(self):
        gc.collect()
        answer(at="held", pids=[os.getpid()])
        self.ahead = self.request()

    def request(self):
        """The next line; the end of file and a signal are `end`."""
        line, self.ahead = self.ahead, None
        while line is None and not self.signal:
            text, end, rest = self.unread.partition(b"\n")
            if end:
                line, self.unread = " ".join(text.decode(errors="replace").split()), rest
            elif len(text) >= LONGEST_LINE:
                raise Failure(f"a request is longer than {LONGEST_LINE - 1} bytes")
            elif 0 in select.select([0, self.wake], [], [])[0]:
                self.unread += (came := os.read(0, LONGEST_LINE))
                line = None if came else "end"
        return "end" if self.signal else line

def used():
    u = resource.getrusage(resource.RUSAGE_SELF)
    times = [round(seconds * 1e6) * 1000 for seconds in (u.ru_utime, u.ru_stime)]
    return *times, u.ru_nvcsw, u.ru_nivcsw, u.ru_minflt, u.ru_majflt

def answer(**fields):
    line = json.dumps(fields, separators=(",", ":")).encode() + b"\n"
    try:
        while line:
            line = line[os.write(1, line):]
    except OSError as error:
        leave(f"cannot answer the runner: {error.strerror}", 1)

def leave(message, status):
    """Ends the process with one line for people, whatever its threads do."""
    line = "".join(c if c.isprintable() else "?" for c in message)
    os.write(2, f"{NAME}: {line[:400]}\n".encode(errors="replace"))
    os._exit(status)

def read_flags(words):
    flags = {name: default for name, (_, default) in FLAGS.items()} | {"--describe": False, "--controlled": False}
    for word in words:
        if word not in flags:
            leave(f"unexpected argument '{word}'", 2)
        flags[word] = next(words, "") if word in FLAGS else True
        if word in FLAGS and not re.fullmatch(FLAGS[word][0], flags[word]):
            leave(f"{word}: write {FLAGS[word][0]}, not '{flags[word][:80]}'", 2)
    if flags["--describe"] == flags["--controlled"]:
        leave("write --describe or --controlled; `switchcost stat` measures and prints text", 2)
    seconds = float(flags["--sleep"].replace("us", "e-6").replace("ms", "e-3").rstrip("s"))
    flags["--sleep"] = seconds if flags["--kind"] == "sleepers" else 0
    fault, _, place = flags["--test-fault"].partition("@")
    flags["--test-fault"] = {int(place): 2 if fault == "corrupt" else "one"} if fault else {}
    return flags

def describe(flags):
    n, kind, is_async = int(flags["--tasks"]), flags["--kind"], flags["--tasks-are"] == "asyncio"
    is_free = not getattr(sys, "_is_gil_enabled", lambda: True)()
    each = {"queue": 6, "pipe": 12}.get(kind, 3) if is_async else {"queue": 60, "pipe": 64}.get(kind, 56)
    needs = {"descriptors": (10, 2 * (kind == "pipe")), "bytes": (26 << 20, each << 10), "maps": (192, 0)}
    if not is_async:  # The C library's usual stacks, 8 MiB each, and its arenas.
        needs |= {"threads": (0, 1), "maps": (192, 3), "space": (1 << 30, 8 << 20)}
    return {
        "contract": 1, "program": NAME, "version": "0.2.0", "tasks": n,
        "needs": {name: {"fixed": fixed, "each": each} for name, (fixed, each) in needs.items()},
        **({"hops": n + 1} if kind in CHAINS else {}), **({"bytes": 1} if kind == "pipe" else {}),
        "claim": "user-switch" if is_async else "kernel-switch",
        "passes": [{"name": "main", "settle": 0 if kind == "sleepers" else 3}], "alone": kind == "sleepers",
        "runtime": {"name": "Python", "version": platform.python_version(), "workers": os.cpu_count() if is_free and not is_async else 1,
                    "flavor": flags["--tasks-are"] + ", free-threaded" * is_free},
    }

def main():
    flags = read_flags(iter(sys.argv[1:]))
    description = describe(flags)
    if flags["--describe"]: return answer(**description)
    run, is_chain = Run(flags, description), flags["--kind"] in CHAINS
    tasks, threads = (creation_of_tasks, chain_of_tasks), (creation_of_threads, chain_of_threads)
    try:
        (tasks if flags["--tasks-are"] == "asyncio" else threads)[is_chain](run)
        run.check(sum(run.passed.values()), run.n * run.begun * is_chain)
    except BaseException as error:
        run.errors["driver"] = error
    for task, error in run.errors.items():  # The first one is the cause of the others.
        text = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if task != "driver":
            text = f"task {task}: {text}"
        elif isinstance(error, (OSError, MemoryError, RuntimeError)):
            text += f": lower --tasks, or see `switchcost limits {NAME} --tasks {run.n}`"
        answer(at="failed", error=text[0].lower() + text[1:])
        os._exit(1)
    answer(at="ended", teardown_ns=now() - run.rested)
    os._exit(128 + run.signal if run.signal else 0)
main()
