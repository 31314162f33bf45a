// Threads in Java, virtual or platform ones (--tasks-are), on the contract docs/CONTRACT.md. --kind is one of
//   hop       A number travels through N threads chained by volatile slots: the giver fills a slot and unparks the
//             taker, which parks until it is full (LockSupport). One iteration: the driver puts the number in, each
//             thread adds one, the driver takes it out: N + 1 hops.
//   creation  One iteration: N threads are created and started in a row; each writes its number down.
//
// Timed: the hops; N constructions and starts; and garbage collection that falls into them.
// Left out: creating and joining a chain, joins after a creation, all checks. The driver is a thread of the same
// kind, since a wake-up from outside would cost more.
//
// Not to be taken for what a program pays at its start: a hop grows cheaper while the JIT compiler works. That is
// the warm-up; `--warmup 0` and some `run 1000` show it. The loop of a task, which never returns, is compiled last:
// with JDK 25 a ping-pong of virtual threads takes 60,000 iterations to come to its figure, a chain of 500 some 4000.

import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

public final class Brigade {
    static final Map<String, String> flags = new HashMap<>(Map.of(
        "--kind", "hop", "--tasks-are", "virtual", "--tasks", "500", "--warmup", "5000"));
    static boolean isVirtual, isChain;
    static int tasks, warmup;
    static ThreadFactory factory = Thread::new;
    static Thread[] threads;

    // A chain.

    /** Taken from a link that no more tokens come out of. */
    static final long CLOSED = -1;

    /** Room for the one token that is in flight; 0 where there is none, as tokens begin at 1. */
    static final class Slot {
        Thread taker;
        private volatile long token;

        void put(long given) {
            token = given;
            LockSupport.unpark(taker);
        }

        long take() {
            long came;
            while ((came = token) == 0) LockSupport.park();
            token = 0;
            return came;
        }
    }

    static final Slot first = new Slot();
    static Slot last = first;
    static final LongAdder passed = new LongAdder();

    static void buildChain() throws Exception {
        CountDownLatch started = new CountDownLatch(tasks);
        for (int k = 0; k < tasks; k++) {
            Slot from = last, to = last = new Slot();
            from.taker = threads[k] = factory.newThread(() -> {
                started.countDown();
                long count = 0;
                while (passOn(from, to)) count++;
                passed.add(count);
            });
            threads[k].start();
        }
        started.await();
    }

    /** Takes a token, adds one to it, hands it on. A method of its own is compiled however long its caller lasts. */
    static boolean passOn(Slot from, Slot to) {
        long token = from.take();
        to.put(token == CLOSED ? CLOSED : token + 1);
        return token != CLOSED;
    }

    static void driveChain() {
        last.taker = Thread.currentThread();
        while (next()) {
            long came = iteration(begun);
            if (came != begun + tasks) throw new Failure(came + " came out, expected " + (begun + tasks));
        }
    }

    static long iteration(long token) {
        long clock = System.nanoTime();
        first.put(token);
        long came = last.take();
        record(System.nanoTime() - clock);
        return came;
    }

    static void endChain() throws Exception {
        first.put(CLOSED);
        joinAll();
        long due = begun * tasks;
        if (passed.sum() != due) throw new Failure("the tasks passed on " + passed + " tokens, expected " + due);
    }

    // Threads that are created by the iteration.

    static Runnable[] bodies;
    static int[] written;
    static volatile boolean isHeld;

    static void buildBodies() {
        written = new int[tasks];
        bodies = new Runnable[tasks];
        Arrays.setAll(bodies, k -> () -> written[k] = k + 1);
    }

    static void create() throws Exception {
        while (next()) {
            Arrays.fill(written, 0);

            long clock = System.nanoTime();
            for (int k = 0; k < tasks; k++) (threads[k] = factory.newThread(bodies[k])).start();
            record(System.nanoTime() - clock);

            joinAll();
            for (int k = 0; k < tasks; k++) {
                if (written[k] != k + 1) throw new Failure("task " + k + " did not come to its end");
            }
        }
    }

