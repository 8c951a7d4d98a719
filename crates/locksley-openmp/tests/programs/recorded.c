// A region of four threads, which then wait for the end of the standard input.
#include <stdio.h>

int main(void) {
  int size = 0;
#pragma omp parallel num_threads(4) reduction(+ : size)
  size += 1;
  while (getchar() != EOF)
    ;
  return size != 4;
}
