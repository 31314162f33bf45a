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

def measure(flags, description):
    n, warmup = int(flags["--tasks"]), int(flags["--warmup"])
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

def fail(error):  # At once, whatever threads do, and whether or not anybody listens.
    try:
        answer(at="failed", error=str(error) or type(error).__name__)
    finally:
        os._exit(1)

def refuse(why):
    print(why[:300], file=sys.stderr)
    sys.exit(2)

def read_flags(words, known):
    flags = {name: default for name, (_, default) in known.items()} | {"--describe": False, "--controlled": False}
    for word in words:
        if word not in flags:
            refuse(f"unexpected argument {word[:80]!a}")
        flags[word] = next(words, "") if word in known else True
        if word in known and not re.fullmatch(known[word][0], flags[word]):
            refuse(f"{word}: write {known[word][0]}, not {flags[word][:80]!a}")
    if flags["--describe"] == flags["--controlled"]:
        refuse("write --describe or --controlled; `switchcost stat` measures and prints text")
    return flags

def follow(flags, description, measure):
    if flags["--describe"]:
        return answer(**description)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: stopped.append(number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # Python ends with 1 if one comes as it starts.
    try:
        measure(flags, description)
    except Exception as error:
        fail(error)
    os._exit(128 + stopped[0] if stopped else 0)

FLAGS = {"--tasks": ("[1-9][0-9]{0,8}", "500"), "--warmup": ("[0-9]{1,18}", "100")}  # What may follow, and the default.
NAME = os.path.basename(sys.argv[0])

def main():
    flags = read_flags(iter(sys.argv[1:]), FLAGS)
    n = int(flags["--tasks"])
    follow(flags, {
        "contract": 1, "program": NAME, "version": "0.2.0", "tasks": n, "hops": n + 1, "claim": "user-switch",
        "passes": [{"name": "main"}],
    }, measure)

if __name__ == "__main__":
    main()
