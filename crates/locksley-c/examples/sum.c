/* Fills an array by a parallel loop, and sums it by divide and conquer. */
#include <locksley.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const double *numbers;
    size_t count;
    double total;
} sum;

static void fill(size_t begin, size_t end, void *data)
{
    double *numbers = data;
    for (size_t i = begin; i < end; i++)
        numbers[i] = 0.5;
}

static void add(void *data)
{
    sum *all = data;
    if (all->count <= 4096) {
        for (size_t i = 0; i < all->count; i++)
            all->total += all->numbers[i];
        return;
    }
    size_t half = all->count / 2;
    sum left = {all->numbers, half, 0};
    sum right = {all->numbers + half, all->count - half, 0};
    /* NULL: on the pool of the calling worker. */
    locksley_error error = locksley_join(NULL, add, &left, add, &right);
    if (error != LOCKSLEY_OK) {
        fprintf(stderr, "join: %s\n", locksley_strerror(error));
        abort();
    }
    all->total = left.total + right.total;
}

int main(void)
{
    enum { COUNT = 1000000 };
    locksley_pool *pool;
    locksley_error error = locksley_pool_create(0, &pool);
    if (error != LOCKSLEY_OK) {
        fprintf(stderr, "a pool: %s\n", locksley_strerror(error));
        return 1;
    }
    double *numbers = malloc(COUNT * sizeof *numbers);
    if (numbers == NULL)
        return 1;
    sum all = {numbers, COUNT, 0}, none = {numbers, 0, 0};
    if (locksley_for(pool, 0, COUNT, 0, fill, numbers) != LOCKSLEY_OK
        || locksley_join(pool, add, &all, add, &none) != LOCKSLEY_OK)
        return 1;
    printf("%.1f\n", all.total);
    free(numbers);
    locksley_pool_destroy(pool);
    return 0;
}
