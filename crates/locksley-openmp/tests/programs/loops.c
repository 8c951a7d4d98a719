// Loops: each schedule gives each iteration once, in the order that the schedule promises.
#include <omp.h>
#include <stdio.h>
#include <string.h>

#define MOST 5000
static unsigned char seen[MOST];

static const char *check(int count) {
  for (int i = 0; i < MOST; i++)
    if (seen[i] != (i < count)) return "wrong";
  memset(seen, 0, sizeof seen);
  return "right";
}

#define LOOP(SCHEDULE)                                                                    \
  do {                                                                                    \
    _Pragma("omp parallel num_threads(4)") {                                              \
      _Pragma(SCHEDULE) for (int i = 0; i < n; i++) seen[i]++;                             \
    }                                                                                     \
    printf("%s, %d: %s\n", SCHEDULE, n, check(n));                                        \
  } while (0)

static void schedules(int n) {
  LOOP("omp for schedule(static)");
  LOOP("omp for schedule(static, 7)");
  LOOP("omp for schedule(dynamic)");
  LOOP("omp for schedule(dynamic, 7)");
  LOOP("omp for schedule(monotonic : dynamic, 3)");
  LOOP("omp for schedule(guided)");
  LOOP("omp for schedule(guided, 7)");
  LOOP("omp for schedule(monotonic : guided)");
  LOOP("omp for schedule(auto)");
  for (int kind = 1; kind <= 4; kind++) {
    omp_set_schedule((omp_sched_t)kind, 3);
    LOOP("omp for schedule(runtime)");
    LOOP("omp for schedule(nonmonotonic : runtime)");
  }
}

static void combined(void) {
  long sum = 0;
#pragma omp parallel for schedule(dynamic, 5) reduction(+ : sum) num_threads(3)
  for (long i = 100; i > -100; i -= 3) sum += i * i;
  printf("down: %ld\n", sum);
  unsigned long long last = 0;
#pragma omp parallel for schedule(guided) lastprivate(last) num_threads(3)
  for (unsigned long long i = ~0ULL - 1000; i < ~0ULL - 3; i += 4) last = i;
  printf("unsigned: %llu\n", last);
}

static void ordered(void) {
  int next = 0, is_ordered = 1;
#pragma omp parallel for ordered schedule(dynamic, 2) num_threads(4)
  for (int i = 0; i < 500; i++) {
#pragma omp ordered
    is_ordered &= i == next++;
  }
#pragma omp parallel for ordered schedule(static, 3) num_threads(4)
  for (int i = 500; i < 1000; i++) {
#pragma omp ordered
    is_ordered &= i == next++;
  }
  printf("ordered: %d %d\n", is_ordered, next);
}

static int table[64][64];

static void doacross(void) {
  for (int i = 0; i < 64; i++) table[i][0] = table[0][i] = 1;
#pragma omp parallel for collapse(2) ordered(2) schedule(dynamic, 1) num_threads(4)
  for (int i = 1; i < 64; i++)
    for (int j = 1; j < 64; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
      table[i][j] = (table[i - 1][j] + table[i][j - 1]) % 1000003;
#pragma omp ordered depend(source)
    }
  printf("doacross: %d\n", table[63][63]);
}

// Threads run ahead of each other through many loops.
static void nowait(void) {
  static int sums[200];
#pragma omp parallel num_threads(4)
  for (int round = 0; round < 200; round++) {
#pragma omp for schedule(dynamic, 3) nowait
    for (int i = 0; i < 50; i++)
#pragma omp atomic
      sums[round] += i;
  }
  int wrong = 0;
  for (int round = 0; round < 200; round++) wrong += sums[round] != 1225;
  printf("nowait: %d wrong\n", wrong);
}

int main(void) {
  omp_set_dynamic(0);
  schedules(0);
  schedules(1);
  schedules(MOST);
  combined();
  ordered();
  doacross();
  nowait();
  return 0;
}
