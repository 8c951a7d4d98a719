// Tasks: groups, dependences, reductions, loops of tasks, events, locks that are held at a wait.
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static int fib(int n) {
  int a, b;
  if (n < 2) return n;
#pragma omp task shared(a) if (n > 5)
  a = fib(n - 1);
#pragma omp task shared(b)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

static void dependences(void) {
  int chain = 0, a = 0, b = 0, c = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
  {
    for (int i = 0; i < 1000; i++) {
#pragma omp task depend(inout : chain)
      chain = chain * 3 % 1009 + i;
    }
#pragma omp task depend(out : a)
    a = 5;
#pragma omp task depend(in : a) depend(out : b)
    b = a * 2;
#pragma omp task depend(in : a) depend(out : c)
    c = a * 3;
#pragma omp task depend(in : b, c) depend(out : a)
    a = b + c;
#pragma omp taskwait depend(in : a)
    printf("a: %d\n", a);
  }
  printf("chain: %d\n", chain);
}

static void reductions(void) {
  long sum = 0, product = 1;
#pragma omp parallel num_threads(4)
#pragma omp single
  {
#pragma omp taskgroup task_reduction(+ : sum) task_reduction(* : product)
    {
      for (int i = 1; i <= 10; i++)
#pragma omp task in_reduction(+ : sum) in_reduction(* : product)
      {
        sum += i;
        product *= i;
      }
    }
#pragma omp taskloop reduction(+ : sum) grainsize(7)
    for (int i = 0; i < 1000; i++) sum += i;
  }
  printf("reductions: %ld %ld\n", sum, product);
  sum = 0;
#pragma omp parallel reduction(task, + : sum) num_threads(3)
  {
#pragma omp for
    for (int i = 0; i < 30; i++)
#pragma omp task in_reduction(+ : sum)
      sum += i;
  }
  printf("of a region: %ld\n", sum);
}

static void events(void) {
  int done = 0;
  omp_event_handle_t event;
#pragma omp parallel num_threads(3)
#pragma omp single
  {
#pragma omp task detach(event) depend(out : done)
    done = 1;
#pragma omp task depend(in : done)
    done += 10;
#pragma omp task
    omp_fulfill_event(event);
#pragma omp taskwait
  }
  printf("events: %d\n", done);
}

// Target regions wait for an event that the thread fulfills which has met them.
static void targets(void) {
  int sum = 0, copied[3] = {5, 6, 7};
  omp_event_handle_t event;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task detach(event) depend(out : sum)
    sum = 1;
#pragma omp target nowait map(tofrom : sum) depend(inout : sum) firstprivate(copied)
    sum += copied[0] * copied[2];
#pragma omp target update nowait to(sum) depend(inout : sum)
#pragma omp target nowait map(tofrom : sum) depend(inout : sum)
    sum *= 10;
    copied[0] = copied[2] = 0;
    omp_fulfill_event(event);
#pragma omp target map(tofrom : sum) depend(inout : sum)
    sum += omp_get_num_threads() + 1;
  }
  printf("targets: %d\n", sum);
}

// A task that waits for its child holds a lock that its siblings want, too.
static void locked(void) {
  omp_lock_t lock;
  int count = 0;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(4)
#pragma omp single
  for (int i = 0; i < 300; i++) {
#pragma omp task
    {
      omp_set_lock(&lock);
#pragma omp task shared(count)
      count++;
#pragma omp taskwait
      omp_unset_lock(&lock);
    }
  }
  omp_destroy_lock(&lock);
  printf("locked: %d\n", count);
}

// Each task creates the next one.
static void chain(int left, long *sum) {
#pragma omp task
  {
    *sum += left;
    if (left > 0) chain(left - 1, sum);
  }
}

int main(void) {
  int result;
  long sum = 0;
  alarm(60);
#pragma omp parallel num_threads(4)
#pragma omp single
  result = fib(22);
  printf("fib: %d\n", result);
  dependences();
  reductions();
  events();
  targets();
  locked();
#pragma omp parallel num_threads(2)
#pragma omp single
  chain(100000, &sum);
  printf("chain: %ld\n", sum);
  return 0;
}
