// What a thread is told, and the size of a region: alone, and beside a team of that size.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_barrier_t barrier;

static void *other(void *unused) {
#pragma omp parallel
    if (omp_get_thread_num() == 0) {
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    return unused;
}

static int region(void) {
    int size = 0;
#pragma omp parallel
#pragma omp master
    size = omp_get_num_threads();
    return size;
}

int main(void) {
    alarm(120);
    pthread_t thread;
    int alone = region();
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, other, NULL);
    pthread_barrier_wait(&barrier);
    printf("dynamic %d, told %d, alone %d, beside %d\n", omp_get_dynamic(), omp_get_max_threads(),
           alone, region());
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
}
