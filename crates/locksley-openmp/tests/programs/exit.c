// A thread exits the program within a region, after one that it has begun itself.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int sum;

static void at_exit(void) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
  sum++;
  printf("thread %d of %d at level %d, %d threads\n", omp_get_thread_num(), omp_get_num_threads(),
         omp_get_level(), sum);
}

int main(void) {
  alarm(60);
  omp_set_max_active_levels(2);
  atexit(at_exit);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
      sum++;
      exit(0);
    }
#pragma omp barrier
  }
}
