/* The system calls of thread-brigade, process-brigade and one-thread-brigade in C, and nothing else: what
 * the Rust programs may cost at most. It follows docs/CONTRACT.md as far as timing needs it.
 *
 *   cc -O2 -pthread -o brigade benches/brigade.c
 *   ./brigade [--threads | --processes] [--socketpair] [--tasks N] [--warmup N] --controlled
 *
 * Without the first flag one thread does all reads and writes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SAMPLES = 10000, SETTLE = 3 };

struct link { int from, to; };

static int tasks = 500, warmup = 100, threads, processes, socketpairs;
static struct link *links;
static long long samples[MOST_SAMPLES];

static void fail(const char *what) {
    printf("{\"at\":\"failed\",\"error\":\"%s\"}\n", what);
    exit(1);
}

static void *pass_on(void *at) {
    struct link *from = at;
    char token;
    while (read(from[0].from, &token, 1) == 1) {
        token++;
        if (write(from[1].to, &token, 1) != 1) break;
    }
    close(from[1].to);
    return NULL;
}

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long iterate(char start) {
    char token = start;
    long long begun = now();
    if (write(links[0].to, &token, 1) != 1) fail("cannot write");
    if (!threads && !processes)
        for (int k = 0; k < tasks; k++) {
            if (read(links[k].from, &token, 1) != 1) fail("cannot read");
            token++;
            if (write(links[k + 1].to, &token, 1) != 1) fail("cannot write");
        }
    if (read(links[tasks].from, &token, 1) != 1) fail("the chain ended early");
    long long elapsed = now() - begun;
    if (token != (char)(start + tasks)) fail("the token did not visit each task once");
    return elapsed;
}

int main(int count, char **words) {
    for (int i = 1; i < count; i++) {
        if (!strcmp(words[i], "--threads")) threads = 1;
        else if (!strcmp(words[i], "--processes")) processes = 1;
        else if (!strcmp(words[i], "--socketpair")) socketpairs = 1;
        else if (!strcmp(words[i], "--controlled")) ;
        else if (!strcmp(words[i], "--tasks") && i + 1 < count) tasks = atoi(words[++i]);
        else if (!strcmp(words[i], "--warmup") && i + 1 < count) warmup = atoi(words[++i]);
        else {
            fprintf(stderr, "brigade: unknown flag %s: see the head of brigade.c\n", words[i]);
            return 2;
        }
    }
    links = calloc(tasks + 1, sizeof *links);
    pthread_t *ids = calloc(tasks, sizeof *ids);
    pid_t *pids = calloc(tasks, sizeof *pids);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    for (int k = 0; k <= tasks; k++) {
        int ends[2];
        if (socketpairs ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe2(ends, O_CLOEXEC))
            fail("cannot make a link: lower --tasks or raise ulimit -n");
        links[k] = (struct link){ends[0], ends[1]};
        /* As the Rust programs do: each thread right after its links. */
        if (threads && k > 0 && pthread_create(&ids[k - 1], &attributes, pass_on, &links[k - 1]))
            fail("cannot create a thread: lower --tasks");
        if (processes && k > 0) {
            if ((pids[k - 1] = fork()) < 0) fail("cannot fork: lower --tasks");
            if (pids[k - 1] == 0) {
                close(links[0].to);
                close(links[k].from);
                pass_on(&links[k - 1]);
                _exit(0);
            }
            close(links[k - 1].from);
            close(links[k].to);
        }
    }
    char start = 0;
    for (int i = 0; i < warmup; i++) iterate(start++);
    printf("{\"at\":\"ready\",\"contract\":1,\"program\":\"brigade.c\",\"version\":\"0\",\"pids\":[%d",
           getpid());
    for (int k = 0; processes && k < tasks; k++) printf(",%d", pids[k]);
    printf("],\"tasks\":%d,\"hops\":%d,\"claim\":\"%s\",\"passes\":[{\"name\":\"main\",\"settle\":%d}]}\n",
           tasks, tasks + 1, threads || processes ? "kernel-switch" : "no-switch", SETTLE);
    fflush(stdout);
    char line[256];
    int n;
    while (fgets(line, sizeof line, stdin) && sscanf(line, "run %d", &n) == 1 && n > 0 && n <= MOST_SAMPLES) {
        for (int i = 0; i < SETTLE; i++) iterate(start++);
        for (int i = 0; i < n; i++) samples[i] = iterate(start++);
        printf("{\"at\":\"ran\",\"samples_ns\":[");
        for (int i = 0; i < n; i++) printf(i ? ",%lld" : "%lld", samples[i]);
        printf("]}\n");
        fflush(stdout);
    }
    close(links[0].to);
    for (int k = 0; threads && k < tasks; k++) pthread_join(ids[k], NULL);
    while (processes && wait(NULL) > 0) ;
    printf("{\"at\":\"ended\"}\n");
    return 0;
}
