// Accesses on both sides of each kind of synchronization, for ThreadSanitizer. With an argument,
// the synchronization of that name is left out.
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 20 };

static const char *left_out = "";
static int slots[THREADS], plain[8], taken;
static omp_lock_t lock;

static int has(const char *name) { return strcmp(left_out, name) != 0; }

static void regions(int round) {
    int before = round, after[THREADS] = {0};
#pragma omp parallel num_threads(THREADS)
    after[omp_get_thread_num()] = before + slots[(omp_get_thread_num() + 1) % THREADS];
    for (int i = 0; i < THREADS; i++) slots[i] = after[i] - slots[i];
}

static void barriers(void) {
#pragma omp parallel num_threads(THREADS)
    {
        int own = omp_get_thread_num(), next = (own + 1) % THREADS;
        slots[own]++;
        if (has("barrier")) {
#pragma omp barrier
        }
        plain[own] = slots[next];
    }
}

static void locks(void) {
#pragma omp parallel num_threads(THREADS)
    {
        if (has("lock")) omp_set_lock(&lock);
        plain[0]++;
        if (has("lock")) omp_unset_lock(&lock);
#pragma omp critical
        plain[1]++;
        while (!omp_test_lock(&lock)) {
#pragma omp taskyield
        }
        plain[0]++;
        omp_unset_lock(&lock);
    }
}

static void ordered(void) {
    int sum = 0;
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp for ordered schedule(dynamic)
        for (int i = 0; i < 16; i++) {
#pragma omp ordered
            sum += i;
        }
#pragma omp for ordered(1)
        for (int i = 0; i < 16; i++) {
#pragma omp ordered depend(sink : i - 1)
            sum += i;
#pragma omp ordered depend(source)
        }
    }
    plain[2] = sum;
}

static void tasks(void) {
    int first = 0, second = 0, third = 0, sum = 0, all[16];
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    {
        int creator = omp_get_thread_num();
        for (int i = 0; i < 16; i++) all[i] = i;
        for (int i = 0; i < 16; i++) {
#pragma omp task
            {
                all[i]++;
                if (omp_get_thread_num() != creator) __atomic_store_n(&taken, 1, __ATOMIC_RELAXED);
            }
        }
        if (has("taskwait")) {
#pragma omp taskwait
        } else {
            // Until another thread has taken a task.
            for (int i = 0; i < 10000 && !__atomic_load_n(&taken, __ATOMIC_RELAXED); i++)
                usleep(100);
        }
        for (int i = 0; i < 16; i++) sum += all[i];
#pragma omp task depend(out : first)
        first = 1;
#pragma omp task depend(out : second)
        second = 2;
#pragma omp task depend(in : first, second)
        third = first + second;
#pragma omp taskwait
        sum += third;
#pragma omp taskgroup
        {
#pragma omp task
            first = 7;
        }
        sum += first;
#pragma omp taskloop num_tasks(4)
        for (int i = 0; i < 16; i++) all[i] = 0;
        sum += all[3];
        omp_event_handle_t event;
#pragma omp task detach(event)
        second = 8;
#pragma omp task
        {
            third = 9;
            omp_fulfill_event(event);
        }
#pragma omp taskwait
        sum += second + third;
    }
    plain[3] = sum;
}

static void others(void) {
    int sum = 0, copied;
#pragma omp parallel num_threads(THREADS) private(copied) reduction(+ : sum)
    {
#pragma omp single copyprivate(copied)
        copied = slots[0];
#pragma omp sections
        {
#pragma omp section
            plain[4] = copied;
#pragma omp section
            plain[5] = copied;
        }
        sum += plain[4] + plain[5];
    }
    plain[6] = sum;
}

int main(int count, char **arguments) {
    alarm(120);
    if (count > 1) left_out = arguments[1];
    omp_init_lock(&lock);
    for (int i = 0; i < ROUNDS; i++) {
        regions(i);
        barriers();
        locks();
        ordered();
        tasks();
        others();
    }
    puts("done");
}
