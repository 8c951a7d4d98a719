// Functions that clang 22 and flang 22 call, as other compilers can call them. `omp.h` of LLVM has
// the names with `ompc_`.
#include <omp.h>
#include <stdio.h>
#include <string.h>

void __kmpc_dist_for_static_init_4(void *, int, int, int *, int *, int *, int *, int *, int, int);
void __kmpc_dist_for_static_init_8u(void *, int, int, int *, unsigned long *, unsigned long *,
                                    unsigned long *, long *, long, long);
void __kmpc_push_num_teams(void *, int, int, int);
void __kmpc_fork_teams(void *, int, void *, ...);
void __kmpc_fork_call_if(void *, int, void *, int, void *);
void __kmpc_set_thread_limit(void *, int, int);
size_t __kmpc_init_allocator(int, size_t, int, void *);
void __kmpc_destroy_allocator(int, size_t);
void __kmpc_error(void *, int, const char *);
void *__kmpc_omp_task_alloc(void *, int, int, size_t, size_t, int (*)(int, void *));
int __kmpc_omp_task_with_deps(void *, int, void *, int, void *, int, void *);
size_t ompc_capture_affinity(char *, size_t, const char *);
size_t ompc_get_affinity_format(char *, size_t);
void ompc_set_affinity_format(const char *);
int omp_in_explicit_task(void);
void __kmpc_scope(void *, int, void *);
void __kmpc_end_scope(void *, int, void *);
void __kmpc_end_sections(void *, int);

enum { STATIC_CHUNKED = 33, STATIC = 34 };
static int wrong;
static int executed[100];
static int size;
static int chunk;

// Each thread of each team executes its own iterations.
static void team(int *global, int *bound) {
#pragma omp parallel num_threads(3)
  {
    int has_last, first = 0, last = size - 1, last_of_team, stride = 0, had_last = 0;
    int kind = chunk ? STATIC_CHUNKED : STATIC;
    __kmpc_dist_for_static_init_4(0, 0, kind, &has_last, &first, &last, &last_of_team, &stride, 1,
                                  chunk);
    for (; first <= last_of_team && first <= last; first += stride, last += stride) {
      for (int i = first; i <= last && i <= last_of_team; i++) {
#pragma omp atomic
        executed[i]++;
        had_last |= i == size - 1;
      }
      if (!chunk) break;
    }
    if (had_last != has_last) wrong++;
  }
}

// The same downwards.
static void unsigned_team(int *global, int *bound) {
  int has_last;
  unsigned long first = 99, last = 100 - size, last_of_team;
  long stride;
  __kmpc_dist_for_static_init_8u(0, 0, STATIC, &has_last, &first, &last, &last_of_team, &stride, -1,
                                 0);
  for (unsigned long i = first; i + 1 > last; i--) executed[99 - i]++;
  if (has_last && last != 100 - size) wrong++;
}

static void check(void) {
  for (int i = 0; i < 100; i++) wrong += executed[i] != (i < size);
  memset(executed, 0, sizeof executed);
}

static void region(int *global, int *bound, int *levels) {
#pragma omp single
  *levels = 10 * omp_get_level() + omp_in_parallel();
}

static int sum;

static int add(int thread, void *task) {
  sum += omp_in_explicit_task();
  return 0;
}

int main(void) {
    // They mark where a construct begins and ends.
    __kmpc_scope(NULL, 0, NULL), __kmpc_end_scope(NULL, 0, NULL), __kmpc_end_sections(NULL, 0);
  omp_set_dynamic(0);
  for (size = 0; size < 100; size += 1 + size / 3)
    for (int teams = 1; teams < 5; teams++) {
      for (chunk = 0; chunk < 4; chunk++) {
        __kmpc_push_num_teams(0, 0, teams, 0);
        __kmpc_fork_teams(0, 0, (void *)team);
        check();
      }
      __kmpc_push_num_teams(0, 0, teams, 0);
      __kmpc_fork_teams(0, 0, (void *)unsigned_team);
      check();
    }
  printf("%d wrong\n", wrong);

  int levels[2];
  omp_set_num_threads(2);
  __kmpc_fork_call_if(0, 1, (void *)region, 0, &levels[0]);
  __kmpc_fork_call_if(0, 1, (void *)region, 1, &levels[1]);
  printf("regions: %d %d\n", levels[0], levels[1]);

#pragma omp task if (0)
  {
    __kmpc_set_thread_limit(0, 0, 2);
    int limited = omp_get_thread_limit();
#pragma omp parallel num_threads(4)
#pragma omp single
    printf("%d of %d threads\n", omp_get_num_threads(), limited);
  }

  // LLVM's number for the default space.
  size_t allocator = __kmpc_init_allocator(0, 99, 0, 0);
  char *memory = omp_alloc(10, (omp_allocator_handle_t)allocator);
  memset(memory, 1, 10);
  omp_free(memory, (omp_allocator_handle_t)allocator);
  __kmpc_destroy_allocator(0, allocator);

  char text[20];
  ompc_set_affinity_format("%L %n");
  ompc_get_affinity_format(text, sizeof text);
  printf("%s: ", text);
  printf("%zu ", ompc_capture_affinity(text, sizeof text, 0));
  printf("%s\n", text);

  // The address -1 stands for all memory.
  struct {
    size_t address, size;
    unsigned char flags;
  } dependence = {-1, 0, 2};
  int variable;
#pragma omp parallel num_threads(3)
#pragma omp single
  for (int i = 0; i < 1000; i++) {
#pragma omp task depend(out : variable)
    sum++;
    __kmpc_omp_task_with_deps(0, 0, __kmpc_omp_task_alloc(0, 0, 1, 40, 0, add), 1, &dependence, 0,
                              0);
  }
  printf("%d tasks, %d\n", sum, omp_in_explicit_task());
  fflush(stdout);
  __kmpc_error(0, 1, "a warning");
  __kmpc_error(0, 2, "an error");
}
