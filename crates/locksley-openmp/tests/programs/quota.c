// Team sizes while the quota of the program's control group changes. The argument is the quota's
// file. Each line: what the library finds, and the largest of some teams.
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static int largest_of_some(void) {
  int largest = 0;
  for (int i = 0; i < 50; i++) {
#pragma omp parallel
#pragma omp master
    if (omp_get_num_threads() > largest)
      largest = omp_get_num_threads();
  }
  return largest;
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
  printf("%d processors, teams of %s, %d if asked\n", omp_get_num_procs(),
         largest_of_some() <= expected ? "at most as many" : "more", insisted);
}

int main(int count, char **arguments) {
  int all = omp_get_num_procs();
  int two = all < 2 ? all : 2;
  set(arguments[1], arguments[2], 1);
  set(arguments[1], arguments[3], two);
  return count != 4;
}
