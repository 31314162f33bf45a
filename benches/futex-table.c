/* Cost of a futex wake-up beside threads that sleep in the same table, and its law:
 *
 *     wake = a + b * sleepers / slots
 *
 *   cc -O2 -pthread -o futex-table benches/futex-table.c -lm && ./futex-table
 *
 * All of it runs on one CPU, under SCHED_BATCH, so that a woken thread runs when its waker sleeps. Idle threads sleep, each
 * on a word of its own. 'Nobody': FUTEX_WAKE on words without waiters. 'Thread': two threads wake each other in turn, a
 * hop. Both go through 4,096 words, a sample of the slots. Each table is that of a fresh process (PR_FUTEX_HASH, Linux
 * 6.17), or the system's, of 256 slots for each CPU. In the law, a is the time without sleepers; b is fitted for each
 * number of sleepers to every other table (least squares of relative errors), and predicts the rest. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HASH = 78, SET_SLOTS = 1, GET_SLOTS = 2, STACK = 128 << 10, LINE = 64 / sizeof(int), WORDS = 4096, TABLES = 9, COUNTS = 6, BATCHES = 15 };
static const int counts[COUNTS] = {0, 64, 256, 1024, 4096, 16384};
static unsigned long slots[TABLES] = {2, 8, 32, 128, 512, 2048, 8192, 65536, 0}; /* 0: the system's */
static atomic_int *words, asleep;
static double (*times)[TABLES][COUNTS]; /* in ns: of nobody, of a thread; shared with the second process */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static atomic_int *word(long k) { return words + k % WORDS * LINE; }

static void wake(atomic_int *at) { syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1); }

static void signal_at(long k) {
    atomic_store_explicit(word(k), 1, memory_order_release);
    wake(word(k));
}

static void await(long k) {
    while (!atomic_exchange_explicit(word(k), 0, memory_order_acquire))
        syscall(SYS_futex, word(k), FUTEX_WAIT_PRIVATE, 0, NULL);
}

static void *other_side(void *unused) {
    for (long k = 0;; k += 2) await(k), signal_at(k + 1);
    return unused;
}

static void *idle(void *own) {
    asleep++;
    for (;;) syscall(SYS_futex, own, FUTEX_WAIT_PRIVATE, 0, NULL);
    return own;
}

static int ascending(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }

/* Median of batches of about a millisecond, or of one operation if that takes longer. */
static double time_of(int kind) {
    static long of_nobody, of_thread;
    double batches[BATCHES];
    long each = 1;
    for (int batch = -1; batch < BATCHES; batch++) { /* the first one finds the size */
        double begun = now(), spent;
        long done = 0;
        for (; batch < 0 ? now() - begun < 1e6 : done < each; done++)
            if (kind) signal_at(of_thread), await(of_thread + 1), of_thread += 2;
            else wake(word(of_nobody++));
        spent = now() - begun;
        if (batch < 0) each = done;
        else batches[batch] = spent / each / (kind ? 2 : 1);
    }
    qsort(batches, BATCHES, sizeof *batches, ascending);
    return batches[BATCHES / 2];
}

/* Fills the times of a table for each number of sleepers. */
static void measure(int t) {
    pthread_attr_t small;
    pthread_t id;
    pthread_attr_init(&small), pthread_attr_setstacksize(&small, STACK), pthread_attr_setguardsize(&small, 0);
    pthread_create(&id, &small, other_side, NULL);
    for (int i = 0; i < COUNTS; i++) {
        for (int k = asleep; k < counts[i]; k++)
            if (pthread_create(&id, &small, idle, words + (WORDS + k) * LINE)) {
                if (!slots[t]) fprintf(stderr, "futex-table: no thread %d: raise kernel.pid_max, ulimit -u, pids.max\n", k + 1);
                return;
            }
        while (asleep < counts[i]) usleep(1000);
        usleep(100000);
        for (int kind = 0; kind < 2; kind++) time_of(kind), times[kind][t][i] = time_of(kind);
    }
}

/* The line of so many sleepers: a is the median of all tables without sleepers, b is fitted to every other table. */
static void law(double table[TABLES][COUNTS], int i) {
    static const double t95[] = {0, 12.71, 4.303, 3.182, 2.776};
    double bare[TABLES], sxx = 0, sxy = 0, residual = 0, worst = 0;
    int known = 0, fitted = 0;
    for (int t = 0; t < TABLES; t++)
        if (table[t][i]) bare[known++] = table[t][0];
    if (known < 3) return;
    qsort(bare, known, sizeof *bare, ascending);
    double a = bare[known / 2], y, x;
    for (int t = 0; t < TABLES; t += 2)
        if ((y = table[t][i])) x = (double)counts[i] / slots[t], sxx += x * x / y / y, sxy += x * (y - a) / y / y, fitted++;
    double b = sxy / sxx;
    for (int t = 0; t < TABLES; t++)
        if ((y = table[t][i])) {
            double error = (a + b * counts[i] / slots[t]) / y - 1;
            if (t % 2 == 0) residual += error * error;
            else if (fabs(error) > fabs(worst)) worst = error;
        }
    double half = t95[fitted - 1] * sqrt(residual / (fitted - 1) / sxx);
    printf("%6d sleepers: %.0f ns + %.1f ns [%.1f, %.1f] * sleepers / slots; of %d others the worst is %+.0f %% off\n", counts[i],
           a, b, b - half, b + half, known - fitted, worst * 100);
}

int main(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    int access = PROT_READ | PROT_WRITE, cpus = sysconf(_SC_NPROCESSORS_CONF), status;
    if (sched_setaffinity(0, sizeof one, &one)) return perror("futex-table: sched_setaffinity"), 1;
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
    words = mmap(NULL, (WORDS + counts[COUNTS - 1]) * LINE * sizeof *words, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    times = mmap(NULL, 2 * sizeof *times, access, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (words == MAP_FAILED || times == MAP_FAILED) return perror("futex-table: mmap"), 1;
    for (int t = 0; t < TABLES; t++) {
        pid_t child = fork();
        if (child < 0) return perror("futex-table: fork"), 1;
        if (!child) {
            int refused = prctl(HASH, SET_SLOTS, slots[t], 0ul, 0ul);
            if (!slots[t] || (!refused && prctl(HASH, GET_SLOTS, 0ul, 0ul, 0ul) == (int)slots[t])) measure(t);
            _exit(0);
        }
        if (waitpid(child, &status, 0) < 0 || status) return fprintf(stderr, "futex-table: a process was killed\n"), 1;
    }
    if (!times[0][0][0]) printf("No law: no process has a table of its own here (Linux 6.17: CONFIG_FUTEX_PRIVATE_HASH).\n");
    for (slots[TABLES - 1] = 256; slots[TABLES - 1] < 256ul * cpus;) slots[TABLES - 1] *= 2;
    for (int kind = 0; kind < 2; kind++) {
        printf("\nns to wake %s\n%8s", kind ? "a thread that runs then, a hop" : "nobody", "slots");
        for (int i = 0; i < COUNTS; i++) printf("%10d", counts[i]);
        for (int t = 0; t < TABLES; t++) {
            if (times[kind][t][0]) printf("\n%7lu%c", slots[t], t == TABLES - 1 ? '*' : ' ');
            for (int i = 0; i < COUNTS && times[kind][t][i]; i++) printf("%10.0f", times[kind][t][i]);
        }
        printf("\n* the system's table\n");
        for (int i = 1; i < COUNTS; i++) law(times[kind], i);
    }
    return 0;
}
