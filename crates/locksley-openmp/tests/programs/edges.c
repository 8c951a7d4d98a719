// Cases in which this library once differed from libgomp.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int flag, sum;

// A task of a team of one is deferred, and may wait for its creator.
static void defer(void) {
#pragma omp parallel num_threads(1)
#pragma omp single
    {
#pragma omp task
        while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) usleep(10);
        __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    }
    puts("deferred");
}

// Ready tasks begin in the order of their priorities, if OMP_MAX_TASK_PRIORITY allows any.
static void prioritize(void) {
    if (omp_get_max_task_priority() < 4) return;
#pragma omp parallel num_threads(1)
#pragma omp single
    for (int i = 0; i < 5; i++) {
        int priority = i * 2 % 5;
#pragma omp task priority(priority)
        printf("priority %d\n", priority);
    }
}

// Chunks are no smaller than the schedule says, but for the last one.
static void guide(void) {
    static int owner[1000];
    int wrong = 0;
#pragma omp parallel num_threads(2)
    {
        int run = 0, previous = -2;
#pragma omp for schedule(guided, 7)
        for (int i = 0; i < 1000; i++) {
            if (i != previous + 1) {
#pragma omp atomic
                wrong += previous >= 0 && run < 7;
                run = 0;
            }
            run++;
            previous = i;
            owner[i] = omp_get_thread_num();
        }
    }
    printf("guided: %d wrong\n", wrong);
}

// A loop that is cancelled does not end the one before it.
static void cancel(void) {
    int before = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(runtime) nowait
        for (int i = 0; i < 40; i++) {
            if (omp_get_thread_num() == 1) usleep(500);
#pragma omp atomic
            before++;
        }
#pragma omp for schedule(runtime)
        for (int i = 0; i < 40; i++) {
            if (omp_get_thread_num() == 0) {
#pragma omp cancel for
            }
        }
    }
    printf("before: %d\n", before);
}

static void at_exit(void) {
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100; i++) sum += i;
    printf("at exit: %d in a team of %d\n", sum, omp_get_team_size(0));
}

int main(void) {
    alarm(60);
    defer();
    prioritize();
    guide();
    cancel();
    omp_set_nested(1);
    int inner = 0;
#pragma omp parallel num_threads(2)
#pragma omp parallel
#pragma omp single
#pragma omp atomic
    inner += omp_get_num_threads() > 1;
    printf("nested: %d\n", inner == 2);
    omp_set_nested(0);
    atexit(at_exit);
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        exit(0);
#pragma omp barrier
    }
}
