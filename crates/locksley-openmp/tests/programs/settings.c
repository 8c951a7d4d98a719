// Prints the settings, as the environment states them.
#include <omp.h>
#include <stdio.h>

int main(void) {
    omp_sched_t kind;
    int chunk;
    char format[64];
    omp_get_schedule(&kind, &chunk);
    omp_get_affinity_format(format, sizeof format);
    printf("%x,%d limit %d levels %d bind %d device %d cancel %d teams %d %d allocator %d %s\n",
           (unsigned)kind, chunk, omp_get_thread_limit(), omp_get_max_active_levels(),
           (int)omp_get_proc_bind(), omp_get_default_device(), omp_get_cancellation(),
           omp_get_max_teams(), omp_get_teams_thread_limit(), (int)omp_get_default_allocator(),
           format);
    for (int place = 0; place < omp_get_num_places(); place++) {
        int count = omp_get_place_num_procs(place), processors[64];
        if (count > 64) return 1;
        omp_get_place_proc_ids(place, processors);
        for (int i = 0; i < count; i++) printf("%d ", processors[i]);
        puts("");
    }
    omp_set_num_teams(-1);
    omp_set_teams_thread_limit(-1);
    omp_set_schedule(omp_sched_auto, 7);
    omp_get_schedule(&kind, &chunk);
    printf("%d %d %d,%d\n", omp_get_max_teams(), omp_get_teams_thread_limit(), (int)kind, chunk);
    int value = 0;
#pragma omp target map(tofrom : value) if (value)
    value = 0;
#pragma omp target map(tofrom : value) device(3)
    value = 1;
    printf("%d\n", value);
}
