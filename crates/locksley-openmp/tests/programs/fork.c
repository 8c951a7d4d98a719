// A process that has used OpenMP, and is in no region, forks; the child uses it, too.
#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static long sum(void) {
  long sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
  for (int i = 0; i < 1000; i++) sum += i;
  return sum;
}

int main(void) {
  int wrong = sum() != 499500;
  for (int i = 0; i < 5; i++) {
    pid_t child = fork();
    if (child == 0) {
      omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
      if (sum() != 499500) _exit(1);
      _exit(sum() != 499500);
    }
    int status;
    waitpid(child, &status, 0);
    wrong += status != 0;
    wrong += sum() != 499500;
  }
  printf("fork: %d wrong\n", wrong);
  return 0;
}
