// A task holds a lock and waits for its child, which has become ready in another thread's queue,
// behind tasks that do not descend from the waiting one. That thread wants the lock.
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static int is_ready, others, ended;

static int get(int *it) { return __atomic_load_n(it, __ATOMIC_ACQUIRE); }
static void set(int *it) { __atomic_store_n(it, 1, __ATOMIC_RELEASE); }

int main(void) {
  alarm(20);
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    int x;
    omp_event_handle_t event;
#pragma omp task detach(event) depend(out : x)
    ;
    for (int i = 0; i < 20; i++) {
#pragma omp task depend(in : x)
      __atomic_fetch_add(&others, 1, __ATOMIC_RELAXED);
    }
#pragma omp task if (0)
    {
      int is_held = 0;
#pragma omp task shared(is_held)
      {
        int y;
        omp_set_lock(&lock);
#pragma omp task depend(out : y)
        set(&is_ready);
#pragma omp task depend(in : y)
        set(&ended);
        set(&is_held);
        while (!get(&is_ready)) usleep(100);
#pragma omp taskwait
        omp_unset_lock(&lock);
      }
      while (!get(&is_held)) usleep(100);
      omp_fulfill_event(event);
      while (!get(&is_ready)) {
        // Executes the first child, and thereby gets the second one.
#pragma omp taskyield
      }
      omp_set_lock(&lock);
      omp_unset_lock(&lock);
    }
  }
  printf("%d others, and the child: %d\n", others, ended);
}
