// What OpenMP's constructs cost, like the microbenchmarks of EPCC (Bull, EWOMP 1999).
//
// overheads CONSTRUCT SECONDS  repeats a construct until the seconds have passed, checks what it
// computed, and prints a line of JSON: the nanoseconds of one, and the size of the last team.
// overheads library            prints which library provides OpenMP, as a string of JSON.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The iterations of a loop that is measured for its schedule, for each thread.
enum { ITERATIONS = 128 };

static int64_t done; // by all threads
static omp_lock_t lock;

static void one_more(void) { __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED); }

// Each function executes its construct `count` times, and returns what `done` is to be.

static int64_t parallel(int64_t count) {
    for (int64_t i = 0; i < count; i++) {
#pragma omp parallel
#pragma omp master
        done++;
    }
    return count;
}

static int64_t reduction(int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        int64_t threads = 0;
        int size = 0;
#pragma omp parallel reduction(+ : threads)
        {
            threads++;
            if (omp_get_thread_num() == 0) {
                size = omp_get_num_threads();
            }
        }
        done += threads == size;
    }
    return count;
}

// The function of a construct that the threads of one region repeat. `master` of them count.
#define INSIDE(name, construct)                                                                    \
    static int64_t name(int64_t count) {                                                           \
        _Pragma("omp parallel") for (int64_t i = 0; i < count; i++) { construct }                  \
        return count;                                                                              \
    }

INSIDE(barrier, if (omp_get_thread_num() == 0) { done++; } _Pragma("omp barrier"))
INSIDE(single, _Pragma("omp single") done++;)

// A loop with as many iterations as threads: the construct alone.
INSIDE(for_loop, int threads = omp_get_num_threads();
       _Pragma("omp for") for (int j = 0; j < threads; j++) {
           if (j == 0) {
               done++;
           }
       })

// Loops with many iterations. One construct is a loop.
#define SCHEDULE(name, pragma)                                                                     \
    static int64_t name(int64_t count) {                                                           \
        int size = 1;                                                                              \
        _Pragma("omp parallel") {                                                                  \
            int64_t own = 0;                                                                       \
            int threads = omp_get_num_threads();                                                   \
            if (omp_get_thread_num() == 0) {                                                       \
                size = threads;                                                                    \
            }                                                                                      \
            for (int64_t i = 0; i < count; i++) {                                                  \
                _Pragma(pragma) for (int j = 0; j < ITERATIONS * threads; j++) {                   \
                    own++;                                                                         \
                    __asm__ volatile("" : "+r"(own));                                              \
                }                                                                                  \
            }                                                                                      \
            __atomic_fetch_add(&done, own, __ATOMIC_RELAXED);                                      \
        }                                                                                          \
        return count * ITERATIONS * size;                                                          \
    }

SCHEDULE(for_static, "omp for schedule(static)")
SCHEDULE(for_static_1, "omp for schedule(static, 1)")
SCHEDULE(for_dynamic_1, "omp for schedule(dynamic, 1)")
SCHEDULE(for_dynamic_16, "omp for schedule(dynamic, 16)")
SCHEDULE(for_guided_1, "omp for schedule(guided, 1)")

// The threads together execute these `count` times.
#define SHARED(name, construct)                                                                    \
    static int64_t name(int64_t count) {                                                           \
        _Pragma("omp parallel") {                                                                  \
            int64_t threads = omp_get_num_threads(), number = omp_get_thread_num();                \
            for (int64_t i = number; i < count; i += threads) { construct }                        \
        }                                                                                          \
        return count;                                                                              \
    }

SHARED(critical, _Pragma("omp critical") done++;)
SHARED(lock_unlock, omp_set_lock(&lock); done++; omp_unset_lock(&lock);)
SHARED(atomic, _Pragma("omp atomic") done++;)
SHARED(task, _Pragma("omp task") one_more();)
SHARED(taskwait, _Pragma("omp task") one_more(); _Pragma("omp taskwait"))

static int64_t ordered(int64_t count) {
#pragma omp parallel for ordered schedule(static, 1)
    for (int64_t i = 0; i < count; i++) {
#pragma omp ordered
        done++;
    }
    return count;
}

static int64_t task_of_one(int64_t count) {
#pragma omp parallel
#pragma omp single
    for (int64_t i = 0; i < count; i++) {
#pragma omp task
        one_more();
    }
    return count;
}

static const struct {
    const char *name;
    int64_t (*execute)(int64_t count);
} constructs[] = {
    {"parallel", parallel},
    {"reduction", reduction},
    {"for", for_loop},
    {"barrier", barrier},
    {"single", single},
    {"critical", critical},
    {"lock", lock_unlock},
    {"ordered", ordered},
    {"atomic", atomic},
    {"task", task},
    {"task-of-one", task_of_one},
    {"taskwait", taskwait},
    {"static", for_static},
    {"static-1", for_static_1},
    {"dynamic-1", for_dynamic_1},
    {"dynamic-16", for_dynamic_16},
    {"guided-1", for_guided_1},
};

int main(int argc, char **argv) {
    double least = argc == 3 ? atof(argv[2]) : 0;
    for (size_t i = 0; argc == 3 && i < sizeof constructs / sizeof *constructs; i++) {
        if (strcmp(argv[1], constructs[i].name) != 0) {
            continue;
        }
        omp_init_lock(&lock);
        constructs[i].execute(10); // starts the threads
        double seconds = 0;
        int64_t count = 0;
        for (int64_t next = 10; seconds < least; next *= 2) {
            done = 0;
            double start = omp_get_wtime();
            int64_t expected = constructs[i].execute(next);
            seconds += omp_get_wtime() - start;
            count += next;
            if (done != expected) {
                printf("{\"wrong\": \"the answer of %s is wrong: %lld, and not %lld\"}\n", argv[1],
                       (long long)done, (long long)expected);
                return 0;
            }
        }
        int size = 0;
#pragma omp parallel
#pragma omp master
        size = omp_get_num_threads();
        printf("{\"ns\": %.3f, \"threads\": %d}\n", seconds * 1e9 / (double)count, size);
        return 0;
    }
    Dl_info found;
    if (argc == 2 && dladdr(dlsym(RTLD_DEFAULT, "GOMP_parallel"), &found)) {
        printf("\"%s\"\n", found.dli_fname);
        return 0;
    }
    fprintf(stderr, "usage: overheads CONSTRUCT SECONDS\n");
    return 2;
}
