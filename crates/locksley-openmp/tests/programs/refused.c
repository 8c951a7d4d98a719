// Insists on threads.
#include <omp.h>

int main(void) {
    int threads = 0;
#pragma omp parallel num_threads(4)
#pragma omp atomic
    threads++;
    return 10 + threads;
}
