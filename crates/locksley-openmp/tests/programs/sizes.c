// Sizes of teams while dyn-var is false: the same for all threads of the program, whatever happens
// beside them. Memory has the size that a region had, or that the program was told.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HOSTS = 4, ROUNDS = 100 };

static int told, wrong, lost;

static void expect(int size) {
    int *seen = calloc(size, sizeof *seen), count = 0;
#pragma omp parallel reduction(+ : count)
    {
        seen[omp_get_thread_num()] = 1;
        count += omp_get_num_threads() == size;
        usleep(20); // Other threads' regions begin and end meanwhile.
    }
    int missing = 0;
    for (int i = 0; i < size; i++) missing += !seen[i];
#pragma omp atomic
    lost += missing;
#pragma omp atomic
    wrong += count != size;
    free(seen);
}

static void *begin_regions(void *unused) {
    // Threads that never ask use one region's size in the next.
    for (int i = 0; i < ROUNDS; i++) {
        int size = 0;
#pragma omp parallel
#pragma omp master
        size = omp_get_num_threads();
        usleep(20 * (i % 3));
        expect(size);
        expect(told);
    }
    for (int i = 0; i < ROUNDS; i++) {
        expect(told);
        int count = omp_get_max_threads() == told ? 0 : 100;
#pragma omp parallel num_threads(3) reduction(+ : count)
        count += omp_get_num_threads();
        omp_set_num_threads(5);
        expect(5);
        omp_set_num_threads(told);
        if (count != 9) {
#pragma omp atomic
            wrong++;
        }
    }
    return unused;
}

int main(void) {
    alarm(120);
    printf("dynamic: %d\n", omp_get_dynamic());
    told = omp_get_max_threads();
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int i = 0; !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    // The program moves its main thread, not itself.
    sched_setaffinity(0, sizeof one, &one);
    pthread_t threads[HOSTS];
    for (int i = 0; i < HOSTS; i++) pthread_create(threads + i, NULL, begin_regions, NULL);
    expect(told);
    for (int i = 0; i < HOSTS; i++) pthread_join(threads[i], NULL);
    printf("wrong sizes: %d, lost parts: %d\n", wrong, lost);
}
