// A region of four threads, in which one has to execute another's task. They then wait for the end
// of the standard input.
#include <stdio.h>
#include <unistd.h>

int main(void) {
  int size = 0, is_done = 0;
  alarm(60);
#pragma omp parallel num_threads(4) reduction(+ : size)
  {
    size += 1;
#pragma omp single nowait
    {
#pragma omp task shared(is_done)
#pragma omp atomic write
      is_done = 1;
      for (int seen = 0; !seen; usleep(100)) {
#pragma omp atomic read
        seen = is_done;
      }
    }
  }
  while (getchar() != EOF)
    ;
  return size != 4;
}
