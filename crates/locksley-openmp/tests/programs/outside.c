// Outside of all regions, tasks wait for an event that their creator fulfills.
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  int sum = 0, ready = 0;
  omp_event_handle_t event;
  alarm(60);
#pragma omp task detach(event) depend(out : sum) shared(sum)
  sum = 1;
#pragma omp task depend(inout : sum) shared(sum)
  sum += 2;
#pragma omp target nowait map(tofrom : sum) depend(inout : sum)
  sum *= 10;
#pragma omp task depend(inout : ready) shared(ready)
  ready = 1;
  printf("a task that need not wait has ended: %d\n", ready);
  // Another thread might fulfill the event, once the task has told it to.
  int has_begun = 0;
  omp_event_handle_t other;
#pragma omp task detach(other) shared(has_begun)
  has_begun = 1;
  printf("a task with an event has begun: %d\n", has_begun);
  omp_fulfill_event(other);
  omp_fulfill_event(event);
#pragma omp taskwait
  printf("sum: %d\n", sum);
}
