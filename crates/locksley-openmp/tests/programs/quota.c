// Team sizes while the quota of the program's control group changes. Arguments: the quota's file,
// a quota of one processor, which holds when the program begins, a larger one, and its processors.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Sets the quota, and waits until the library finds that many processors, for at most 5 s.
static void set(const char *name, const char *quota, int expected) {
    FILE *file = fopen(name, "w");
    fputs(quota, file);
    fclose(file);
    for (int i = 0; i < 500 && omp_get_num_procs() != expected; i++) usleep(10000);
    int size = 0, too_few = 0;
#pragma omp parallel
    {
#pragma omp master
        size = omp_get_num_threads();
#pragma omp critical
        too_few |= omp_get_max_threads() < omp_get_num_threads();
    }
    printf("%d processors, told %d, %d threads%s\n", omp_get_num_procs(), omp_get_max_threads(),
           size, too_few ? ", more than told" : "");
}

int main(int count, char **arguments) {
    alarm(120);
    set(arguments[1], arguments[2], 1);
    set(arguments[1], arguments[3], atoi(arguments[4]));
    set(arguments[1], arguments[2], 1);
    return count != 5;
}