    static void joinAll() throws Exception {
        for (Thread thread : threads) thread.join();
    }

    static void hold() throws Exception {
        CountDownLatch started = new CountDownLatch(tasks);
        isHeld = true;
        Runnable body = () -> {
            started.countDown();
            while (isHeld) LockSupport.park();
        };
        for (int k = 0; k < tasks; k++) (threads[k] = factory.newThread(body)).start();
        started.await();
        held();
        isHeld = false;
        for (Thread thread : threads) LockSupport.unpark(thread);
        joinAll();
    }

    // The iterations of one request, or of the warm-up.

    static final int SETTLE = 3;
    static final long[] samples = new long[10_000];
    static long begun, firstTime, untimed, until;
    static int timed, wanted;

    /** Untimed iterations come first, and none of them begins later than `within` from now. */
    static void iterate(long settling, long within, int count) throws Exception {
        until = System.nanoTime() + within;
        untimed = settling;
        wanted = count;
        timed = 0;
        // The main thread is a platform thread, as the driver of platform threads is.
        FutureTask<Object> driver = new FutureTask<>(() -> {
            if (isChain) driveChain();
            else create();
            return null;
        });
        if (isVirtual) factory.newThread(driver).start();
        else driver.run();
        driver.get();
    }

    /** Begins the next iteration; false after the last one, or at a signal. */
    static boolean next() {
        if (untimed > 0 && System.nanoTime() - until >= 0) untimed = 0;
        boolean goesOn = !isStopping && (untimed > 0 || timed < wanted);
        if (goesOn) begun++;
        return goesOn;
    }

    static void record(long elapsed) {
        if (firstTime == 0) firstTime = elapsed;
        if (untimed > 0) untimed--;
        else samples[timed++] = elapsed;
    }

    // The contract.

    static class Failure extends RuntimeException {
        Failure(String text) { super(text); }
    }

    static final class BadUsage extends Failure {
        BadUsage(String text) { super(text); }
    }

    /** Reads the flags; true for --describe. */
    static boolean parse(String[] words) throws Exception {
        Set<String> forms = new HashSet<>();
        for (int i = 0; i < words.length; i++) {
            if (words[i].matches("--describe|--controlled")) forms.add(words[i]);
            else if (!flags.containsKey(words[i])) throw new BadUsage("unexpected argument '" + words[i] + "'");
            else flags.put(words[i], i + 1 < words.length ? words[++i] : "");
        }
        if (forms.size() != 1) throw new BadUsage("write --describe or --controlled: see docs/CONTRACT.md");
        isChain = flag("--kind", "hop|creation").equals("hop");
        isVirtual = flag("--tasks-are", "virtual|platform").equals("virtual");
        tasks = Integer.parseInt(flag("--tasks", "0*[1-9]\\d{0,8}"));
        warmup = Integer.parseInt(flag("--warmup", "\\d{1,9}"));
        int jdk = Runtime.version().feature();
        if (isVirtual && jdk < 21) throw new BadUsage("--tasks-are virtual needs JDK 21 or later; this is " + jdk);
        if (isVirtual) {
            // By name, so that an older compiler takes this file too: its platform threads can be measured.
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            factory = (ThreadFactory) Class.forName("java.lang.Thread$Builder").getMethod("factory").invoke(builder);
        }
        return forms.contains("--describe");
    }

    static String flag(String name, String pattern) {
        String value = flags.get(name);
        if (!value.matches(pattern)) throw new BadUsage(name + ": write " + pattern + ", not '" + value + "'");
        return value;
    }

    static String describe() {
        return """
            "contract":1,"program":"java-brigade","version":"0.2.0","tasks":%d%s,"claim":"%s-switch",\
            "passes":[{"name":"main","settle":%d}],\
            "runtime":{"name":"Java","version":"%s","flavor":"%s threads","workers":%d}""".formatted(
            tasks, isChain ? ",\"hops\":" + (tasks + 1) : "", isVirtual ? "user" : "kernel", SETTLE,
            System.getProperty("java.version"), flags.get("--tasks-are"),
            isVirtual ? Runtime.getRuntime().availableProcessors() : tasks);
    }

