/* What two of the laboratories measure, in C and nothing else: scripts/beside.sh labs.
 *
 *   cc -O2 -pthread -o labs benches/labs.c
 *   ./labs wake US    a thread on CPU 1 that has slept for so many µs: median ns from FUTEX_WAKE on CPU 0 until it runs
 *   ./labs burst N    N blocks of 4 KiB, written and freed: bytes resident then, and after malloc_trim */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WAKES = 301 };

static atomic_int word;
static atomic_llong ran;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) perror("sched_setaffinity"), exit(1);
}

static void *sleeper(void *unused) {
    pin(1);
    for (int last = 0; last < WAKES; last++) {
        while (word == last) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, last, NULL);
        ran = now();
    }
    return unused;
}

static int compare(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

static void wake(long long slept) {
    static long long times[WAKES];
    pthread_t thread;
    pin(0);
    if (pthread_create(&thread, NULL, sleeper, NULL)) perror("pthread_create"), exit(1);
    for (int k = 0; k < WAKES; k++) {
        for (long long from = now(); now() < from + slept;) continue;
        ran = 0;
        long long begun = now();
        word++;
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
        while (!ran) continue;
        times[k] = ran - begun;
    }
    pthread_join(thread, NULL);
    qsort(times, WAKES, sizeof *times, compare);
    printf("\"wake_ns\":%lld", times[WAKES / 2]);
}

static long resident(void) {
    long kib = 0;
    char line[128];
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    while (rollup && fgets(line, sizeof line, rollup)) if (sscanf(line, "Rss: %ld", &kib) == 1) break;
    if (rollup) fclose(rollup);
    return kib * 1024;
}

static void burst(int count) {
    char **blocks = malloc(count * sizeof *blocks);
    memset(blocks, 1, count * sizeof *blocks);
    long before = resident();
    for (int k = 0; k < count; k++) memset(blocks[k] = malloc(4096), 1, 4096);
    /* What is allocated last lies above all of it, and stays. */
    char *last = strdup("last");
    for (int k = 0; k < count; k++) free(blocks[k]);
    long held = resident() - before;
    malloc_trim(0);
    printf("\"held_bytes\":%ld,\"trimmed_bytes\":%ld", held, resident() - before);
    free(last);
}

int main(int count, char **words) {
    int number = count == 3 ? atoi(words[2]) : 0;
    if (number > 0 && !strcmp(words[1], "wake")) wake(number * 1000LL);
    else if (number > 0 && !strcmp(words[1], "burst")) burst(number);
    else return fprintf(stderr, "labs: see the head of labs.c\n"), 2;
    puts("");
    return 0;
}
