#!/usr/bin/env -S node --expose-gc
// Async functions in Node, on the contract docs/CONTRACT.md. Node 18 or later, and nothing else. --kind is one of
//   hop       A number travels through N async functions, each of which awaits a promise that its neighbour
//             resolves. One iteration: the driver resolves the first promise with the number, each function adds
//             one, the driver awaits the last one: N + 1 hops. A hop makes a promise, and runs as a microtask.
//   creation  One iteration: N async functions are called in a row, each awaits a gate. Then the gate opens, and
//             each writes its number down.
//
// Timed: the hops; the N calls; and garbage collection that falls into them. Left out:
// building a chain and its end, the opening of the gate, all checks.
//
// Not to be taken for what a program pays at its start: the JIT compiler takes some hundred iterations, which are
// the warm-up. `--warmup 0` and some `run 100` show them. Nor for I/O: the event loop does not turn within an
// iteration. Between iterations it turns once in 10 ms, so that signals are heard.

// Not `node:process`: its import reads all that it exports, and process.stdout makes a pipe non-blocking.
import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';

const MOST_SAMPLES = 10000, SETTLE = 3, SETTLE_MS = 5, TURN_MS = 10;
/** Comes out of a link that no more tokens come out of. */
const CLOSED = -1;
const now = () => performance.now();
/** Counts of an answer, and what they are of `process.resourceUsage()`. */
const USAGE = [
  ['user_ns', 'userCPUTime', 1000], ['system_ns', 'systemCPUTime', 1000],
  ['voluntary_switches', 'voluntaryContextSwitches', 1], ['involuntary_switches', 'involuntaryContextSwitches', 1],
  ['minor_faults', 'minorPageFault', 1], ['major_faults', 'majorPageFault', 1],
];

