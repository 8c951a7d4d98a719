// What happens to a process and its threads while it uses OpenMP, from before main to after the
// last thread. The first argument is the case; others follow it.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char **arguments;
static int wrong;
static int before_main;

static int region(int threads) {
    int sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(threads)
    for (int i = 0; i < 100; i++) sum += i;
    if (sum != 4950) {
#pragma omp atomic
        wrong++;
    }
    return sum;
}

__attribute__((constructor)) static void constructor(void) { before_main = region(3); }

static int threads(void) {
    char line[256];
    int count = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "Threads: %d", &count);
    if (file) fclose(file);
    return count;
}

// Whether more than so many threads are left after at most five seconds.
static int more_than(int count) {
    for (int i = 0; i < 100 && threads() > count; i++) usleep(50000);
    return threads() > count;
}

static void run(void *(*function)(void *)) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, NULL)) exit(9);
    pthread_join(thread, NULL);
}

// The program again, in another case, in an environment that the caller has prepared.
static void again(const char *name) {
    execl("/proc/self/exe", arguments[0], name, NULL);
    _exit(9);
}

// How a child ends: its code, or 128 and the signal. A child that takes more than 20 s is killed.
static int end_of(pid_t child) {
    int status;
    for (int i = 0; i < 2000; i++) {
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        usleep(10000);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return 1000;
}

static pthread_key_t first, second;
static int rounds;

static void destructor(void *unused) {
    (void)unused;
    region(4);
    // What the thread sets holds for its later regions.
    omp_set_num_threads(2);
    for (int i = 0; i < 3; i++) {
        int count = 0;
#pragma omp parallel reduction(+ : count)
        count += omp_get_num_threads();
        if (count != 4 || omp_get_max_threads() != 2) wrong++;
    }
    // A region within a task, which goes on after it.
#pragma omp task
    {
        region(3);
        omp_set_num_threads(3);
    }
#pragma omp taskwait
    // Once more, in the next round of destructors.
    if (rounds++ % 2 == 0) pthread_setspecific(first, &first);
}

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle;

static void *with_destructors(void *unused) {
    region(2);
    // As a thread_local variable of C++ does.
    __cxa_thread_atexit_impl(destructor, NULL, &__dso_handle);
    pthread_setspecific(first, &first);
    pthread_setspecific(second, &second);
    return unused;
}

static void *only_in_destructors(void *unused) {
    pthread_setspecific(second, &second);
    return unused;
}

static void destructors(void) {
    pthread_key_create(&first, destructor);
    region(4);
    pthread_key_create(&second, destructor);
    for (int i = 0; i < 50; i++) run(with_destructors), run(only_in_destructors);
    printf("leaked threads: %d\n", more_than(8));
}

static void *ask(void *unused) {
    // A destructor that uses OpenMP, and begins no region.
    pthread_setspecific(first, &first);
    omp_get_max_threads();
    return unused;
}

static void asks(void *unused) {
    static int count;
    (void)unused;
    omp_get_max_threads();
    if (++count < 10) pthread_setspecific(first, &first);
}

// The main thread ends first. The process ends with the last of the program's threads.
static void *later(void *unused) {
    usleep(50000);
    run(ask);
    region(3);
    return unused;
}

static void *without_openmp(void *unused) {
    usleep(50000);
    return unused;
}

static void main_ends(void *(*last)(void *), int uses_openmp) {
    pthread_t thread;
    pthread_key_create(&first, asks);
    if (uses_openmp) region(4);
    pthread_create(&thread, NULL, last, NULL);
    pthread_detach(thread);
    puts("main ends");
    pthread_exit(NULL);
}

static void exits(void) {
    printf("at exit: %d\n", region(4));
    fflush(stdout);
}

static void plugin(void) {
    void *handle = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
    int (*sum)(void);
    *(void **)&sum = handle ? dlsym(handle, "sum_of_constructor") : NULL;
    printf("in the constructor: %d\n", sum ? sum() : -1);
    if (handle) dlclose(handle);
}

struct plugin {
    int (*number)(void);
    int sum;
};

static void add(void *data) {
    struct plugin *plugin = data;
    __atomic_fetch_add(&plugin->sum, plugin->number(), __ATOMIC_RELAXED);
}

static void libraries(void) {
    // The library by itself, as a plugin brings it: its names are not the program's.
    for (int i = 0; i < 3; i++) {
        void *handle = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL | (i == 1 ? RTLD_DEEPBIND : 0));
        void *twice = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
        if (!handle || handle != twice) exit(8);
        void (*parallel)(void (*)(void *), void *, unsigned, unsigned);
        int (*number)(void);
        *(void **)&parallel = dlsym(handle, "GOMP_parallel");
        *(void **)&number = dlsym(handle, "omp_get_num_threads");
        struct plugin plugin = {number, 0};
        parallel(add, &plugin, 3, 0);
        printf("threads by the library: %d\n", plugin.sum);
        dlclose(twice);
        dlclose(handle);
    }
    region(3);
    usleep(20000);
}

