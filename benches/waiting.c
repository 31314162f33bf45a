/* The loops of `waiting` in C, and nothing else: what rows that claim to be bare may cost at most. It follows
 * docs/CONTRACT.md as far as timing needs it.
 *
 *   cc -O2 -pthread -o waiting benches/waiting.c
 *   ./waiting --on futex|timerfd [--tasks N] [--warmup N] --controlled
 *
 * Both threads of a round trip share the CPUs of the process; timerfd has one thread. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SAMPLES = 10000, SETTLE = 3 };
enum { FUTEX, TIMERFD, UNKNOWN };

static int on, tasks = 100, warmup = 100, timer;
static atomic_int there, back, is_over;
static long long samples[MOST_SAMPLES];

static void fail(const char *what) {
    printf("{\"at\":\"failed\",\"error\":\"%s\"}\n", what);
    exit(1);
}

static void wake(atomic_int *word) {
    atomic_store_explicit(word, 1, memory_order_release);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}

static void await(atomic_int *word) {
    while (!atomic_exchange_explicit(word, 0, memory_order_acquire))
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL);
}

static void *answer(void *unused) {
    for (await(&there); !is_over; await(&there)) wake(&back);
    return unused;
}

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long iterate(void) {
    const struct itimerspec hour = {.it_value.tv_sec = 3600}, never = {0};
    long long begun = now();
    for (int k = 0; k < tasks; k++)
        if (on == TIMERFD) {
            timerfd_settime(timer, 0, &hour, NULL);
            timerfd_settime(timer, 0, &never, NULL);
        } else {
            wake(&there);
            await(&back);
        }
    return now() - begun;
}

int main(int count, char **words) {
    for (int i = 1; i < count; i++) {
        if (!strcmp(words[i], "--controlled")) continue;
        const char *flag = words[i], *value = i + 1 < count ? words[++i] : "";
        if (!strcmp(flag, "--tasks")) tasks = atoi(value);
        else if (!strcmp(flag, "--warmup")) warmup = atoi(value);
        else if (strcmp(flag, "--on")) on = UNKNOWN;
        else on = !strcmp(value, "futex") ? FUTEX : !strcmp(value, "timerfd") ? TIMERFD : UNKNOWN;
    }
    if (on == UNKNOWN) return fprintf(stderr, "waiting: an unknown flag: see the head of waiting.c\n"), 2;
    pthread_t other;
    if ((timer = timerfd_create(CLOCK_MONOTONIC, 0)) < 0) fail("cannot make a timer");
    if (on != TIMERFD && pthread_create(&other, NULL, answer, NULL)) fail("cannot create a thread");
    for (int i = 0; i < warmup; i++) iterate();
    printf("{\"at\":\"ready\",\"contract\":1,\"program\":\"waiting.c\",\"version\":\"0\",\"pids\":[%d],\"tasks\":%d,",
           getpid(), tasks);
    if (on != TIMERFD) printf("\"hops\":%d,\"claim\":\"kernel-switch\",", 2 * tasks);
    else printf("\"claim\":\"no-switch\",");
    printf("\"passes\":[{\"name\":\"main\",\"settle\":%d}]}\n", SETTLE);
    fflush(stdout);
    char line[256];
    int n;
    while (fgets(line, sizeof line, stdin) && sscanf(line, "run %d", &n) == 1 && n > 0 && n <= MOST_SAMPLES) {
        for (int i = 0; i < SETTLE; i++) iterate();
        for (int i = 0; i < n; i++) samples[i] = iterate();
        printf("{\"at\":\"ran\",\"samples_ns\":[");
        for (int i = 0; i < n; i++) printf(i ? ",%lld" : "%lld", samples[i]);
        printf("]}\n");
        fflush(stdout);
    }
    is_over = 1;
    if (on != TIMERFD) wake(&there), pthread_join(other, NULL);
    printf("{\"at\":\"ended\"}\n");
    return 0;
}
