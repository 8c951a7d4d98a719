// A task reduction of an array, whose size only the tasks can tell.
int main(void) {
    int n = 4, sums[n];
    for (int i = 0; i < n; i++)
        sums[i] = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sums[0 : n])
#pragma omp task in_reduction(+ : sums[0 : n])
    sums[0]++;
    return sums[0] - 1;
}
