// Teams without clauses, for 300 ms: their sizes, and whether the threads have long time slices at
// the end.
#define _GNU_SOURCE
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

// Where the kernel gives all threads the same time slice, it says 0.
static int has_long_time_slices(void) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } it = {0};
    return syscall(SYS_sched_getattr, 0, &it, sizeof it, 0) == 0 && it.nice == 0 &&
           it.runtime > 100000;
}

int main(void) {
    int processors = omp_get_num_procs(), others = 0, long_time_slices = 0;
    for (double end = omp_get_wtime() + 0.3; omp_get_wtime() < end;) {
#pragma omp parallel
#pragma omp master
        others += omp_get_num_threads() != processors;
    }
#pragma omp parallel reduction(+ : long_time_slices)
    long_time_slices += omp_get_num_threads() > 1 && has_long_time_slices();
    int most = omp_get_max_threads();
    printf("%d teams of another size than the processors, more at most: %d\n", others,
           most > processors && most > 2);
    printf("%d threads with long time slices\n", long_time_slices);
}
