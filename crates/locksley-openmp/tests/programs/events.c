// A thread that is in no team fulfills events that tasks wait for.
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#define ROUNDS 1500
static omp_event_handle_t handle;
static int is_pending;

static void *fulfill(void *unused) {
  while (!__atomic_load_n(&is_pending, __ATOMIC_ACQUIRE)) usleep(1000);
  usleep(20000);
  omp_fulfill_event(handle);
  return unused;
}

static omp_event_handle_t handles[ROUNDS];
static int pending;

// Soon after the waiting thread has looked for work, or soon before.
static void *fulfill_each(void *unused) {
  for (int round = 0; round < ROUNDS; round++) {
    while (__atomic_load_n(&pending, __ATOMIC_ACQUIRE) <= round) sched_yield();
    for (volatile int i = 0; i < round * 4; i++) continue;
    omp_fulfill_event(handles[round]);
  }
  return unused;
}

static void rounds(void) {
  pthread_t thread;
  int done = 0;
  pthread_create(&thread, NULL, fulfill_each, NULL);
#pragma omp parallel
#pragma omp single
  for (int round = 0; round < ROUNDS; round++) {
    omp_event_handle_t event;
#pragma omp task detach(event) depend(out : done)
    {
      handles[round] = event;
      __atomic_store_n(&pending, round + 1, __ATOMIC_RELEASE);
    }
#pragma omp task depend(in : done) shared(done)
    done++;
#pragma omp taskwait
  }
  pthread_join(thread, NULL);
  printf("rounds: %d\n", done);
}

int main(void) {
  pthread_t thread;
  int done = 0;
  alarm(60);
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
  rounds();
  return 0;
}
