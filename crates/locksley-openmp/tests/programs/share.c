// Begins regions until one has at most so many threads, or for so many seconds; says which.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    if (count != 3)
        return 2;
    int wanted = atoi(arguments[1]), size = 0;
    double end = omp_get_wtime() + atof(arguments[2]), sum = 0;
    while (omp_get_wtime() < end && (size == 0 || size > wanted)) {
#pragma omp parallel reduction(+ : sum)
        {
#pragma omp master
            size = omp_get_num_threads();
            for (int i = 0; i < 100000; i++)
                sum += i * 0.5;
        }
    }
    printf("%s\n", sum > 0 && size <= wanted ? "a share" : "all");
}
