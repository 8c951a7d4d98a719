// Each team of a league begins with the settings of the construct, which hold after it, too.
#include <omp.h>
#include <stdio.h>

// A teams construct may not contain the calls itself.
static void team(void) {
    printf("%d\n", omp_get_max_threads());
    omp_set_num_threads(5);
}

int main(void) {
    omp_set_num_threads(3);
#pragma omp teams num_teams(3)
    team();
    printf("%d\n", omp_get_max_threads());
}
