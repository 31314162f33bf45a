#!/usr/bin/env -S --block-signal=INT python3 -IS
"""A number travels through N generators: the smallest whole program on docs/CONTRACT.md.

One iteration: the driver sends a number into the first generator, which yields it with one added, then
that into the next, and so on: N + 1 hops. Timed: the N calls of send and the loop around them. Left out:
the creation of the generators, and the check of the number. Not to be taken for a switch between tasks of
asyncio: nothing schedules these generators.
"""
import json, os, re, select, signal, sys, time

stopped = []  # The number of a signal, which ends the program after the iteration under way.
def pass_on(passed, k):  # A task. It counts what it passes on.
    token = yield
    while True:
        passed[k] += 1
        token = yield token + 1

def iterate(tasks, start):
    clock, token = time.perf_counter_ns(), start
    for task in tasks:
        token = task.send(token)
    elapsed = time.perf_counter_ns() - clock
    if token != start + len(tasks):
        raise ValueError(f"{token} came out where {start} went in")
    return elapsed

def measure(n, warmup, description):
    clock, passed, samples, begun = time.perf_counter_ns(), [0] * n, [0] * 10_000, 0
    tasks = [pass_on(passed, k) for k in range(n)]
    for task in tasks:
        next(task)
    times = {"setup_ns": time.perf_counter_ns() - clock}
    while begun < warmup and not stopped:
        begun += 1
        times.setdefault("first_ns", iterate(tasks, begun))
    answer(at="ready", pids=[os.getpid()], **times, **description)
    for line in requests():
        if line == "end":
            break
        if line == "hold":  # The tasks always exist, and rest until the next request.
            answer(at="held", pids=[os.getpid()])
        elif not (run := re.fullmatch("run ([1-9][0-9]{0,3}|10000)( main)?", line)):
            raise ValueError(f"cannot follow {line[:80]!a}: write run N [main] with N from 1 to 10000, hold or end")
        else:
            count = 0
            while count < int(run[1]) and not stopped:
                begun, count = begun + 1, count + 1
                samples[count - 1] = iterate(tasks, begun)
            answer(at="ran", samples_ns=samples[:count])
    if sum(passed) != n * begun:
        raise ValueError(f"the tasks passed on {sum(passed)} tokens, expected {n * begun}")
    answer(at="ended")

def requests():  # Lines, until the end of file or a signal, which also writes into a pipe.
    (wake, target), unread = os.pipe(), b""
    os.set_blocking(target, False)
    signal.set_wakeup_fd(target)
    while not stopped and 0 in select.select([0, wake], [], [])[0] and (came := os.read(0, 1024)):
        *lines, unread = (unread + came).split(b"\n")
        for line in lines + [unread] * (len(unread) >= 1024):  # So long a line is refused.
            if not stopped:
                yield " ".join(line.decode(errors="replace").split())

def answer(**fields):
    print(json.dumps(fields), flush=True)

def main(words):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: stopped.append(number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # Python ends with 1 if one comes as it starts.
    flags = {"--tasks": 500, "--warmup": 100, "--describe": False, "--controlled": False}
    try:
        for word in words:
            if word not in flags:
                sys.exit(print(f"unexpected argument {word[:80]!a}", file=sys.stderr) or 2)
            flags[word] = True if flags[word] is False else int(next(words, "none"))
        if not 0 < flags["--tasks"] < 2**31 or flags["--warmup"] < 0 or flags["--describe"] == flags["--controlled"]:
            raise ValueError("write --tasks 1 or more, --warmup 0 or more, and --describe or --controlled")
    except ValueError as error:
        sys.exit(print(str(error)[:300], file=sys.stderr) or 2)
    n, name = flags["--tasks"], os.path.basename(sys.argv[0])
    description = {"contract": 1, "program": name, "version": "0.2.0", "tasks": n, "hops": n + 1, "claim": "user-switch",
                   "passes": [{"name": "main"}], "needs": {"bytes": {"fixed": 16 << 20, "each": 512}}}
    if flags["--describe"]: sys.exit(answer(**description))
    try:
        measure(n, flags["--warmup"], description)
    except Exception as error:
        sys.exit(answer(at="failed", error=str(error)) or 1)
    sys.exit(128 + stopped[0] if stopped else 0)
main(iter(sys.argv[1:]))
