// A plugin, as Python's extensions are: the size of its teams.
#include <omp.h>

int team_size(void) {
    int size = 0;
#pragma omp parallel
#pragma omp master
    size = omp_get_num_threads();
    return size;
}
