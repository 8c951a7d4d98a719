// What clang compiles to functions of its own, and programs use less than what is in `clang.c`.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SIZE 20
static long grid[SIZE + 1][SIZE + 1];
static int disorder;

static long sum_of_grid(void) {
  long sum = 0;
  for (int i = 1; i <= SIZE; i++)
    for (int j = 1; j <= SIZE; j++) {
      sum = (sum * 31 + grid[i][j]) % 1000003;
      grid[i][j] = 0;
    }
  return sum;
}

static long at(int i, int j) {
  if (i < 1 || j < 1 || i > SIZE || j > SIZE) return 1;
  disorder += grid[i][j] == 0;
  if ((i + j) % 9 == 0) usleep(20);
  return grid[i][j] % 1000;
}

#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define UP(IT, STEP) IT = 1; IT <= SIZE; IT += STEP
#define DOWN(IT, STEP) IT = SIZE; IT > 0; IT -= STEP
// Each iteration waits for one of the outer iteration `I` before, and for the inner one before.
#define CROSS(TYPE, FOR_I, I, FOR_J, AFTER, BEFORE, LOOP)                         \
  do {                                                                            \
    PRAGMA(omp parallel num_threads(4))                                           \
    PRAGMA(LOOP) for (TYPE FOR_I) for (TYPE FOR_J) {                              \
      PRAGMA(omp ordered depend(sink : I, AFTER) depend(sink : i, BEFORE))        \
      grid[i][j] = 1 + at(I, AFTER) + 2 * at(i, BEFORE);                          \
      PRAGMA(omp ordered depend(source))                                          \
    }                                                                             \
    printf("%s %s: %ld, %d wrong\n", #TYPE, #LOOP, sum_of_grid(), disorder);      \
  } while (0)

#ifdef __clang__
typedef unsigned word;
typedef unsigned long long_word;
#else
// gcc 12 waits for iterations that do not exist if these types are unsigned.
typedef int word;
typedef long long_word;
#endif

static void loops_that_wait(void) {
  CROSS(int, UP(i, 1), i - 1, UP(j, 1), j + 1, j - 1, omp for ordered(2));
  CROSS(int, UP(i, 1), i - 1, UP(j, 2), j + 2, j - 2, omp for ordered(2) schedule(dynamic));
  CROSS(long, UP(i, 2), i - 2, UP(j, 1), j + 1, j - 1, omp for ordered(2) schedule(static, 3));
  CROSS(int, DOWN(i, 1), i + 1, DOWN(j, 3), j - 3, j + 3, omp for ordered(2) schedule(guided));
  CROSS(word, DOWN(i, 2), i + 2, DOWN(j, 1), j - 1, j + 1, omp for ordered(2) schedule(dynamic));
  CROSS(long_word, UP(i, 1), i - 1, DOWN(j, 1), j - 1, j + 1, omp for ordered(2) schedule(runtime));
  CROSS(int, UP(i, 1), i - 1, UP(j, 1), j + 1, j - 1, omp for collapse(2) ordered(2));
  int line[100] = {0};
#pragma omp parallel for ordered(1) num_threads(3) schedule(static, 1)
  for (int i = -50; i < 50; i++) {
#pragma omp ordered depend(sink : i - 2)
    line[i + 50] = i < -48 ? 1 : line[i + 48] + 1;
#pragma omp ordered depend(source)
  }
#pragma omp parallel for num_threads(3) schedule(dynamic)
  for (int i = 0; i < 100; i++) line[i]--;
  printf("%d %d\n", line[98], line[99]);
}

static void reductions_of_threads_and_tasks(int threads) {
  int region = 0, loop = 0, dynamic = 0, sections = 0, parts[3] = {0};
  long product = 1;
#pragma omp parallel num_threads(threads) reduction(task, + : region, parts) \
    reduction(task, * : product)
  for (int i = 0; i < 20; i++) {
    region++;
#pragma omp task in_reduction(+ : region, parts)
    {
      region += i;
      parts[i % 3] += i;
#pragma omp task in_reduction(+ : region)
      region += 1000;
    }
#pragma omp task if (0) in_reduction(* : product)
    product *= i % 10 == 0 ? 2 : 1;
  }
#pragma omp parallel num_threads(threads)
  for (int round = 0; round < 10; round++) {
#pragma omp for reduction(task, + : loop)
    for (int i = 0; i < 100; i++) {
      loop++;
#pragma omp task in_reduction(+ : loop)
      loop += i;
    }
#pragma omp for reduction(task, + : dynamic) schedule(dynamic)
    for (int i = 0; i < 100; i++) {
#pragma omp task in_reduction(+ : dynamic)
      dynamic += i;
    }
#pragma omp sections reduction(task, + : sections)
    {
#pragma omp section
#pragma omp task in_reduction(+ : sections)
      sections++;
#pragma omp section
      sections += 10;
    }
  }
  printf("%d %ld %d %d %d, ", region, product, parts[0], parts[1], parts[2]);
  printf("%d %d %d\n", loop, dynamic, sections);
}

static void reductions_of_arrays(int length) {
  int sums[length], others[length + 5], looped[length];
  for (int i = 0; i < length; i++) sums[i] = others[i] = looped[i] = 100 * i;
  volatile int is_done = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
  {
#pragma omp taskgroup task_reduction(+ : sums[0 : length]) task_reduction(+ : others[2 : 5])
    {
      for (int round = 0; round < 30; round++) {
#pragma omp task in_reduction(+ : sums[0 : length], others[2 : 5])
        {
          for (int i = 0; i < length; i++) sums[i] += i;
#pragma omp task in_reduction(+ : sums[0 : length])
          sums[1] += 1000;
#pragma omp task in_reduction(+ : sums[0 : length]) if (round % 2)
          sums[length - 1]--;
#pragma omp taskwait
          others[3]++;
          sums[0]++;
        }
      }
    }
    // The thread that ends the group takes no part.
#pragma omp taskgroup task_reduction(max : sums[0 : length])
    {
#pragma omp task in_reduction(max : sums[0 : length]) shared(is_done)
      {
        sums[length - 1] = 100000;
        is_done = 1;
      }
      while (!is_done) usleep(100);
    }
#pragma omp taskloop reduction(+ : looped[0 : length]) grainsize(7)
    for (int i = 0; i < 1000; i++) looped[i % length]++;
  }
  for (int i = 0; i < length; i++) printf("%d %d %d, ", sums[i], others[i], looped[i]);
  printf("\n");
}

static int counter = 5;
static struct { char name[100]; double value; } record = {"name", 1.5};
#pragma omp threadprivate(counter, record)

static void threadprivate(void) {
  int sum = 0, same = 0;
  double values = 0;
  counter += 2;
  record.value = 7;
#pragma omp parallel num_threads(4) reduction(+ : sum, same, values)
  {
    sum += counter++;
    values += record.value + (record.name[3] == 'e');
  }
#pragma omp parallel num_threads(4) reduction(+ : sum, same)
  same += counter == 6 || counter == 8;
  printf("%d %d %.1f, ", sum, same, values);
  counter = 10;
#pragma omp parallel num_threads(4) copyin(counter, record) reduction(+ : sum, values)
  {
    sum += counter;
    values += record.value;
#pragma omp single copyprivate(counter)
    counter = 100;
    sum += counter;
  }
  printf("%d %.1f\n", sum, values);
}

static void strict(void) {
  int tasks = 0, most = 0, hint = 0;
#if !defined(__clang__) || __clang_major__ >= 22
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskloop grainsize(strict : 4) firstprivate(most)
  for (int i = 0; i < 10; i++) {
#pragma omp atomic
    tasks += most++ == 0;
  }
#else
  tasks = 3;
#endif
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp task affinity(hint) shared(hint)
  hint++;
  printf("strict: %d tasks, %d\n", tasks, hint);
}

static void at_exit(void) {
  int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 10; i++) sum += i;
#pragma omp single
#pragma omp task shared(sum)
    counter++;
  }
  printf("at exit: %d, %d\n", sum, counter > 0);
}

int main(void) {
  atexit(at_exit);
  loops_that_wait();
  for (int threads = 1; threads < 5; threads += 3) reductions_of_threads_and_tasks(threads);
  reductions_of_arrays(5);
  reductions_of_arrays(9);
  threadprivate();
  strict();
  return 0;
}
