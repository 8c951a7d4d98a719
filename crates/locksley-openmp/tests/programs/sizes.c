// Sizes of teams without clauses, for 300 ms.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int processors = omp_get_num_procs(), others = 0;
    for (double end = omp_get_wtime() + 0.3; omp_get_wtime() < end;) {
#pragma omp parallel
#pragma omp master
        others += omp_get_num_threads() != processors;
    }
    int most = omp_get_max_threads();
    printf("%d teams of another size than the processors, more at most: %d\n", others,
           most > processors && most > 2);
}
