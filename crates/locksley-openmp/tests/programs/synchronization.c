// Barriers, critical, atomic, locks, single, sections; what cancellation skips.
#include <omp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

static void exclusion(void) {
  long in_critical = 0, in_named = 0, with_lock = 0, with_nest = 0;
  long double with_atomic = 0;
  omp_lock_t lock;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(8)
  for (int i = 0; i < 2000; i++) {
#pragma omp critical
    in_critical++;
#pragma omp critical(name)
    in_named++;
#pragma omp atomic
    with_atomic += 1;
    omp_set_lock(&lock);
    with_lock++;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    if (omp_test_nest_lock(&nest) == 2) with_nest++;
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
  }
  printf("%ld %ld %.0Lf %ld %ld\n", in_critical, in_named, with_atomic, with_lock, with_nest);
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest);
}

static void barriers(void) {
  int arrived = 0, wrong = 0;
#pragma omp parallel num_threads(8)
  for (int i = 1; i <= 500; i++) {
#pragma omp atomic
    arrived++;
#pragma omp barrier
    if (arrived != 8 * i)
#pragma omp atomic
      wrong++;
#pragma omp barrier
  }
  printf("barriers: %d wrong\n", wrong);
}

static void shared(void) {
  int singles = 0, sections = 0, copies = 0;
#pragma omp parallel num_threads(4)
  {
    int mine = -1;
    for (int i = 0; i < 100; i++) {
#pragma omp single nowait
#pragma omp atomic
      singles++;
#pragma omp single copyprivate(mine)
      mine = i;
#pragma omp atomic
      copies += mine;
    }
#pragma omp sections
    {
#pragma omp section
#pragma omp atomic
      sections += 1;
#pragma omp section
#pragma omp atomic
      sections += 10;
#pragma omp section
#pragma omp atomic
      sections += 100;
    }
#pragma omp masked
    sections += 1000;
  }
  printf("single: %d, copies: %d, sections: %d\n", singles, copies, sections);
}

static void cancellation(void) {
  int after = 0, found = 0;
#pragma omp parallel num_threads(4)
  {
#pragma omp for
    for (int i = 0; i < 1000; i++) {
#pragma omp cancellation point for
      if (i == 3) {
        found = 1;
#pragma omp cancel for
      }
    }
#pragma omp cancel parallel if (found)
#pragma omp barrier
#pragma omp atomic
    after++;
  }
  printf("cancellation %d: found %d, after %d\n", omp_get_cancellation(), found, after);
}

// The compiler calls this for a task whose captured objects have constructors.
void GOMP_task(void (*)(void *), void *, void (*)(void *, void *), long, long, bool, unsigned,
               void **, int);
static atomic_int constructed, destroyed;
static void construct(void *to, void *from) { *(int *)to = *(int *)from, constructed++; }
static void destroy(void *object) { destroyed += *(int *)object; }

// A task that owns objects is executed although its group is cancelled, to destroy them.
static void cancelled_owners(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskgroup
  {
    int one = 1;
    for (int i = 0; i < 50; i++)
      GOMP_task(destroy, &one, construct, sizeof one, sizeof one, true, 0, 0, 0);
#pragma omp task
    {
#pragma omp cancel taskgroup
    }
  }
  printf("cancelled owners: %d, %d\n", constructed == 50, destroyed == 50);
}

int main(void) {
  exclusion();
  barriers();
  shared();
  cancellation();
  cancelled_owners();
  return 0;
}
