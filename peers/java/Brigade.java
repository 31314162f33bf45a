// Threads in Java, virtual or platform ones (--tasks-are), on the contract docs/CONTRACT.md. --kind is one of
//   hop       A number travels through N threads chained by volatile slots: the giver fills a slot and unparks the
//             taker, which parks until it is full (LockSupport). One iteration: the driver puts the number in, each
//             thread adds one, the driver takes it out: N + 1 hops.
//   queue     The same over SynchronousQueue: a hop also allocates a Long, and a node of the queue.
//   pipe      The same with a byte over OS pipes (java.nio.channels.Pipe). A virtual thread that finds nothing is
//             parked, and a poller of the runtime unparks it.
//   creation  One iteration: N threads are created and started in a row; each writes its number down.
//   sleepers  One iteration: N threads are created, each sleeps (--sleep 1s), all are joined.
//
// Timed: the hops; N constructions and starts; all of the sleepers; and garbage collection that falls into them.
// Left out: creating and joining a chain, joins after a creation, all checks. The driver is a thread of the same
// kind, since a wake-up from outside would cost more.
//
// Not to be taken for what a program pays at its start: a hop grows cheaper while the JIT compiler works. That is
// the warm-up; `--warmup 0` and some `run 1000` show it. The loop of a task, which never returns, is compiled last:
// with JDK 25 a ping-pong of virtual threads takes 60,000 iterations to come to its figure, a chain of 500 some 4000.
// Nor are sleepers alive at once where N creations take longer than the sleep.

import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.LockSupport;

public final class Brigade {
    static final int SETTLE_NS = 5_000_000;
    /** Taken from a link that no more tokens come out of. */
    static final long CLOSED = -1;

    abstract static class Link {
        Thread taker;
        abstract void put(long token) throws Exception;
        abstract long take() throws Exception;
        void close() throws Exception { put(CLOSED); }
    }

    /** Room for the one token that is in flight; 0 where there is none, as tokens begin at 1. */
    static final class Slot extends Link {
        private volatile long token;
        @Override void put(long given) { token = given; LockSupport.unpark(taker); }
        @Override long take() {
            long came;
            while ((came = token) == 0) LockSupport.park();
            token = 0;
            return came;
        }
    }

    static final class Queue extends Link {
        private final SynchronousQueue<Long> queue = new SynchronousQueue<>();
        @Override void put(long token) throws Exception { queue.put(token); }
        @Override long take() throws Exception { return queue.take(); }
    }

    static final class OsPipe extends Link {
        private final ByteBuffer given = ByteBuffer.allocateDirect(1), came = ByteBuffer.allocateDirect(1);
        private final Pipe pipe;
        OsPipe() throws Exception { pipe = Pipe.open(); }
        @Override void put(long token) throws Exception { pipe.sink().write(given.put(0, (byte) token).rewind()); }
        @Override long take() throws Exception {
            if (pipe.source().read(came.rewind()) == 1) return came.get(0) & 0xff;
            pipe.source().close();
            return CLOSED;
        }
        @Override void close() throws Exception { pipe.sink().close(); }
    }

    /** Takes a token, adds one to it, hands it on, until its link is closed. */
    static class Task implements Runnable {
        Link from, to;
        CountDownLatch started;
        Thread thread;
        Throwable cause;
        long passed, adds = 1;
        @Override public void run() {
            started.countDown();
            try { while (passOn()) passed++; } catch (Throwable e) { cause = e; }
            try { to.close(); } catch (Throwable e) { if (cause == null) cause = e; }
        }
        /** A method of its own, which is compiled however long the loop around it lasts. */
        boolean passOn() throws Exception {
            long token = from.take();
            if (token == CLOSED) return false;
            to.put(token + adds);
            return true;
        }
    }

    interface Step { void run() throws Exception; }
    /** Tasks as they are built, iterated by the driver, held while something else is done, and taken down. */
    interface Work {
        void build() throws Exception;
        void iterate() throws Exception;
        default void hold(Step meanwhile) throws Exception { meanwhile.run(); }
        default void end() throws Exception {}
    }

