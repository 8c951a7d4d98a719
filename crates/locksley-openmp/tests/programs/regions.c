// Regions: their sizes, numbers and levels; persistent threadprivate variables; nested regions.
#include <omp.h>
#include <stdio.h>

static int persistent;
#pragma omp threadprivate(persistent)

static void insisted(void) {
  int sum = 0;
#pragma omp parallel num_threads(5) reduction(+ : sum)
  sum += omp_get_num_threads() == 5 ? 1 << omp_get_thread_num() : 0;
  printf("num_threads(5): %d\n", sum);
  omp_set_dynamic(0);
  omp_set_num_threads(4);
  int count = 0;
#pragma omp parallel
#pragma omp atomic
  count++;
  printf("omp_set_num_threads(4): %d, at most %d\n", count, omp_get_max_threads());
#pragma omp parallel
  persistent = omp_get_thread_num() + 1;
  sum = 0;
#pragma omp parallel reduction(+ : sum)
  sum += persistent;
  printf("threadprivate: %d\n", sum);
#pragma omp parallel if (sum == 0)
  printf("if: %d of %d, in parallel %d\n", omp_get_thread_num(), omp_get_num_threads(),
         omp_in_parallel());
}

static void nested(void) {
  omp_set_max_active_levels(2);
  int sum = 0, deep = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum, deep)
  {
    int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2) reduction(+ : sum, deep)
    {
      if (omp_get_level() != 2 || omp_get_active_level() != 2) sum += 1000;
      if (omp_get_ancestor_thread_num(1) != outer) sum += 1000;
      if (omp_get_ancestor_thread_num(0) != 0 || omp_get_team_size(1) != 3) sum += 1000;
      sum += 1;
#pragma omp parallel num_threads(4) reduction(+ : deep)
      deep += omp_get_num_threads();
    }
  }
  printf("nested: %d, deeper: %d\n", sum, deep);
  sum = 0;
#pragma omp parallel num_threads(3)
#pragma omp single nowait
  for (int i = 0; i < 50; i++) {
#pragma omp task shared(sum)
#pragma omp parallel num_threads(2)
#pragma omp atomic
    sum += omp_get_num_threads();
  }
  printf("regions in tasks: %d\n", sum);
}

static void many(void) {
  long sum = 0;
  for (int i = 0; i < 2000; i++) {
#pragma omp parallel reduction(+ : sum) num_threads(1 + i % 4)
    sum += omp_get_num_threads();
  }
  printf("many: %ld\n", sum);
}

int main(void) {
  int size = 0;
#pragma omp parallel
#pragma omp single
  size = omp_get_num_threads();
  printf("at least one: %d, at most what was asked: %d\n", size >= 1,
         size <= omp_get_max_threads());
  printf("outside: %d of %d at level %d, ancestors %d %d\n", omp_get_thread_num(),
         omp_get_num_threads(), omp_get_level(), omp_get_ancestor_thread_num(0),
         omp_get_ancestor_thread_num(1));
  insisted();
  nested();
  many();
  return 0;
}
