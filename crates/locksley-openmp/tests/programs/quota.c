// Team sizes while the quota of the program's control group changes. Arguments: the quota's file,
// a quota of one processor, which holds when the program begins, a larger one, and its processors.
// Each line: what the library finds, and the largest of some teams. -1: it was larger than the
// program is told inside.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int largest_of_some(void) {
  int largest = 0, too_few = 0;
  for (int i = 0; i < 50; i++) {
#pragma omp parallel
#pragma omp master
    if (omp_get_num_threads() > largest)
      largest = omp_get_num_threads();
#pragma omp parallel
    if (omp_get_max_threads() < omp_get_num_threads())
      too_few = 1;
  }
  return too_few ? -1 : largest;
}

// Sets the quota, and waits until the library finds that many processors, for at most 5 s.
static void set(const char *name, const char *quota, int expected) {
  FILE *file = fopen(name, "w");
  fputs(quota, file);
  fclose(file);
  for (int i = 0; i < 500 && omp_get_num_procs() != expected; i++)
    usleep(10000);
  int insisted = 0;
#pragma omp parallel num_threads(3)
#pragma omp master
  insisted = omp_get_num_threads();
  printf("%d processors, teams of %d, %d if asked\n", omp_get_num_procs(), largest_of_some(),
         insisted);
}

int main(int count, char **arguments) {
  set(arguments[1], arguments[2], 1);
  set(arguments[1], arguments[3], atoi(arguments[4]));
  set(arguments[1], arguments[2], 1);
  return count != 5;
}