static void children(void) {
    int failed = 0;
#pragma omp parallel num_threads(4) reduction(+ : failed)
    {
        char *words[] = {"true", NULL};
        pid_t child;
        int status = 1;
        failed += posix_spawnp(&child, "true", NULL, NULL, words, environ) != 0;
        failed += waitpid(child, &status, 0) != child || status != 0;
        child = vfork();
        if (child == 0) _exit(5);
        failed += waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 5;
        child = fork();
        if (child == 0) _exit(6);
        failed += waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 6;
#pragma omp barrier
        failed += omp_get_num_threads() != 4;
    }
    region(4);
    printf("failed: %d\n", failed);
}

// A child that is forked within a region, by each of two threads while the other one computes, and
// goes on in several ways.
static void orphans(int way) {
    static int forked;
#pragma omp parallel num_threads(2)
    for (int member = 0; member < 2; member++) {
        if (omp_get_thread_num() == member) {
            fflush(stdout);
            pid_t child = fork();
            if (child) {
                __atomic_store_n(&forked, member + 1, __ATOMIC_RELEASE);
                printf("%d\n", end_of(child));
            } else if (way == 0) {
#pragma omp barrier
                _exit(0);
            } else if (way == 1) {
                omp_set_max_active_levels(9);
                region(3);
                _exit(omp_get_num_threads() == 2 && !wrong ? 3 : 4);
            } else if (way == 2) {
                int count = 0;
                for (int i = 0; i < 4; i++) {
#pragma omp task shared(count)
#pragma omp atomic
                    count++;
                }
#pragma omp taskwait
                _exit(count);
            } else if (way == 3) {
                break; // To the end of the region, which is a barrier.
            }
        }
        while (__atomic_load_n(&forked, __ATOMIC_ACQUIRE) <= member) usleep(100);
#pragma omp barrier
    }
}

static omp_lock_t lock;

static void *hold_lock(void *is_held) {
    omp_set_lock(&lock);
    pthread_barrier_wait(is_held);
    usleep(100000);
    omp_unset_lock(&lock);
    return NULL;
}

// A child that is forked within a region waits for a lock that a thread of its own holds.
static void child_locks(void) {
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
#pragma omp master
    {
        fflush(stdout);
        pid_t child = fork();
        if (child) {
            printf("%d\n", end_of(child));
        } else {
            pthread_t thread;
            pthread_barrier_t is_held;
            pthread_barrier_init(&is_held, NULL, 2);
            pthread_create(&thread, NULL, hold_lock, &is_held);
            pthread_barrier_wait(&is_held);
            omp_set_lock(&lock);
            _exit(3);
        }
    }
}

// A child waits for its turn behind a thread that it lacks.
static void child_in_order(void) {
    for (int round = 0; round < 2; round++) {
#pragma omp parallel for ordered schedule(static, 1) num_threads(2)
        for (int i = 0; i < 2; i++) {
            if (i == 0) {
                usleep(200000);
            } else {
                fflush(stdout);
                pid_t child = fork();
                if (child) printf("%d\n", end_of(child));
                else alarm(10);
            }
#pragma omp ordered
            wrong += 0;
        }
    }
}

// A child is forked within a nested region whose other thread has ended, and leaves it.
static void child_nested(void) {
    omp_set_max_active_levels(3);
    fflush(stdout);
#pragma omp parallel num_threads(1)
    {
        pid_t child = 1;
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 0) {
            usleep(200000); // The other one waits at the end meanwhile.
            child = fork();
        }
        if (child == 0) {
            region(2);
            // Under OMP_THREAD_LIMIT=3: the threads of the region count no longer.
            int count = 0;
#pragma omp parallel num_threads(3) reduction(+ : count)
            count++;
            wrong += count != 3;
            omp_set_dynamic(1);
            region(3);
            _exit(wrong);
        }
        printf("%d\n", end_of(child));
    }
}

