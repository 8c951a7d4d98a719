// Reductions of arrays of a length that only the tasks can tell.
static void reduce_by_recursion(int *sums, int n) {
#pragma omp taskgroup task_reduction(+ : sums[0 : n])
#pragma omp task in_reduction(+ : sums[0 : n])
    {
        sums[0]++;
        if (n > 1)
            reduce_by_recursion(sums, n / 2);
    }
}

int main(int count, char **arguments) {
    (void)arguments;
    int n = 4, sums[n];
    for (int i = 0; i < n; i++)
        sums[i] = 0;
    if (count > 1) {
#pragma omp parallel num_threads(1)
        reduce_by_recursion(sums, n);
    } else {
#pragma omp parallel num_threads(1) reduction(task, + : sums[0 : n])
#pragma omp task in_reduction(+ : sums[0 : n])
        sums[0]++;
    }
    return 0;
}
