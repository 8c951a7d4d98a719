/* Each function of locksley.h, also with wrong arguments. */
#define _GNU_SOURCE
#include <locksley.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) check(condition, #condition, __LINE__)
#define CHECK_ERROR(call, error) check_error(call, LOCKSLEY_##error, #call, __LINE__)
#define CHECK_OK(call) CHECK_ERROR(call, OK)
enum { COUNT = 100000, WORKERS = 3 };

static void check(int holds, const char *what, int line)
{
    if (!holds) {
        fprintf(stderr, "line %d: %s\n", line, what);
        exit(1);
    }
}

static void check_error(locksley_error found, locksley_error expected, const char *what, int line)
{
    if (found != expected) {
        fprintf(stderr, "line %d: %s: %s\n", line, what, locksley_strerror(found));
        exit(1);
    }
}

static void versions_and_texts(void)
{
    CHECK(locksley_version() == LOCKSLEY_VERSION);
    CHECK(LOCKSLEY_VERSION / 1000000 == LOCKSLEY_VERSION_MAJOR);
    CHECK(LOCKSLEY_VERSION / 1000 % 1000 == LOCKSLEY_VERSION_MINOR);
    CHECK(LOCKSLEY_VERSION % 1000 == LOCKSLEY_VERSION_PATCH);
    for (int error = LOCKSLEY_OK; error <= LOCKSLEY_ERROR_PANIC; error++) {
        CHECK(strcmp(locksley_strerror(error), "unknown error") != 0);
        for (int other = LOCKSLEY_OK; other < error; other++)
            CHECK(strcmp(locksley_strerror(error), locksley_strerror(other)) != 0);
    }
    CHECK(strcmp(locksley_strerror(LOCKSLEY_ERROR_PANIC + 1), "unknown error") == 0);
    CHECK(strcmp(locksley_strerror(-1), "unknown error") == 0);
}

static void add_one(void *data)
{
    atomic_fetch_add((atomic_size_t *)data, 1);
}

static void read_name(void *data)
{
    pthread_getname_np(pthread_self(), data, 16);
}

static void options(void)
{
    locksley_pool *pool = NULL;
    CHECK_ERROR(locksley_pool_create(1, NULL), ERROR_ARGUMENT);
    CHECK_ERROR(locksley_pool_create_with(NULL, NULL), ERROR_ARGUMENT);
    CHECK_ERROR(locksley_pool_create(70000, &pool), ERROR_ARGUMENT);
    CHECK(pool == NULL);
    CHECK_OK(locksley_pool_destroy(NULL));

    locksley_pool_options options = LOCKSLEY_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.stack_size = 1 << 20;
    options.thread_name = "painter";
    options.own_threads_only = true;
    CHECK_OK(locksley_pool_create_with(&options, &pool));
    CHECK(locksley_pool_workers(pool) == 2);
    CHECK(locksley_pool_indices(pool) == 2);
    char name[16] = "";
    locksley_task *task;
    CHECK_OK(locksley_spawn(pool, read_name, name, &task));
    CHECK_OK(locksley_task_join(task));
    CHECK(strcmp(name, "painter-0") == 0 || strcmp(name, "painter-1") == 0);
    CHECK_OK(locksley_pool_destroy(pool));

    options.thread_name = "\xff";
    CHECK_ERROR(locksley_pool_create_with(&options, &pool), ERROR_ARGUMENT);
    options.thread_name = NULL;
    options.size--;
    CHECK_ERROR(locksley_pool_create_with(&options, &pool), ERROR_ARGUMENT);
    options.size++;
    options.stack_size = (size_t)1 << 62;
    CHECK_ERROR(locksley_pool_create_with(&options, &pool), ERROR_THREAD);
    CHECK(pool == NULL);
    CHECK_OK(locksley_pool_create_with(NULL, &pool));
    CHECK(locksley_pool_workers(pool) >= 1);
    CHECK(locksley_pool_indices(pool) >= locksley_pool_workers(pool));
    CHECK_OK(locksley_pool_destroy(pool));
}

