// How much memory tasks take that have not ended, in MiB, while many are created.
#include <omp.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define TASKS 500000
#define REGIONS 50000

static long peak(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss >> 10;
}

int main(void) {
  static char objects[1000];
  int count = 0, before = peak();
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    for (int i = 0; i < TASKS; i++)
#pragma omp task
#pragma omp atomic
      count++;
#pragma omp taskwait
    for (int i = 0; i < TASKS; i++)
#pragma omp task depend(out : objects[i % 1000])
#pragma omp atomic
      count++;
#pragma omp taskwait
    for (int i = 0; i < TASKS; i++)
#pragma omp task depend(inout : objects[0])
      {
        if (i == 0) usleep(300000);
        count++;
      }
  }
  // The region's own tasks remember those that others may depend on.
  for (int i = 0; i < REGIONS; i++)
#pragma omp parallel num_threads(2)
#pragma omp task depend(inout : objects[omp_get_thread_num()])
#pragma omp atomic
    count++;
  printf("%d tasks, %ld MiB\n", count, peak() - before);
}
