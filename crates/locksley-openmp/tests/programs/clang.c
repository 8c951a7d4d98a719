// What clang compiles to functions of its own: each line says how much is wrong.
#include <stdio.h>

// No omp.h: clang comes without one.
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_level(void);
void omp_set_max_active_levels(int);
#ifdef __clang__
typedef struct { void *it[1]; } nest_lock;
#else
typedef struct { void *it[2]; } nest_lock;
#endif
void omp_init_nest_lock(nest_lock *);
void omp_set_nest_lock(nest_lock *);
int omp_test_nest_lock(nest_lock *);
void omp_unset_nest_lock(nest_lock *);
void omp_destroy_nest_lock(nest_lock *);

#define MOST 1000
static int seen[MOST];

static int wrong(int from, int to) {
  int count = 0;
  for (int i = 0; i < MOST; i++) {
    count += seen[i] != (i >= from && i < to);
    seen[i] = 0;
  }
  return count;
}

#define LOOP(TYPE, FIRST, COMPARED, STEP, PRAGMA)                                         \
  do {                                                                                    \
    TYPE last = 0;                                                                        \
    _Pragma("omp parallel num_threads(3)") {                                              \
      _Pragma(PRAGMA) for (TYPE i = FIRST; i COMPARED; i += STEP) {                       \
        _Pragma("omp atomic") seen[i]++;                                                  \
        last = i;                                                                         \
      }                                                                                   \
    }                                                                                     \
    printf("%s, %s: %d wrong, last %lld\n", #TYPE, PRAGMA, wrong(7, 907), (long long)last); \
  } while (0)

#define LOOPS(PRAGMA)                                                                     \
  LOOP(int, 7, < 907, 1, PRAGMA);                                                         \
  LOOP(unsigned, 7, < 907, 1, PRAGMA);                                                    \
  LOOP(long, 906, >= 7, -1, PRAGMA);                                                      \
  LOOP(unsigned long, 7, < 907, 1, PRAGMA)

static void loops(void) {
  LOOPS("omp for lastprivate(last)");
  LOOPS("omp for lastprivate(last) schedule(static, 1)");
  LOOPS("omp for lastprivate(last) schedule(static, 7)");
  LOOPS("omp for lastprivate(last) schedule(dynamic)");
  LOOPS("omp for lastprivate(last) schedule(dynamic, 7)");
  LOOPS("omp for lastprivate(last) schedule(monotonic : dynamic, 7)");
  LOOPS("omp for lastprivate(last) schedule(guided)");
  LOOPS("omp for lastprivate(last) schedule(runtime)");
  int empty = 0, order = 0, disorder = 0;
#pragma omp parallel for reduction(+ : empty) num_threads(3)
  for (int i = 5; i < order; i++) empty++;
#pragma omp parallel for ordered schedule(dynamic, 2) num_threads(3)
  for (int i = 0; i < 100; i++) {
#pragma omp ordered
    disorder += order++ != i;
  }
  printf("empty: %d, ordered: %d wrong\n", empty, disorder);
}

static void regions(void) {
  int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, sum = 0, least = 99;
  double product = 1;
#pragma omp parallel num_threads(4) reduction(+ : sum) reduction(* : product) reduction(min : least)
  {
    sum += a + b + c + d + e + f + g + h + i + j;
    product *= 2;
    least = a;
  }
  printf("%d %.0f %d\n", sum, product, least);
  int levels = 0, serial = 0, master = 0, singles = 0, copies = 0, in_critical = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : levels)
#pragma omp parallel num_threads(2) reduction(+ : levels)
  levels += omp_get_level();
#pragma omp parallel if (levels < 0)
  serial = omp_get_num_threads();
#pragma omp parallel num_threads(4)
  for (int round = 0; round < 50; round++) {
    int mine = -1;
#pragma omp master
    master++;
#pragma omp barrier
#pragma omp single
    singles++;
#pragma omp single copyprivate(mine)
    mine = round;
#pragma omp critical
    copies += mine;
#pragma omp critical(name)
    in_critical++;
#pragma omp sections
    {
#pragma omp section
#pragma omp atomic
      singles++;
#pragma omp section
#pragma omp atomic
      singles++;
    }
  }
  printf("%d %d %d %d %d %d\n", levels, serial, master, singles, copies, in_critical);
}

int omp_get_num_teams(void);
int omp_get_team_num(void);

static void leagues(void) {
  int count = 0, numbers = 0, last = 0, sum = 0;
#pragma omp teams num_teams(3) reduction(+ : count, numbers)
  {
    count += omp_get_num_teams();
    numbers += 1 << omp_get_team_num();
#pragma omp distribute
    for (int i = 7; i < 907; i++) seen[i] += 1 + omp_get_thread_num();
  }
  printf("teams: %d %d, %d wrong", count, numbers, wrong(7, 907));
#pragma omp teams distribute num_teams(4) dist_schedule(static, 7) lastprivate(last)
  for (unsigned long i = 906; i >= 7; i--) {
    seen[i] += 1 + omp_get_team_num() - (906 - i) / 7 % 4;
    last = i;
  }
  printf(", %d wrong, last %d", wrong(7, 907), last);
#pragma omp teams distribute parallel for num_teams(2) thread_limit(2) reduction(+ : sum)
  for (long i = 7; i < 907; i++) {
#pragma omp atomic
    seen[i]++;
    sum += omp_get_num_threads() <= 2;
  }
  printf(", %d wrong, sum %d\n", wrong(7, 907), sum);
}