    static final class Chain implements Work {
        private final Task[] all = new Task[tasks];
        private final long mask = kind.equals("pipe") ? 0xff : Long.MAX_VALUE;
        private Link first, last;
        private long begun;
        @Override public void build() throws Exception {
            CountDownLatch started = new CountDownLatch(tasks);
            first = last = link();
            for (int k = 0; k < tasks; k++) {
                Task task = all[k] = new Task();
                task.started = started;
                last.taker = task.thread = threads.newThread(task);
                task.from = fault.equals("panic@" + k) ? null : last;
                task.adds = fault.equals("corrupt@" + k) ? 2 : 1;
                task.to = last = link();
                task.thread.start();
            }
            started.await();
        }
        private static Link link() throws Exception {
            return kind.equals("hop") ? new Slot() : kind.equals("queue") ? new Queue() : new OsPipe();
        }
        @Override public void iterate() throws Exception {
            last.taker = Thread.currentThread();
            while (next()) {
                long came = iteration(++begun & mask), expected = begun + tasks & mask;
                if (came == CLOSED) verify();
                if (came != expected) fail(came + " came out, expected " + expected + ": a task was not visited once");
            }
        }
        private long iteration(long token) throws Exception {
            long clock = System.nanoTime();
            first.put(token);
            long came = last.take();
            record(System.nanoTime() - clock);
            return came;
        }
        @Override public void end() throws Exception {
            last.taker = Thread.currentThread();
            first.close();
            while (last.take() != CLOSED) {}
            for (Task task : all) task.thread.join();
            verify();
        }
        private void verify() {
            long passed = 0, due = begun * tasks;
            for (int k = 0; k < tasks; passed += all[k++].passed)
                if (all[k].cause != null) fail("task " + k + ": " + words(all[k].cause));
            if (passed != due) fail("the tasks passed on " + passed + " tokens, expected " + due);
        }
    }

    /** Threads that are created by the iteration, and that sleep if they are sleepers. */
    static final class Creation implements Work {
        private final Thread[] all = new Thread[tasks];
        private final Runnable[] bodies = new Runnable[tasks];
        private final int[] written = new int[tasks];
        private volatile boolean isHeld;
        @Override public void build() { Arrays.setAll(bodies, k -> () -> body(k)); }
        private void body(int k) {
            try { if (sleep > 0) TimeUnit.NANOSECONDS.sleep(sleep); } catch (InterruptedException e) { return; }
            written[k] = k + 1;
        }
        @Override public void iterate() throws Exception {
            while (next()) {
                Arrays.fill(written, 0);

                long clock = System.nanoTime();
                for (int k = 0; k < tasks; k++) (all[k] = threads.newThread(bodies[k])).start();
                if (sleep > 0) joinAll();
                record(System.nanoTime() - clock);

                joinAll();
                for (int k = 0; k < tasks; k++) if (written[k] != k + 1) fail("task " + k + " did not come to its end");
            }
        }
        private void joinAll() throws Exception { for (Thread thread : all) thread.join(); }
        @Override public void hold(Step meanwhile) throws Exception {
            CountDownLatch started = new CountDownLatch(tasks);
            isHeld = true;
            Runnable body = () -> { started.countDown(); while (isHeld) LockSupport.park(); };
            for (int k = 0; k < tasks; k++) (all[k] = threads.newThread(body)).start();
            started.await();
            meanwhile.run();
            isHeld = false;
            for (Thread thread : all) LockSupport.unpark(thread);
            joinAll();
        }
    }

    // The iterations of one request, or of the warm-up.
    static final long[] samples = new long[10_000];
    static long first, untimed, until;
    static int timed, wanted;
    /** Has a driver iterate. Untimed iterations come first, and none of them begins later than `within` from now. */
    static void iterate(Work work, long settling, long within, int count) throws Exception {
        until = System.nanoTime() + within;
        untimed = settling; wanted = count; timed = 0;
        drive(work::iterate);
    }
    /** Begins the next iteration; false after the last one, or at a signal. */
    static boolean next() {
        if (untimed > 0 && System.nanoTime() - until >= 0) untimed = 0;
        return !isStopping && (untimed > 0 || timed < wanted);
    }
    static void record(long elapsed) {
        if (first == 0) first = elapsed;
        if (untimed > 0) untimed--;
        else samples[timed++] = elapsed;
    }
    /** Makes a step on a thread of the tasks' kind; the main thread is a platform thread. */
    static void drive(Step step) throws Exception {
        FutureTask<Object> driver = new FutureTask<>(() -> { step.run(); return null; });
        if (isVirtual) threads.newThread(driver).start();
        else driver.run();
        try { driver.get(); } catch (ExecutionException e) { fail(words(e.getCause())); }
    }

