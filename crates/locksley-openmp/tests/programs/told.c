// The size of a team, while another team begins after the program has asked for it.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t barrier;

static void *other(void *argument) {
    int size = *(int *)argument;
#pragma omp parallel num_threads(size)
    if (omp_get_thread_num() == 0) {
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    int told = omp_get_max_threads(), sizes = 0, inside = 0;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, other, &told);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 10; i++) {
#pragma omp parallel
#pragma omp master
        sizes += omp_get_num_threads();
    }
    int again = omp_get_max_threads();
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
#pragma omp parallel num_threads(4)
#pragma omp master
    inside = omp_get_max_threads();
    printf("as told: %d, told the same: %d, told in a team of 4: %d\n", sizes == 10 * told,
           again == told, inside);
}