static void global_pool(void)
{
    setenv("LOCKSLEY_WORKERS", "many", 1);
    atomic_size_t ones = 0;
    locksley_pool *pool;
    locksley_task *task = (locksley_task *)&ones;
    CHECK_ERROR(locksley_pool_create(0, &pool), ERROR_ENVIRONMENT);
    CHECK_ERROR(locksley_join(NULL, add_one, &ones, add_one, &ones), ERROR_ENVIRONMENT);
    CHECK_ERROR(locksley_spawn(NULL, add_one, &ones, &task), ERROR_ENVIRONMENT);
    CHECK(task == NULL && ones == 0);
    CHECK(locksley_pool_workers(NULL) == 0 && locksley_pool_indices(NULL) == 0);
    setenv("LOCKSLEY_WORKERS", "70000", 1);
    CHECK_ERROR(locksley_pool_create(0, &pool), ERROR_ENVIRONMENT);
    CHECK_ERROR(locksley_join(NULL, add_one, &ones, add_one, &ones), ERROR_ENVIRONMENT);
    setenv("LOCKSLEY_WORKERS", "2", 1);
    CHECK_OK(locksley_join(NULL, add_one, &ones, add_one, &ones));
    CHECK(ones == 2);
    CHECK(locksley_pool_workers(NULL) == 2 && locksley_pool_indices(NULL) >= 2);
}

typedef struct {
    locksley_pool *pool;
    int n;
    int result;
} fibonacci;

static void fib(void *data)
{
    fibonacci *it = data;
    CHECK(locksley_worker_index() < locksley_pool_indices(it->pool));
    CHECK(locksley_pool_workers(NULL) == WORKERS);
    if (it->n < 2) {
        it->result = it->n;
        return;
    }
    fibonacci a = {it->pool, it->n - 1, 0}, b = {it->pool, it->n - 2, 0};
    CHECK_OK(locksley_join(it->n % 2 ? it->pool : NULL, fib, &a, fib, &b));
    it->result = a.result + b.result;
}

static void joins(locksley_pool *pool)
{
    fibonacci one = {pool, 15, 0}, other = {pool, 10, 0};
    CHECK_OK(locksley_join(pool, fib, &one, fib, &other));
    CHECK(one.result == 610 && other.result == 55);
    CHECK(locksley_worker_index() == LOCKSLEY_NO_INDEX);
    CHECK_ERROR(locksley_join(pool, NULL, NULL, fib, &other), ERROR_ARGUMENT);
    CHECK_ERROR(locksley_join(pool, fib, &one, NULL, NULL), ERROR_ARGUMENT);
}

typedef struct {
    atomic_uchar visits[COUNT];
    size_t grain;
    const locksley_cancellation *token;
    atomic_size_t sum;
} visited;

static void visit(size_t begin, size_t end, void *data)
{
    visited *it = data;
    CHECK(begin < end && (it->grain == 0 || end - begin <= it->grain));
    for (size_t i = begin; i < end; i++)
        it->visits[i]++;
    /* Each call cancels, so a worker makes one call. */
    if (it->token != NULL)
        CHECK_OK(locksley_cancellation_cancel(it->token));
    it->sum += end - begin;
}

static void loops(locksley_pool *pool)
{
    visited *it = calloc(1, sizeof *it);
    for (unsigned round = 1; round <= 4; round++) {
        it->grain = round % 2 ? 0 : 100;
        CHECK_OK(locksley_for(round < 3 ? pool : NULL, 1, COUNT, it->grain, visit, it));
        for (size_t i = 0; i < COUNT; i++)
            CHECK(it->visits[i] == (i > 0 ? round : 0));
    }
    CHECK_OK(locksley_for(pool, 7, 7, 0, visit, it));
    CHECK(it->sum == 4 * (COUNT - 1));
    CHECK_ERROR(locksley_for(pool, 8, 7, 0, visit, it), ERROR_ARGUMENT);
    CHECK_ERROR(locksley_for(pool, 0, 7, 0, NULL, it), ERROR_ARGUMENT);

    locksley_cancellation *token = locksley_cancellation_create();
    it->grain = 10;
    CHECK_ERROR(locksley_for_until(pool, NULL, 0, COUNT, 10, visit, it), ERROR_ARGUMENT);
    CHECK_OK(locksley_for_until(pool, token, 0, COUNT, 10, visit, it));
    it->token = token;
    it->sum = 0;
    CHECK_ERROR(locksley_for_until(pool, token, 0, COUNT, 10, visit, it), ERROR_CANCELLED);
    CHECK(it->sum > 0 && it->sum < COUNT);
    CHECK(locksley_cancellation_is_cancelled(token));
    size_t sum = it->sum;
    CHECK_ERROR(locksley_for_until(pool, token, 0, COUNT, 10, visit, it), ERROR_CANCELLED);
    CHECK(it->sum == sum);
    locksley_cancellation_destroy(token);
    CHECK_ERROR(locksley_cancellation_cancel(NULL), ERROR_ARGUMENT);
    CHECK(!locksley_cancellation_is_cancelled(NULL));
    locksley_cancellation_destroy(NULL);
    free(it);
}