// Children are forked while another thread begins regions with task reductions, as they do.
static int stop;

static void reduce(void) {
    int sum = 0;
#pragma omp parallel for reduction(task, + : sum) num_threads(2)
    for (int i = 0; i < 8; i++) {
#pragma omp task in_reduction(+ : sum)
        sum += i;
    }
    wrong += sum != 28;
}

static void *reduce_again(void *unused) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) reduce();
    return unused;
}

static void fork_beside(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, reduce_again, NULL);
    int failed = 0;
    for (int i = 0; i < 100; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            reduce();
            _exit(wrong);
        }
        failed += end_of(child) != 0;
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    printf("failed children: %d\n", failed);
}

static volatile sig_atomic_t signals;

static void count_signal(int unused) {
    (void)unused;
    signals++;
}

static void interrupted(int flags) {
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = flags};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &often, NULL);
    long entered = 0, locked = 0, ordered = 0, across = 0, tasks = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
    for (int round = 0; round < 30; round++) {
#pragma omp parallel num_threads(4)
        {
            usleep(500 * (omp_get_thread_num() == round % 4));
#pragma omp barrier
#pragma omp critical
            entered++, usleep(50);
            omp_set_lock(&lock);
            locked++, usleep(50);
            omp_unset_lock(&lock);
#pragma omp for ordered schedule(dynamic)
            for (int i = 0; i < 8; i++) {
#pragma omp ordered
                ordered += ordered % 8 == i;
            }
#pragma omp for ordered(1) schedule(static, 1)
            for (int i = 0; i < 8; i++) {
#pragma omp ordered depend(sink : i - 1)
                across += across % 8 == i;
                usleep(20);
#pragma omp ordered depend(source)
            }
#pragma omp single
            {
                for (int i = 0; i < 8; i++) {
#pragma omp task
                    {
                        usleep(50);
#pragma omp atomic
                        tasks++;
                    }
                }
#pragma omp taskwait
            }
        }
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%ld %ld, in order %ld %ld, %ld tasks, signals %d\n", entered, locked, ordered, across,
           tasks, signals > 30);
}

static void *cancelled(void *unused) {
    region(4);
    pthread_testcancel();
    for (;;) {
        // A thread with a pending cancellation goes on with regions to its next point of its own.
        pthread_cancel(pthread_self());
        for (int i = 0; i < 200; i++) region(3 + i % 2);
        pthread_testcancel();
    }
    return unused;
}

static void *cancelled_first(void *unused) {
    pthread_cancel(pthread_self());
    for (int i = 0; i < 20; i++) region(1 + i % 4);
#pragma omp parallel num_threads(3)
#pragma omp critical
    rounds++;
    printf("regions in a thread that is cancelled: %d\n", rounds);
    pthread_testcancel();
    return unused;
}

static void cancels(void) {
    for (int i = 0; i < 10; i++) run(cancelled);
    printf("leaked threads: %d\n", more_than(8));
}

static void *until_stopped(void *unused) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) usleep(1000);
    return unused;
}

static void refused(void) {
    struct rlimit none = {2, 2};
    if (geteuid() == 0 && (setgid(54321) || setuid(54321))) exit(77);
    setrlimit(RLIMIT_NPROC, &none);
    // In some containers there is no such limit.
    pthread_t threads[3];
    int created = 0;
    while (created < 3 && !pthread_create(threads + created, NULL, until_stopped, NULL)) created++;
    stop = 1;
    for (int i = 0; i < created; i++) pthread_join(threads[i], NULL);
    if (created == 3) exit(77);
    int count = 0, size = 0;
#pragma omp parallel num_threads(16) reduction(+ : count)
    {
        count++;
#pragma omp master
        size = omp_get_num_threads();
    }
    region(16);
    printf("a team of 16 has fewer: %d, all took part: %d\n", size < 16, size == count);
}

static int descriptors(void) {
    int count = 0;
    for (int i = 0; i < 1000; i++) count += fcntl(i, F_GETFD) >= 0;
    return count;
}

static void no_descriptors(void) {
    int before = descriptors();
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    for (int i = 0; i < 100; i++) region(1 + i % 4), usleep(1000);
    omp_set_dynamic(1);
    region(4);
    printf("descriptors more than before: %d\n", descriptors() - before);
}

struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static void fill(char *text) {
    struct attributes it = {0};
    cpu_set_t affinity;
    sigset_t mask;
    char name[16] = "";
    memset(&mask, 0, sizeof mask);
    syscall(SYS_sched_getattr, 0, &it, sizeof it, 0);
    sched_getaffinity(0, sizeof affinity, &affinity);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    prctl(PR_GET_NAME, name);
    sprintf(text, "%u %lx %d %lu; %d; %lx; %s", it.policy, (long)it.flags, it.nice,
            (long)it.runtime, CPU_COUNT(&affinity), *(long *)&mask, name);
}

// What the program's threads have, and children inherit, beside busy processes.
static void attributes(void) {
    char before[200], after[200];
    pid_t busy[4];
    fill(before);
    for (int i = 0; i < 4; i++)
        if ((busy[i] = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;) (void)0;
        }
    for (double end = omp_get_wtime() + 0.5; omp_get_wtime() < end;) region(1 + rounds++ % 4);
    fill(after);
    int same = !strcmp(before, after);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) fill(after), _exit(!!strcmp(before, after));
    printf("the same: %d, in a child: %d\n", same, end_of(child) == 0);
    if (!same) fprintf(stderr, "%s\n%s\n", before, after);
    for (int i = 0; i < 4; i++) kill(busy[i], SIGKILL), waitpid(busy[i], NULL, 0);
}

// What a thread takes over from the one that starts it.
struct taken_over {
    cpu_set_t affinity;
    sigset_t mask;
    int nice, rounding;
};

static void look(struct taken_over *own) {
    memset(own, 0, sizeof *own);
    sched_getaffinity(0, sizeof own->affinity, &own->affinity);
    pthread_sigmask(SIG_SETMASK, NULL, &own->mask);
    own->nice = getpriority(PRIO_PROCESS, syscall(SYS_gettid));
    own->rounding = fegetround();
}

static void change(int number) {
    static const int roundings[] = {FE_UPWARD, FE_TONEAREST, FE_DOWNWARD},
                     signals[] = {SIGUSR1, SIGUSR2, SIGWINCH}, nices[] = {5, 0, 7};
    cpu_set_t all, one;
    sigset_t mask;
    int processor = -1;
    sched_getaffinity(0, sizeof all, &all);
    for (int left = number % CPU_COUNT(&all); left >= 0; left -= CPU_ISSET(processor, &all))
        processor++;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
    sigemptyset(&mask), sigaddset(&mask, signals[number]);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    setpriority(PRIO_PROCESS, syscall(SYS_gettid), nices[number]);
    fesetround(roundings[number]);
}

static int others[4], members;

static void compare(int threads) {
    struct taken_over host;
    look(&host);
#pragma omp parallel num_threads(threads)
    {
        struct taken_over own;
        look(&own);
#pragma omp critical
        {
            members++;
            others[0] += !CPU_EQUAL(&own.affinity, &host.affinity);
            others[1] += memcmp(&own.mask, &host.mask, sizeof own.mask) != 0;
            others[2] += own.nice != host.nice;
            others[3] += own.rounding != host.rounding;
        }
    }
}

static void *with_attributes(void *number) {
    change(*(int *)number);
    for (int i = 0; i < 10; i++) compare(4);
    return NULL;
}

// Each team is like the thread that begins it: those of threads that come after each other, and
// the inner ones of threads beside each other.
static void taken_over(int is_inside) {
    // Without privileges, no thread lowers a nice value.
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {0};
    if (syscall(SYS_capset, &header, none)) exit(77);
    if (!is_inside) {
        for (int number = 0; number < 3; number++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, with_attributes, &number)) exit(9);
            pthread_join(thread, NULL);
        }
        // With places, the main thread is bound in other ways than with libgomp.
        if (!getenv("OMP_PLACES")) compare(5);
    } else {
        omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
        {
            change(omp_get_thread_num());
            for (int i = 0; i < 50; i++) {
                compare(3);
                usleep(100 * (i % (2 + omp_get_thread_num())));
            }
        }
    }
    printf("of %d members: affinity %d, signals %d, nice %d, rounding %d others\n", members,
           others[0], others[1], others[2], others[3]);
}