static int fib(int n) {
  int a, b;
  if (n < 2) return n;
#pragma omp task shared(a) final(n < 8)
  a = fib(n - 1);
#pragma omp task shared(b) if (n > 5)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

static void tasks(void) {
  int number = 0, chain = 0, disorder = 0, looped = 0, grouped = 0, last = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
  {
    number = fib(16);
    for (int i = 0; i < 100; i++) {
#pragma omp task depend(inout : chain) firstprivate(i) shared(chain, disorder)
      disorder += chain++ != i;
    }
#pragma omp taskwait
#pragma omp taskgroup
    for (int i = 0; i < 100; i++) {
#pragma omp task shared(grouped)
      {
#pragma omp task shared(grouped)
#pragma omp atomic
        grouped++;
      }
    }
    grouped += grouped == 100;
#pragma omp taskloop grainsize(7) shared(looped) lastprivate(last)
    for (int i = 0; i < 1000; i++) {
#pragma omp atomic
      looped += i;
      last = i;
    }
  }
  printf("%d, %d wrong, %d %d %d\n", number, disorder, grouped, looped, last);
}

static void reductions(void) {
  long sum = 0, looped = 0;
  double product = 1;
#pragma omp parallel num_threads(4)
#pragma omp single
  {
#pragma omp taskgroup task_reduction(+ : sum) task_reduction(* : product)
    for (int i = 1; i <= 100; i++)
#pragma omp task in_reduction(+ : sum) in_reduction(* : product)
    {
      sum += i;
      if (i % 10 == 0) product *= 2;
#pragma omp taskgroup
#pragma omp task in_reduction(+ : sum)
      sum += 1000;
    }
#pragma omp taskloop reduction(+ : looped) grainsize(7)
    for (int i = 0; i < 1000; i++) looped += i;
  }
  printf("reductions: %ld %.0f %ld\n", sum, product, looped);
}

// clang calls the function of an untied task once for each part between two such places.
static void untied_tasks(void) {
  int sum = 0, at_once = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
  for (int i = 0; i < 100; i++) {
#pragma omp task untied shared(sum) firstprivate(i)
    {
      int parts = 1;
#pragma omp task shared(sum)
#pragma omp atomic
      sum += 1;
#pragma omp taskyield
      parts++;
#pragma omp taskwait
#pragma omp atomic
      sum += parts * i;
    }
#pragma omp task untied if (0) shared(sum, at_once) firstprivate(i)
    {
#pragma omp task shared(sum)
#pragma omp atomic
      sum += 1;
#pragma omp taskwait
      at_once += i;
    }
  }
  printf("untied: %d %d\n", sum, at_once);
}

static void locks(void) {
  nest_lock lock[2];
  int depth = 0;
  lock[1].it[0] = lock;
  omp_init_nest_lock(lock);
#pragma omp parallel num_threads(4)
  for (int i = 0; i < 100; i++) {
    omp_set_nest_lock(lock);
    depth += omp_test_nest_lock(lock);
    omp_unset_nest_lock(lock);
    omp_unset_nest_lock(lock);
  }
  omp_destroy_nest_lock(lock);
  printf("%d, %s\n", depth, lock[1].it[0] == lock ? "nothing else written" : "overwritten");
}

#define FIVE(X, TENS) X(TENS##0) X(TENS##1) X(TENS##2) X(TENS##3) X(TENS##4)
#define TEN(X, TENS) FIVE(X, TENS) X(TENS##5) X(TENS##6) X(TENS##7) X(TENS##8) X(TENS##9)
#define VARIABLE(NUMBER) int v##NUMBER = NUMBER;
#define SUM(NUMBER) sum += v##NUMBER;

// A region gets a pointer to each: 3, 11 and 31 of them, some in registers, others on the stack.
static void variables(void) {
  TEN(VARIABLE, 1)
  TEN(VARIABLE, 2)
  TEN(VARIABLE, 3)
  double few = 0, some = 0, many = 0;
#pragma omp parallel num_threads(3)
  {
    double sum = 0;
    SUM(10) SUM(11)
#pragma omp atomic
    few += sum;
  }
#pragma omp parallel num_threads(3)
  {
    double sum = 0;
    TEN(SUM, 1)
#pragma omp atomic
    some += sum;
  }
#pragma omp parallel num_threads(3)
  {
    double sum = 0;
    TEN(SUM, 1) TEN(SUM, 2) TEN(SUM, 3) // Each pointer has a place of its own.
#pragma omp atomic
    many += sum;
  }
  printf("variables: %.0f, %.0f, %.0f\n", few, some, many);
}

int main(void) {
  loops();
  regions();
  variables();
  leagues();
  tasks();
  reductions();
  untied_tasks();
  locks();
  return 0;
}