    /** Errors in words of our own. */
    @SuppressWarnings("serial") static class Failure extends RuntimeException { Failure(String text) { super(text); } }
    @SuppressWarnings("serial") static final class BadUsage extends Failure { BadUsage(String text) { super(text); } }
    static void fail(String text) { throw new Failure(text); }
    static String words(Throwable e) {
        return e instanceof Failure ? e.getMessage() : e + (e instanceof OutOfMemoryError ? ": lower --tasks" : "");
    }

    /** What may follow each flag, and what stands for it. */
    static final Map<String, String> KNOWN = Map.of(
        "--kind", "hop|queue|pipe|creation|sleepers", "--tasks-are", "virtual|platform", "--tasks", "0*[1-9]\\d{0,8}",
        "--warmup", "\\d{1,9}", "--sleep", "[1-9]\\d{0,4}(us|ms|s)", "--test-fault", "(panic|corrupt)@\\d{1,9}");
    static final Map<String, String> flags = new HashMap<>(Map.of(
        "--kind", "hop", "--tasks-are", "virtual", "--tasks", "500", "--warmup", "5000", "--sleep", "1s",
        "--test-fault", ""));
    static String kind, fault, description;
    static boolean isVirtual, isChain, isDescribe, isControlled;
    static int tasks, settle;
    static long sleep;
    static ThreadFactory threads = Thread::new;
    static void parse(String[] words) throws Exception {
        for (int i = 0; i < words.length; i++) {
            String name = words[i], pattern = KNOWN.get(name), value = i + 1 < words.length ? words[i + 1] : "";
            isDescribe |= name.equals("--describe");
            isControlled |= name.equals("--controlled");
            if (name.matches("--describe|--controlled")) continue;
            if (pattern == null) throw new BadUsage("unexpected argument '" + name + "'");
            if (!value.matches(pattern)) throw new BadUsage(name + ": write " + pattern + ", not '" + value + "'");
            flags.put(words[i++], value);
        }
        if (isDescribe == isControlled) throw new BadUsage("write --describe or --controlled: see docs/CONTRACT.md");
        kind = flags.get("--kind");
        fault = flags.get("--test-fault");
        isChain = kind.matches("hop|queue|pipe");
        isVirtual = flags.get("--tasks-are").equals("virtual");
        tasks = Integer.parseInt(flags.get("--tasks"));
        String time = kind.equals("sleepers") ? flags.get("--sleep") : "0s";
        long unit = time.endsWith("us") ? 1000 : time.endsWith("ms") ? 1_000_000 : 1_000_000_000;
        sleep = Long.parseLong(time.replaceAll("\\D", "")) * unit;
        settle = sleep > 0 ? 0 : 3;
        if (!isVirtual) return;
        int jdk = Runtime.version().feature();
        if (jdk < 21) throw new BadUsage("--tasks-are virtual needs JDK 21 or later; this is " + jdk);
        // By name, so that an older compiler takes this file too: its platform threads can be measured.
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        threads = (ThreadFactory) Class.forName("java.lang.Thread$Builder").getMethod("factory").invoke(builder);
    }
    static String describe() {
        Runtime jvm = Runtime.getRuntime();
        int cpus = jvm.availableProcessors(), own = isVirtual ? 0 : 1, pipe = kind.equals("pipe") ? 1 : 0;
        // Garbage fills the heap that there is at first; the heap that there may be is reserved.
        return String.format("'contract':1,'program':'java-brigade','version':'0.2.0','tasks':%d%s%s,"
            + "'claim':'%s-switch','passes':[{'name':'main','settle':%d}],'alone':%b,'needs':{%s,%s,%s,%s,%s},"
            + "'runtime':{'name':'Java','version':'%s','flavor':'%s threads','workers':%d}", tasks,
            pipe > 0 ? ",'bytes':1" : "", isChain ? ",'hops':" + (tasks + 1) : "", isVirtual ? "user" : "kernel",
            settle, settle == 0, need("descriptors", 16, 2 * pipe), need("threads", 24 + 3 * cpus, own), need("maps", 300, 2 * own),
            need("space", jvm.maxMemory() + (3L << 30), own * (1032 << 10)),
            need("bytes", jvm.totalMemory() + (64 << 20), (isVirtual ? 5 << 10 : 64 << 10) + pipe * (12 << 10)),
            System.getProperty("java.version"), flags.get("--tasks-are"), isVirtual ? cpus : tasks);
    }
    static String need(String name, long fixed, long each) {
        return "'" + name + "':{'fixed':" + fixed + ",'each':" + each + "}";
    }
    static volatile boolean isStopping, isBusy = true;
    public static void main(String[] words) {
        // SIGINT, SIGTERM and SIGHUP run this, and then end the process with 128 + N. A runner kills it after 10 s.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            isStopping = true;
            for (int i = 0; i < 900 && isBusy; i++) LockSupport.parkNanos(10_000_000);
        }));
        int status = 0;
        try {
            parse(words);
            description = describe();
            if (isDescribe) print("{" + description + "}"); else serve();
        } catch (Throwable e) {
            status = e instanceof BadUsage ? 2 : 1;
            String text = words(e).substring(0, Math.min(390, words(e).length())).replaceAll("[^ -~]", "?");
            System.err.println("java-brigade: " + text);
            text = text.replace("\\", "\\\\").replace("\"", "\\\"").replace("'", "\\u0027");
            if (status == 1) System.out.println(("{'at':'failed','error':'" + text + "'}").replace('\'', '"'));
        }
        isBusy = false;
        System.exit(status);
    }
    static void print(String line) {
        System.out.println(line.replace('\'', '"'));
        if (System.out.checkError()) fail("cannot answer the runner: standard output is closed or full");
    }

    static void serve() throws Exception {
        Arrays.fill(samples, 1); // So that they are resident.
        long clock = System.nanoTime();
        Work work = isChain ? new Chain() : new Creation();
        work.build();
        String cold = ",'setup_ns':" + (System.nanoTime() - clock);
        String pids = "'pids':[" + ProcessHandle.current().pid() + "]";
        iterate(work, Long.parseLong(flags.get("--warmup")), Long.MAX_VALUE / 2, 0);
        if (first > 0) cold += ",'first_ns':" + first;
        if (!isStopping) print("{'at':'ready'," + pids + cold + "," + description + "}");
        String[] line = {request()};
        while (!line[0].equals("end")) {
            if (line[0].equals("hold")) {
                work.hold(() -> {
                    System.gc();
                    print("{'at':'held'," + pids + "}");
                    line[0] = request();
                });
            } else if (line[0].matches("run ([1-9]\\d{0,3}|10000)( main)?")) {
                iterate(work, settle, SETTLE_NS, Integer.parseInt(line[0].split(" ")[1]));
                print("{'at':'ran','samples_ns':" + Arrays.toString(Arrays.copyOf(samples, timed)) + "}");
                line[0] = request();
            } else {
                fail("cannot follow '" + line[0] + "': write run N [main] with N from 1 to 10000, hold or end");
            }
        }
        clock = System.nanoTime();
        drive(work::end);
        print("{'at':'ended','teardown_ns':" + (System.nanoTime() - clock) + "}");
    }
    /** The next request; the end of file is one too, and what it cuts off is none. */
    static String request() throws Exception {
        StringBuilder line = new StringBuilder();
        isBusy = false;
        // After a signal the process ends while this waits.
        while (isStopping) Thread.sleep(1000);
        for (int letter; (letter = System.in.read()) != '\n'; line.append((char) letter)) {
            if (letter < 0) return "end";
            if (line.length() == 1023) fail("a request is longer than 1023 bytes");
        }
        isBusy = true;
        return line.toString();
    }
}
