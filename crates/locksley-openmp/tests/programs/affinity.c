// Begins regions whose threads print where they are.
#include <omp.h>

static volatile int sink;

int main(void) {
    omp_set_dynamic(0);
    for (int i = 0; i < 2; i++) {
#pragma omp parallel num_threads(3)
        sink = 0;
    }
#pragma omp parallel num_threads(2)
    sink = 0;
#pragma omp parallel num_threads(1)
    sink = 0;
#pragma omp parallel num_threads(2) proc_bind(spread)
    sink = 0;
#pragma omp parallel num_threads(3)
    sink = 0;
    omp_set_max_active_levels(2);
    omp_set_affinity_format("in %n/%N of %a at %A on %H, %T %t|%0.3n %{nesting_level} %%");
#pragma omp parallel num_threads(2)
    {
        // libgomp's first thread prints what the others are by then.
#pragma omp barrier
        if (omp_get_thread_num() == 1) {
#pragma omp parallel num_threads(2)
            sink = 0;
        }
    }
    omp_display_affinity("%n of %N");
    omp_display_affinity("");
}
