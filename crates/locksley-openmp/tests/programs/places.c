// Where the members of teams are bound: numbers of places, and whether the kernel agrees.
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>

#define MOST 5

static char said[MOST][100];

// True if the calling thread may run on the processors of its place, and on no others.
static int is_bound(void)
{
    int place = omp_get_place_num(), numbers[1024];
    if (place < 0)
        return 1;
    int count = omp_get_place_num_procs(place);
    cpu_set_t expected, set;
    CPU_ZERO(&expected);
    omp_get_place_proc_ids(place, numbers);
    for (int at = 0; at < count; at++)
        CPU_SET(numbers[at], &expected);
    sched_getaffinity(0, sizeof(set), &set);
    return CPU_EQUAL(&expected, &set);
}

static void describe(int at)
{
    int numbers[1024] = {-1};
    omp_get_partition_place_nums(numbers);
    snprintf(said[at], sizeof(said[at]), "place %d of %d from %d, policy %d", omp_get_place_num(),
             omp_get_partition_num_places(), numbers[0], omp_get_proc_bind());
}

static void print(const char *what, int threads)
{
    for (int at = 0; at < threads; at++)
        printf("%s, %d of %d: %s\n", what, at, threads, said[at]);
}

int main(void)
{
    int wrong = 0;
    omp_set_max_active_levels(2);
    for (int threads = MOST; threads > 0; threads--) {
#pragma omp parallel num_threads(threads)
        describe(omp_get_thread_num());
        print("default", threads);
#pragma omp parallel num_threads(threads) proc_bind(primary)
        describe(omp_get_thread_num());
        print("primary", threads);
#pragma omp parallel num_threads(2) proc_bind(spread)
#pragma omp parallel num_threads(threads) proc_bind(close)
        if (omp_get_ancestor_thread_num(1) == 1)
            describe(omp_get_thread_num());
        print("spread, close", threads);
    }
#pragma omp parallel num_threads(MOST) proc_bind(spread) reduction(+ : wrong)
    {
        describe(omp_get_thread_num());
        wrong += !is_bound();
    }
    print("spread", MOST);
    printf("places: %d, %d wrong\n", omp_get_num_places(), wrong);
    return 0;
}