static void small_stack(void) {
    struct rlimit small = {64 << 10, 64 << 10};
    setrlimit(RLIMIT_STACK, &small);
    again("regions");
}

// Stacks are the C library's: as the limit was when the process began, or as the program says.
static void use_stack(size_t size) {
#pragma omp parallel num_threads(3)
    {
        volatile char all[size];
        for (size_t i = 0; i < size; i += 4096) all[i] = 1;
    }
    puts("stacks are large enough");
}

static void *use_1_mib(void *unused) { return use_stack(1 << 20), unused; }

static void *use_30_mib(void *unused) { return use_stack(30 << 20), unused; }

static void lowered_stack(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = 256 << 10;
    setrlimit(RLIMIT_STACK, &limit);
    // The main thread's is small, too, so that another one begins the region.
    run(use_1_mib);
}

static void default_stack(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 20);
    if (pthread_setattr_default_np(&attributes)) exit(77);
    run(use_30_mib);
}

static void refuse(int number, struct sock_filter **next) {
    *(*next)++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    *(*next)++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
}

static void filtered(void) {
    struct sock_filter code[32], *next = code;
    *next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
    int numbers[] = {SYS_membarrier, SYS_sched_setaffinity, SYS_perf_event_open, SYS_sched_setattr,
                     SYS_sched_getattr, SYS_sched_getaffinity, SYS_setpriority};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) refuse(numbers[i], &next);
    *next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {next - code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        exit(77);
    again("regions");
}

static void without_proc(void) {
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) exit(77);
    if (mount("none", "/proc", "tmpfs", 0, NULL)) exit(77);
    execl(arguments[0], arguments[0], "regions", NULL);
    exit(9);
}

// How many threads have the name that the second argument is.
static void names(void) {
    int count = 0;
    region(4);
    struct dirent *entry;
    DIR *tasks = opendir("/proc/self/task");
    while (tasks && (entry = readdir(tasks))) {
        char path[300], name[32] = "";
        sprintf(path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fscanf(file, "%31s", name) == 1) count += !strcmp(name, arguments[2]);
        if (file) fclose(file);
    }
    printf("%d\n", count);
}

static void regions(void) {
    for (int i = 0; i < 200; i++) region(1 + i % 5);
#pragma omp parallel
    usleep(1000);
    omp_set_dynamic(1);
    region(4);
    puts("regions");
}

int main(int count, char **words) {
    arguments = words;
    const char *name = count > 1 ? words[1] : "";
    alarm(60);
    setvbuf(stdout, NULL, _IOLBF, 0);
#define CASE(word, action) \
    if (!strcmp(name, word)) { \
        action; \
        return wrong ? 4 : 0; \
    }
    CASE("constructor", printf("before main: %d\n", before_main))
    CASE("destructors", destructors())
    CASE("main-ends", main_ends(later, 1))
    CASE("main-ends-without", main_ends(without_openmp, 1))
    CASE("others-use-it", main_ends(later, 0))
    CASE("handler-after-main", (atexit(exits), main_ends(later, 1)))
    CASE("exit-handler", (atexit(exits), region(4)))
    CASE("libraries", libraries())
    CASE("children", children())
    CASE("child-waits", orphans(0))
    CASE("child-computes", orphans(1))
    CASE("child-executes-tasks", orphans(2))
    CASE("child-ends-region", orphans(3))
    CASE("child-locks", child_locks())
    CASE("child-in-order", child_in_order())
    CASE("child-nested", child_nested())
    CASE("signals", interrupted(0))
    CASE("signals-restart", interrupted(SA_RESTART))
    CASE("cancel", cancels())
    CASE("quick-exit", (region(4), at_quick_exit(exits), quick_exit(3)))
    CASE("plugin", plugin())
    CASE("cancel-first", run(cancelled_first))
    CASE("stack", small_stack())
    CASE("stack-lowered", lowered_stack())
    CASE("stack-default", default_stack())
    CASE("fork-beside", fork_beside())
    CASE("refused", refused())
    CASE("descriptors", no_descriptors())
    CASE("attributes", attributes())
    CASE("taken-over", taken_over(0))
    CASE("taken-over-inside", taken_over(1))
    CASE("seccomp", filtered())
    CASE("no-proc", without_proc())
    CASE("names", names())
    CASE("affinity", omp_display_affinity(NULL))
    CASE("regions", regions())
    return 99;
}