typedef struct {
    atomic_size_t count;
    locksley_cancellation *token;
} tree;

static void leaf(const locksley_scope *scope, void *data)
{
    (void)scope;
    ((tree *)data)->count++;
}

/* Spawns 2^depth leaves, and frees what it gets. */
typedef struct {
    tree *tree;
    int depth;
    const locksley_scope *scope;
} node;

static void grow(const locksley_scope *scope, void *data)
{
    node own = *(node *)data;
    free(data);
    if (own.depth == 0) {
        CHECK_OK(locksley_scope_spawn(scope, leaf, own.tree));
        return;
    }
    for (int i = 0; i < 2; i++) {
        node *next = malloc(sizeof *next);
        *next = (node){own.tree, own.depth - 1, NULL};
        CHECK_OK(locksley_scope_spawn(scope, grow, next));
    }
}

static void cancel_and_spawn(const locksley_scope *scope, void *data)
{
    tree *it = data;
    CHECK_OK(locksley_cancellation_cancel(it->token));
    CHECK_OK(locksley_scope_spawn(scope, leaf, it));
}

/* Spawns by the scope of a task that has returned. */
static void spawn_late(const locksley_scope *scope, void *data)
{
    (void)scope;
    node *it = data;
    usleep(2000);
    CHECK_OK(locksley_scope_spawn(it->scope, leaf, it->tree));
}

static void lend_scope(const locksley_scope *scope, void *data)
{
    node *it = data;
    it->scope = scope;
    CHECK_OK(locksley_scope_spawn(scope, spawn_late, it));
}

static void spawn_lender(const locksley_scope *scope, void *data)
{
    CHECK_OK(locksley_scope_spawn(scope, lend_scope, data));
}

static void scopes(locksley_pool *pool)
{
    tree it = {0};
    for (int round = 0; round < 2; round++) {
        node *root = malloc(sizeof *root);
        *root = (node){&it, 10, NULL};
        CHECK_OK(locksley_scope_run(round ? pool : NULL, grow, root));
    }
    CHECK(it.count == 2048);
    CHECK_ERROR(locksley_scope_run(pool, NULL, &it), ERROR_ARGUMENT);
    CHECK_ERROR(locksley_scope_spawn(NULL, leaf, &it), ERROR_ARGUMENT);

    it.count = 0;
    node lender = {&it, 0, NULL};
    CHECK_OK(locksley_scope_run(pool, spawn_lender, &lender));
    CHECK(it.count == 1);

    it.count = 0;
    it.token = locksley_cancellation_create();
    CHECK_ERROR(locksley_scope_run_until(pool, NULL, leaf, &it), ERROR_ARGUMENT);
    CHECK_OK(locksley_scope_run_until(pool, it.token, leaf, &it));
    CHECK_ERROR(locksley_scope_run_until(pool, it.token, cancel_and_spawn, &it), ERROR_CANCELLED);
    CHECK_ERROR(locksley_scope_run_until(NULL, it.token, leaf, &it), ERROR_CANCELLED);
    CHECK(it.count == 1);
    locksley_cancellation_destroy(it.token);
}

typedef struct {
    locksley_pool *pool;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int is_open;
    int is_waiting;
} gate;

static void open_gate(void *data)
{
    gate *it = data;
    pthread_mutex_lock(&it->mutex);
    it->is_open = 1;
    pthread_cond_broadcast(&it->changed);
    pthread_mutex_unlock(&it->mutex);
}

static void wait_for_gate(void *data)
{
    gate *it = data;
    pthread_mutex_lock(&it->mutex);
    it->is_waiting = 1;
    pthread_cond_broadcast(&it->changed);
    while (!it->is_open)
        pthread_cond_wait(&it->changed, &it->mutex);
    pthread_mutex_unlock(&it->mutex);
}

/* Blocks the only worker, so that its replacement has to open the gate. */
static void block(void *data)
{
    CHECK_OK(locksley_spawn(NULL, open_gate, data, NULL));
    CHECK_OK(locksley_blocking(wait_for_gate, data));
}

static void spawn_and_destroy(void *data)
{
    gate *it = data;
    locksley_task *task;
    CHECK_OK(locksley_spawn(it->pool, open_gate, it, &task));
    CHECK_OK(locksley_task_detach(task));
    CHECK_OK(locksley_pool_destroy(it->pool));
}

typedef struct {
    gate *gate;
    int n;
    int result;
} spawned;

