// Teams without clauses, for 300 ms: their sizes, and which turns the threads take at the end.
#define _GNU_SOURCE
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

// Where the kernel gives all threads the same turn, it says 0.
static int has_long_turns(void) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t turn, deadline, period;
    } it = {0};
    return syscall(SYS_sched_getattr, 0, &it, sizeof it, 0) == 0 && it.nice == 0 &&
           it.turn > 100000;
}

int main(void) {
    int processors = omp_get_num_procs(), others = 0, long_turns = 0;
    for (double end = omp_get_wtime() + 0.3; omp_get_wtime() < end;) {
#pragma omp parallel
#pragma omp master
        others += omp_get_num_threads() != processors;
    }
#pragma omp parallel reduction(+ : long_turns)
    long_turns += omp_get_num_threads() > 1 && has_long_turns();
    int most = omp_get_max_threads();
    printf("%d teams of another size than the processors, more at most: %d\n", others,
           most > processors && most > 2);
    printf("%d threads with long turns\n", long_turns);
}
