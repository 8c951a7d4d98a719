// A thread that is in no team fulfills the event that a task waits for.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static omp_event_handle_t handle;
static int is_pending;

static void *fulfill(void *unused) {
  while (!__atomic_load_n(&is_pending, __ATOMIC_ACQUIRE)) usleep(1000);
  usleep(20000);
  omp_fulfill_event(handle);
  return unused;
}

int main(void) {
  pthread_t thread;
  int done = 0;
  pthread_create(&thread, NULL, fulfill, NULL);
#pragma omp parallel
#pragma omp single
  {
    omp_event_handle_t event;
#pragma omp task detach(event) depend(out : done)
    {
      handle = event;
      __atomic_store_n(&is_pending, 1, __ATOMIC_RELEASE);
    }
#pragma omp task depend(in : done)
    done = 1;
  }
  pthread_join(thread, NULL);
  printf("events: %d\n", done);
  return 0;
}