    static volatile boolean isStopping, isBusy = true;

    public static void main(String[] words) {
        // SIGINT, SIGTERM and SIGHUP run this, and then end the process with 128 + N. A runner kills it after 10 s.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            isStopping = true;
            for (int i = 0; i < 900 && isBusy; i++) LockSupport.parkNanos(10_000_000);
        }));
        // Of a task too: nobody would notice its end.
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> leave(e));
        try {
            if (parse(words)) answer(describe());
            else serve();
        } catch (Throwable e) {
            leave(e);
        }
        isBusy = false;
        System.exit(0);
    }

    /** Ends the program for a reason. */
    static void leave(Throwable e) {
        if (e instanceof ExecutionException) e = e.getCause();
        boolean isBadUsage = e instanceof BadUsage;
        String text = e instanceof Failure ? e.getMessage() : e + (e instanceof OutOfMemoryError ? ": lower --tasks" : "");
        text = text.substring(0, Math.min(390, text.length())).replaceAll("[^ -~]", "?");
        System.err.println("java-brigade: " + text);
        text = text.replace("\\", "/").replace('"', '\'');
        if (!isBadUsage) System.out.println("{\"at\":\"failed\",\"error\":\"" + text + "\"}");
        isBusy = false;
        System.exit(isBadUsage ? 2 : 1);
    }

    static void answer(String fields, Object... values) {
        System.out.println("{" + fields.formatted(values) + "}");
        if (System.out.checkError()) throw new Failure("cannot answer the runner: standard output is closed or full");
    }

    static void held() throws Exception {
        System.gc();
        answer("\"at\":\"held\"" + PIDS);
        ahead = request();
    }

    static final String PIDS = ",\"pids\":[" + ProcessHandle.current().pid() + "]";
    /** The request that ended a hold. */
    static String ahead;

    static void serve() throws Exception {
        Arrays.fill(samples, 1); // So that they are resident.
        long clock = System.nanoTime();
        threads = new Thread[tasks];
        if (isChain) buildChain();
        else buildBodies();
        long setup = System.nanoTime() - clock;
        iterate(warmup, Long.MAX_VALUE / 2, 0);
        String cold = warmup > 0 ? ",\"first_ns\":" + firstTime : "";
        if (!isStopping) answer("\"at\":\"ready\"%s,\"setup_ns\":%d%s,%s", PIDS, setup, cold, describe());
        for (String line = request(); !line.equals("end"); line = ahead == null ? request() : ahead) {
            ahead = null;
            if (line.equals("hold")) {
                if (isChain) held();
                else hold();
            } else if (line.matches("run ([1-9]\\d{0,3}|10000)( main)?")) {
                iterate(SETTLE, 5_000_000, Integer.parseInt(line.split(" ")[1]));
                answer("\"at\":\"ran\",\"samples_ns\":%s", Arrays.toString(Arrays.copyOf(samples, timed)));
            } else {
                throw new Failure("cannot follow '" + line + "': write run N [main] with N from 1 to 10000, hold or end");
            }
        }
        clock = System.nanoTime();
        if (isChain) endChain();
        answer("\"at\":\"ended\",\"teardown_ns\":%d", System.nanoTime() - clock);
    }

    /** The next request; the end of file is one too, and what it cuts off is none. */
    static String request() throws Exception {
        StringBuilder line = new StringBuilder();
        isBusy = false;
        // After a signal the process ends while this waits.
        while (isStopping) Thread.sleep(1000);
        for (int letter; (letter = System.in.read()) != '\n'; line.append((char) letter)) {
            if (letter < 0) return "end";
            if (line.length() == 1023) throw new Failure("a request is longer than 1023 bytes");
        }
        isBusy = true;
        return line.toString();
    }
}