static void fib_by_tasks(void *data)
{
    spawned *it = data;
    it->result = it->n;
    if (it->n < 2)
        return;
    spawned a = {NULL, it->n - 1, 0}, b = {NULL, it->n - 2, 0};
    locksley_task *task;
    CHECK_OK(locksley_spawn(NULL, fib_by_tasks, &a, &task));
    fib_by_tasks(&b);
    CHECK_OK(locksley_task_join(task));
    it->result = a.result + b.result;
}

/* What it spawns with handles runs, although the pool is being destroyed. */
static void destroy_and_compute(void *data)
{
    spawned *it = data;
    wait_for_gate(it->gate);
    CHECK_OK(locksley_pool_destroy(it->gate->pool));
    fib_by_tasks(it);
}

static void tasks(locksley_pool *pool)
{
    atomic_size_t ones = 0;
    locksley_task *all[100];
    for (int i = 0; i < 100; i++)
        CHECK_OK(locksley_spawn(i % 2 ? pool : NULL, add_one, &ones, &all[i]));
    for (int i = 0; i < 100; i++)
        CHECK_OK(locksley_task_join(all[i]));
    CHECK(ones == 100);
    CHECK_ERROR(locksley_spawn(pool, NULL, NULL, NULL), ERROR_ARGUMENT);
    CHECK_ERROR(locksley_spawn(pool, NULL, NULL, &all[0]), ERROR_ARGUMENT);
    CHECK(all[0] == NULL);
    CHECK_ERROR(locksley_task_join(NULL), ERROR_ARGUMENT);
    CHECK_ERROR(locksley_task_detach(NULL), ERROR_ARGUMENT);
    CHECK_ERROR(locksley_blocking(NULL, NULL), ERROR_ARGUMENT);
    CHECK_OK(locksley_blocking(add_one, &ones));

    /* The end of a pool waits for its tasks, and a handle outlives it. */
    locksley_pool *short_lived;
    CHECK_OK(locksley_pool_create(1, &short_lived));
    for (int i = 0; i < 50; i++)
        CHECK_OK(locksley_spawn(short_lived, add_one, &ones, i ? NULL : &all[0]));
    CHECK_OK(locksley_pool_destroy(short_lived));
    CHECK(ones == 151);
    CHECK_OK(locksley_task_join(all[0]));

    gate gate = {NULL, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    CHECK_OK(locksley_pool_create(1, &short_lived));
    CHECK_OK(locksley_spawn(short_lived, block, &gate, &all[0]));
    CHECK_OK(locksley_task_join(all[0]));
    CHECK_OK(locksley_pool_destroy(short_lived));

    /* A worker destroys its own pool. */
    gate.is_open = 0;
    CHECK_OK(locksley_pool_create(1, &gate.pool));
    CHECK_OK(locksley_spawn(gate.pool, spawn_and_destroy, &gate, NULL));
    wait_for_gate(&gate);

    gate.is_open = 0;
    CHECK_OK(locksley_pool_create(2, &gate.pool));
    spawned root = {&gate, 10, 0};
    CHECK_OK(locksley_spawn(gate.pool, destroy_and_compute, &root, &all[0]));
    open_gate(&gate);
    CHECK_OK(locksley_task_join(all[0]));
    CHECK(root.result == 55);
}

static void in_child(locksley_pool *pool, locksley_task *task)
{
    /* The task belongs to the parent, which cannot end it here. */
    CHECK_ERROR(locksley_task_join(task), ERROR_PANIC);
    /* This pool was idle. */
    atomic_size_t ones = 0;
    CHECK_OK(locksley_join(pool, add_one, &ones, add_one, &ones));
    CHECK(ones == 2);
}

static void forks(locksley_pool *idle)
{
    gate gate = {NULL, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    locksley_pool *busy;
    locksley_task *task;
    CHECK_OK(locksley_pool_create(1, &busy));
    CHECK_OK(locksley_spawn(busy, wait_for_gate, &gate, &task));
    pthread_mutex_lock(&gate.mutex);
    while (!gate.is_waiting)
        pthread_cond_wait(&gate.changed, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        in_child(idle, task);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    open_gate(&gate);
    CHECK_OK(locksley_task_join(task));
    CHECK_OK(locksley_pool_destroy(busy));
}

int main(void)
{
    versions_and_texts();
    options();
    global_pool();
    locksley_pool *pool;
    CHECK_OK(locksley_pool_create(WORKERS, &pool));
    CHECK(locksley_pool_workers(pool) == WORKERS);
    joins(pool);
    loops(pool);
    scopes(pool);
    tasks(pool);
    forks(pool);
    CHECK_OK(locksley_pool_destroy(pool));
    puts("ok");
    return 0;
}
