// A plugin, as Python's extensions are: the size of its teams.
#include <omp.h>

static int sum;

// While it is opened, when the dynamic linker holds its lock.
__attribute__((constructor)) static void open_it(void) {
#pragma omp parallel for reduction(+ : sum) num_threads(3)
    for (int i = 0; i < 100; i++) sum += i;
}

int sum_of_constructor(void) { return sum; }

int team_size(void) {
    int size = 0;
#pragma omp parallel
#pragma omp master
    size = omp_get_num_threads();
    return size;
}
