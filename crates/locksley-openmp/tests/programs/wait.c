// How many milliseconds of processor time the process uses while its threads wait for half a
// second.
#include <omp.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(void) {
  int size = 0;
#pragma omp parallel num_threads(4) reduction(+ : size)
  size += 1;
  usleep(10000);
  clock_t before = clock();
  usleep(500000);
  printf("%ld\n", (long)((clock() - before) * 1000 / CLOCKS_PER_SEC));
  return size != 4;
}