/** Room for a token: a promise that its giver resolves. A taker always waits before a token comes. */
class Slot {
  #resolve;
  #executor = (resolve) => { this.#resolve = resolve; };
  put(token) { this.#resolve(token); }
  take() { return new Promise(this.#executor); }
}

/** Takes a token, adds one to it, hands it on, until its link is closed. Returns how many it passed on. */
async function passOn(from, to) {
  let passed = 0;
  for (let token; (token = await from.take()) !== CLOSED; passed++) to.put(token + 1);
  to.put(CLOSED);
  return passed;
}

/** A chain of tasks, and the driver at both of its ends. */
class Chain {
  constructor({ tasks }) {
    this.begun = 0;
    this.first = this.last = new Slot();
    this.ends = Array.from({ length: tasks }, () => {
      const from = this.last, to = this.last = new Slot();
      return passOn(from, to);
    });
  }

  async iterate(run) {
    const { first, last, ends } = this;
    while (await run.next()) {
      const start = ++this.begun;

      const clock = now();
      first.put(start);
      const came = await last.take();
      run.record(now() - clock);

      const expected = start + ends.length;
      if (came !== expected) throw new Error(`${came} came out, expected ${expected}: a task was not visited once`);
    }
  }

  async end() {
    this.first.put(CLOSED);
    await this.last.take();
    const passed = (await Promise.all(this.ends)).reduce((sum, each) => sum + each, 0);
    const due = this.begun * this.ends.length;
    if (passed !== due) throw new Error(`the tasks passed on ${passed} tokens, expected ${due}`);
  }

  hold() {}
  release() {}
}

/** Async functions that are called by the iteration. */
class Creation {
  constructor({ tasks }) {
    this.bodies = new Array(tasks).fill(null);
    this.written = new Float64Array(tasks);
  }

  async body(k, gate) {
    await gate;
    this.written[k] = k + 1;
  }

  async iterate(run) {
    const { bodies, written } = this;
    while (await run.next()) {
      const gate = new Promise((open) => { this.open = open; });
      written.fill(0);

      const clock = now();
      for (let k = 0; k < bodies.length; k++) bodies[k] = this.body(k, gate);
      run.record(now() - clock);

      await this.release();
      const idle = written.findIndex((number, k) => number !== k + 1);
      if (idle >= 0) throw new Error(`task ${idle} did not come to its end`);
    }
  }

  hold() {
    const gate = new Promise((open) => { this.open = open; });
    for (let k = 0; k < this.bodies.length; k++) this.bodies[k] = this.body(k, gate);
  }

  async release() {
    this.open();
    await Promise.all(this.bodies);
    this.bodies.fill(null);
  }

  end() {}
}

/** The iterations of one request, or of the warm-up. */
class Run {
  // Written, so that it is resident.
  samples = new Float64Array(MOST_SAMPLES).fill(1);
  turned = now();

  /** Untimed iterations come first, and none of them begins later than `until`. */
  begin(untimed, until, wanted) {
    Object.assign(this, { untimed, until, wanted, timed: 0, before: undefined, after: undefined });
    return this;
  }

  /** Begins the next iteration; false after the last one, or at a signal. */
  async next() {
    if (now() - this.turned > TURN_MS) {
      await setImmediate();
      this.turned = now();
    }
    if (this.untimed > 0 && now() > this.until) this.untimed = 0;
    if (this.untimed === 0 && this.wanted > 0) this.before ??= process.resourceUsage();
    const goesOn = !signal && (this.untimed > 0 || this.timed < this.wanted);
    if (!goesOn) this.after = process.resourceUsage();
    return goesOn;
  }

  record(ms) {
    const ns = Math.round(ms * 1e6);
    this.first ??= ns;
    if (this.untimed > 0) this.untimed--;
    else this.samples[this.timed++] = ns;
  }

  answer() {
    const usage = this.before && Object.fromEntries(USAGE.map(
      ([name, field, unit]) => [name, (this.after[field] - this.before[field]) * unit],
    ));
    return { at: 'ran', samples_ns: Array.from(this.samples.subarray(0, this.timed)), usage };
  }
}

/** Bad usage: status 2. */
class BadUsage extends Error {}

/** What may follow each flag, and what stands for it. */
const FLAGS = {
  '--kind': [/^(hop|creation)$/, 'hop'],
  '--tasks': [/^0*[1-9]\d{0,8}$/, '500'],
  '--warmup': [/^\d{1,9}$/, '500'],
};

function parse(words) {
  const given = Object.fromEntries(Object.entries(FLAGS).map(([name, [, usual]]) => [name, usual])), forms = new Set();
  while (words.length > 0) {
    const name = words.shift();
    if (/^--(describe|controlled)$/.test(name)) forms.add(name);
    else if (!(name in FLAGS)) throw new BadUsage(`unexpected argument '${name}'`);
    else given[name] = words.shift() ?? '';
  }
  if (forms.size !== 1) throw new BadUsage('write --describe or --controlled: see docs/CONTRACT.md');
  for (const [name, [pattern]] of Object.entries(FLAGS)) {
    if (!pattern.test(given[name])) throw new BadUsage(`${name} ${given[name]}: write ${pattern.source}`);
  }
  const [tasks, warmup] = [Number(given['--tasks']), Number(given['--warmup'])];
  return { isChain: given['--kind'] === 'hop', tasks, warmup, describes: forms.has('--describe') };
}

function describe({ isChain, tasks }) {
  return {
    contract: 1, program: 'node-brigade', version: '0.2.0', tasks, ...(isChain && { hops: tasks + 1 }),
    claim: 'user-switch', passes: [{ name: 'main', settle: SETTLE }],
    runtime: { name: 'Node.js', version: process.versions.node, flavor: 'async functions', workers: 1 },
  };
}

let signal = 0, isWaiting = false, received = '', input;

/** The next request; the end of file is one too, and what it cuts off is none. */
async function request() {
  for (;;) {
    if (signal) process.exit(128 + signal);
    const end = received.indexOf('\n');
    if ((end < 0 ? received.length : end) > 1023) throw new Error('a request is longer than 1023 bytes');
    if (end >= 0) {
      const line = received.slice(0, end);
      received = received.slice(end + 1);
      return line;
    }
    isWaiting = true;
    const { value, done } = await input.next();
    isWaiting = false;
    if (done) return 'end';
    received += value;
  }
}

function print(object) {
  let bytes = Buffer.from(`${JSON.stringify(object)}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(fs.writeSync(1, bytes));
}

async function serve(flags) {
  const clock = now();
  const work = flags.isChain ? new Chain(flags) : new Creation(flags);
  const setup_ns = Math.round((now() - clock) * 1e6);
  const run = new Run(), pids = [process.pid];
  await work.iterate(run.begin(flags.warmup, Infinity, 0));
  if (!signal) print({ at: 'ready', pids, setup_ns, first_ns: run.first, ...describe(flags) });
  for (let line = await request(); line !== 'end'; line = await request()) {
    const count = Number(/^run (\d{1,5})( main)?$/.exec(line)?.[1]);
    if (line === 'hold') {
      work.hold();
      globalThis.gc?.();
      print({ at: 'held', pids });
      const next = await request();
      await work.release();
      received = `${next}\n${received}`;
    } else if (count >= 1 && count <= MOST_SAMPLES) {
      await work.iterate(run.begin(SETTLE, now() + SETTLE_MS, count));
      print(run.answer());
    } else {
      throw new Error(`cannot follow '${line.slice(0, 80)}': write run N [main] with N from 1 to 10000, hold or end`);
    }
  }
  const rested = now();
  await work.end();
  print({ at: 'ended', teardown_ns: Math.round((now() - rested) * 1e6) });
}

/** Ends the program for a reason. */
function fail(error) {
  const text = String(error.message ?? error).slice(0, 390).replace(/[^ -~]/g, '?');
  const status = error instanceof BadUsage ? 2 : 1;
  try {
    fs.writeSync(2, `node-brigade: ${text}\n`);
    if (status === 1) print({ at: 'failed', error: text });
  } finally {
    process.exit(status);
  }
}

for (const [name, number] of [['SIGHUP', 1], ['SIGINT', 2], ['SIGTERM', 15]]) {
  process.on(name, () => {
    signal ||= number;
    if (isWaiting) process.exit(128 + signal);
  });
}
process.on('uncaughtException', fail);
try {
  const flags = parse(process.argv.slice(2));
  if (flags.describes) print(describe(flags));
  else {
    input = process.stdin.setEncoding('latin1')[Symbol.asyncIterator]();
    await serve(flags);
  }
  process.exit(0);
} catch (e) {
  fail(e);
}
