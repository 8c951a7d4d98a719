/* Locksley: fork-join parallelism on machines that are shared.
 *
 * A pool of worker threads runs tasks, which are functions with a pointer. A worker without tasks
 * steals tasks from the others.
 *
 * Pools: Where a function has an argument `pool`, NULL means the pool of the calling worker, or
 * else the global pool. That is built at its first use, and never destroyed.
 *
 * Threads: Every function may be called on any thread, also in a callback and for the same object
 * at the same time. An object is destroyed once, after all other calls that use it have returned.
 * No thread may be cancelled (pthread_cancel) inside of a call.
 *
 * Callbacks run on workers, several at the same time. If a pool was created without
 * `own_threads_only`, one may also run on the thread that calls the library. A callback has to
 * return: if a C++ exception, pthread_exit or a cancellation of its thread leaves it, the process
 * is ended with a message. It must not be left by longjmp.
 *
 * Waits: A worker that waits in this library runs only tasks that belong to what it waits for. So
 * a mutex may be held meanwhile, unless these tasks lock it. Another thread works under its index
 * until it goes on. (There are at most 256 of these, or as many as workers if that is more. Beyond
 * that, or if the system refuses a thread, a worker that waits runs any task.) Code that blocks in
 * other ways is called by `locksley_blocking`.
 *
 * Memory: The library neither reads nor frees what a `data` points to, and the callback may free
 * it. Text that a function returns is constant.
 *
 * Errors: A function that can fail returns a `locksley_error`. "Errors" lists what is returned
 * beside LOCKSLEY_OK and LOCKSLEY_ERROR_PANIC. On any error but LOCKSLEY_ERROR_CANCELLED and
 * LOCKSLEY_ERROR_PANIC, no callback has run. "Safety" is what the caller ensures; otherwise the
 * behaviour is undefined.
 *
 * Forks: A child process of a process with an idle pool may use that pool, which starts new threads
 * there. If a task forks, the child must not return from that task.
 *
 * This file is generated from the source code of the crate locksley-c. */


#ifndef LOCKSLEY_H
#define LOCKSLEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The version of this header as one number, for comparisons: 1002003 for version 1.2.3.
 */
#define LOCKSLEY_VERSION \
    (LOCKSLEY_VERSION_MAJOR * 1000000 + LOCKSLEY_VERSION_MINOR * 1000 + LOCKSLEY_VERSION_PATCH)

/**
 * What `locksley_worker_index` returns on a thread that is not a worker.
 */
#define LOCKSLEY_NO_INDEX SIZE_MAX

/**
 * The defaults: `locksley_pool_options options = LOCKSLEY_POOL_OPTIONS_INIT;`
 */
#define LOCKSLEY_POOL_OPTIONS_INIT { sizeof(locksley_pool_options), 0, 0, NULL, false }


/**
 * The major version of this header.
 */
#define LOCKSLEY_VERSION_MAJOR 0

/**
 * The minor version of this header. Versions 0.x are compatible if x is the same.
 */
#define LOCKSLEY_VERSION_MINOR 1

/**
 * The patch version of this header.
 */
#define LOCKSLEY_VERSION_PATCH 0

/**
 * What a function of this library returns.
 */
typedef enum {
    /**
     * The function has done what it says.
     */
    LOCKSLEY_OK = 0,
    /**
     * A pointer is NULL that must not be, or a number is out of range.
     */
    LOCKSLEY_ERROR_ARGUMENT = 1,
    /**
     * The environment variable `LOCKSLEY_WORKERS` is not a number from 1 to 65,534, or
     * `LOCKSLEY_ASSISTS` names an unknown feature.
     */
    LOCKSLEY_ERROR_ENVIRONMENT = 2,
    /**
     * The system has refused to start a thread.
     */
    LOCKSLEY_ERROR_THREAD = 3,
    /**
     * Some of the work did not begin, because it was cancelled.
     */
    LOCKSLEY_ERROR_CANCELLED = 4,
    /**
     * The library has panicked, and has printed the reason on standard error: an error in the
     * library, or a use that it does not support, such as waiting in a forked child for a task of
     * the parent.
     */
    LOCKSLEY_ERROR_PANIC = 5,
} locksley_error;

/**
 * A token that cancels loops and scopes: once it is cancelled, nothing more of them begins.
 */
typedef struct locksley_cancellation locksley_cancellation;

/**
 * A pool of worker threads.
 */
typedef struct locksley_pool locksley_pool;

/**
 * A scope: the tasks for which a call of `locksley_scope_run` waits. It belongs to that call, and
 * is valid until it returns.
 */
typedef struct locksley_scope locksley_scope;

/**
 * The handle of a task.
 */
typedef struct locksley_task locksley_task;

/**
 * Options of a pool. `LOCKSLEY_POOL_OPTIONS_INIT` has the defaults.
 */
typedef struct {
    /**
     * `sizeof(locksley_pool_options)`, by which later versions know which members there are.
     */
    size_t size;
    /**
     * The number of workers, up to 65,534. 0: what the environment variable `LOCKSLEY_WORKERS`
     * says, or else as many as affinity and quotas grant, also when these change.
     */
    size_t workers;
    /**
     * The stack size of each worker in bytes, at least 65,536. 0: 2 MiB. (The environment variable
     * `RUST_MIN_STACK` has another default.)
     */
    size_t stack_size;
    /**
     * The name of the threads, to which "-" and an index are added: UTF-8, copied. NULL:
     * "locksley".
     */
    const char *thread_name;
    /**
     * If true, callbacks run on workers only. If false, a short call of a thread outside of the
     * pool may run its callbacks on that thread, which is then a guest of the pool.
     */
    bool own_threads_only;
} locksley_pool_options;

/**
 * A task: a function that gets the pointer that was given with it.
 */
typedef void (*locksley_fn)(void *data);

/**
 * The body of a loop: it runs the iterations from `begin` up to `end`, without `end`.
 */
typedef void (*locksley_range_fn)(size_t begin, size_t end, void *data);

/**
 * A task of a scope, which may spawn more tasks in it.
 */
typedef void (*locksley_scope_fn)(const locksley_scope *scope, void *data);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library that the program has loaded, as `LOCKSLEY_VERSION` gives that
 * of the header.
 */
uint32_t locksley_version(void);

/**
 * Returns a text that describes an error. The text is constant. For other numbers it is "unknown
 * error".
 */
const char *locksley_strerror(int error);

/**
 * Creates a pool.
 *
 * `workers` is the number of workers, up to 65,534. If it is 0, the pool follows the system: see
 * `locksley_pool_options`. `*pool` is set to the pool, or to NULL on an error. The caller owns it:
 * `locksley_pool_destroy`.
 *
 * # Errors
 * - LOCKSLEY_ERROR_ARGUMENT: `pool` is NULL, or `workers` is too large.
 * - LOCKSLEY_ERROR_ENVIRONMENT: an environment variable has a wrong value.
 * - LOCKSLEY_ERROR_THREAD: a thread could not be started.
 *
 * # Safety
 * `pool` is NULL, or points to a pointer that may be written.
 */
locksley_error locksley_pool_create(size_t workers, locksley_pool **pool);

/**
 * Creates a pool as `options` say, or with the defaults if that is NULL. Else the same as
 * `locksley_pool_create`.
 *
 * # Errors
 * - Those of `locksley_pool_create`.
 * - LOCKSLEY_ERROR_ARGUMENT, also: `options->size` is not the size that this version knows, or
 *   `options->thread_name` is not UTF-8.
 *
 * # Safety
 * `pool` is NULL, or points to a pointer that may be written. `options` is NULL, or points to
 * options whose `thread_name` is NULL or a string that ends with a null character.
 */
locksley_error locksley_pool_create_with(const locksley_pool_options *options,
                                         locksley_pool **pool);

/**
 * Waits until everything that the pool has accepted has run, ends its threads and destroys it.
 * NULL is ignored.
 *
 * If the caller is a worker of this pool, it does not wait: the tasks run and the threads end
 * afterwards. Tasks that were spawned with a handle can be joined after this call, too. Tasks that
 * still run name this pool by NULL.
 *
 * # Errors
 * None of its own.
 *
 * # Safety
 * `pool` is NULL, or was created and is not destroyed. No other call uses it.
 */
locksley_error locksley_pool_destroy(locksley_pool *pool);

/**
 * Returns the number of workers of a pool, or 0 if `pool` is NULL and the global pool cannot be
 * built. Fewer may be active.
 *
 * # Safety
 * `pool` is NULL, or was created and is not destroyed.
 */
size_t locksley_pool_workers(const locksley_pool *pool);

/**
 * Returns the number of indices of a pool: the workers, and the most guests that the pool has at a
 * time. An array with one element for each index has this many. 0 if `pool` is NULL and the global
 * pool cannot be built.
 *
 * # Safety
 * `pool` is NULL, or was created and is not destroyed.
 */
size_t locksley_pool_indices(const locksley_pool *pool);

/**
 * Returns the index of the calling worker in its pool, or `LOCKSLEY_NO_INDEX` on a thread that is
 * not a worker.
 *
 * A task keeps its index, under which tasks that it waits for may run meanwhile. Two other tasks
 * of a pool that run at the same time have different indices. There is one exception: if a task
 * could go on after a wait, and the one that got the index meanwhile makes no progress for 100 ms,
 * both have it. Tasks that a function called by `locksley_blocking` forks have the index of its
 * caller, under which other tasks run meanwhile.
 */
size_t locksley_worker_index(void);

/**
 * Calls `f(f_data)` and `g(g_data)`, possibly at the same time, and returns when both have
 * returned.
 *
 * On a worker of the pool, `f` is called at once, on the calling thread. If no other worker steals
 * the call of `g` meanwhile, that comes next, for little more than the price of a call. Elsewhere,
 * the calling thread waits.
 *
 * # Errors
 * - LOCKSLEY_ERROR_ARGUMENT: `f` or `g` is NULL.
 * - If the global pool is needed and cannot be built: those of `locksley_pool_create`.
 *
 * # Safety
 * `pool` is NULL, or was created and is not destroyed. Any thread may call `f` with `f_data`, and
 * `g` with `g_data`, also at the same time.
 */
locksley_error locksley_join(const locksley_pool *pool,
                             locksley_fn f,
                             void *f_data,
                             locksley_fn g,
                             void *g_data);

/**
 * Runs the iterations from `begin` up to `end`, without `end`, in parallel: divides them into
 * disjoint ranges, and calls `body` once for each range, in any order and at the same time.
 * Returns when all calls have returned.
 *
 * The library divides by halves, and other workers steal halves. `grain` is the most iterations of
 * a call. If it is 0, the library measures the calls, and chooses the ranges so that a call takes
 * about 5 µs.
 *
 * # Errors
 * - LOCKSLEY_ERROR_ARGUMENT: `body` is NULL, or `begin` is larger than `end`.
 * - If the global pool is needed and cannot be built: those of `locksley_pool_create`.
 *
 * # Safety
 * `pool` is NULL, or was created and is not destroyed. Any thread may call `body` with `data`,
 * several at the same time.
 */
locksley_error locksley_for(const locksley_pool *pool,
                            size_t begin,
                            size_t end,
                            size_t grain,
                            locksley_range_fn body,
                            void *data);

/**
 * `locksley_for` with a token: no call of `body` begins once `token` is cancelled. Those that have
 * begun end first.
 *
 * # Errors
 * - LOCKSLEY_ERROR_CANCELLED: some iterations were left out.
 * - LOCKSLEY_ERROR_ARGUMENT, also: `token` is NULL.
 * - Those of `locksley_for`.
 *
 * # Safety
 * That of `locksley_for`. `token` is NULL, or was created and is not destroyed.
 */
locksley_error locksley_for_until(const locksley_pool *pool,
                                  const locksley_cancellation *token,
                                  size_t begin,
                                  size_t end,
                                  size_t grain,
                                  locksley_range_fn body,
                                  void *data);

/**
 * Calls `f(data)`, which may block: another thread works under the index of the calling worker
 * meanwhile. On a thread that is not a worker, it is only a call.
 *
 * Use it for system calls and the like that take more than about 0.1 ms.
 *
 * # Errors
 * - LOCKSLEY_ERROR_ARGUMENT: `f` is NULL.
 *
 * # Safety
 * `f` may be called with `data`.
 */
locksley_error locksley_blocking(locksley_fn f, void *data);

/**
 * Calls `body(scope, data)` on a worker or guest, and returns when it and all tasks that were
 * spawned in the scope have returned.
 *
 * Use it if running tasks discover more tasks. Tasks may use the caller's variables.
 *
 * # Errors
 * - LOCKSLEY_ERROR_ARGUMENT: `body` is NULL.
 * - If the global pool is needed and cannot be built: those of `locksley_pool_create`.
 *
 * # Safety
 * `pool` is NULL, or was created and is not destroyed. Any thread may call `body` with `data`.
 */
locksley_error locksley_scope_run(const locksley_pool *pool, locksley_scope_fn body, void *data);

/**
 * `locksley_scope_run` with a token: neither the body nor a task begins once `token` is cancelled.
 * Those that have begun end first. The `data` of a task that does not begin is not used any more
 * when this returns.
 *
 * # Errors
 * - LOCKSLEY_ERROR_CANCELLED: the body or a task did not begin.
 * - LOCKSLEY_ERROR_ARGUMENT, also: `token` is NULL.
 * - Those of `locksley_scope_run`.
 *
 * # Safety
 * That of `locksley_scope_run`. `token` is NULL, or was created and is not destroyed.
 */
locksley_error locksley_scope_run_until(const locksley_pool *pool,
                                        const locksley_cancellation *token,
                                        locksley_scope_fn body,
                                        void *data);

/**
 * Spawns a task in a scope: a worker calls `task(scope, data)`.
 *
 * It may be called in the body and the tasks of the scope, and by other threads, if the call
 * returns while one of these still runs. A worker begins with the newest of the tasks that it has
 * spawned.
 *
 * # Errors
 * - LOCKSLEY_ERROR_ARGUMENT: `scope` or `task` is NULL.
 *
 * # Safety
 * `scope` is NULL, or the argument of the body or a task, of which one has not returned. Any
 * thread may call `task` with `data`, until the call that waits for the scope returns.
 */
locksley_error locksley_scope_spawn(const locksley_scope *scope,
                                    locksley_scope_fn task,
                                    void *data);

/**
 * Spawns a task: a worker calls `f(data)`. Returns without waiting for that.
 *
 * If `task` is not NULL, `*task` is set to a handle of the task, or to NULL on an error. The
 * caller owns it, and gives it to `locksley_task_join` or `locksley_task_detach`.
 *
 * The task may run, and return, before `*task` is written. A pool that is destroyed runs its tasks
 * first, and what they spawn: during that they name it by NULL. The global pool is not destroyed:
 * a task that has not returned when the process ends is lost.
 *
 * # Errors
 * - LOCKSLEY_ERROR_ARGUMENT: `f` is NULL.
 * - If the global pool is needed and cannot be built: those of `locksley_pool_create`.
 *
 * # Safety
 * `pool` is NULL, or was created and is not destroyed. Any thread may call `f` with `data`, at any
 * time. `task` is NULL, or points to a pointer that may be written.
 */
locksley_error locksley_spawn(const locksley_pool *pool,
                              locksley_fn f,
                              void *data,
                              locksley_task **task);

/**
 * Waits until a task has returned, and destroys its handle. A task that waits for itself, or for a
 * task that waits for it, waits for ever.
 *
 * # Errors
 * - LOCKSLEY_ERROR_ARGUMENT: `task` is NULL.
 * - LOCKSLEY_ERROR_CANCELLED: the pool had been destroyed when the task was spawned, so the task
 *   has not run.
 *
 * # Safety
 * `task` is NULL, or a handle that is not destroyed. No other call uses it.
 */
locksley_error locksley_task_join(locksley_task *task);

/**
 * Destroys the handle of a task, which runs nevertheless.
 *
 * # Errors
 * - LOCKSLEY_ERROR_ARGUMENT: `task` is NULL.
 *
 * # Safety
 * `task` is NULL, or a handle that is not destroyed. No other call uses it.
 */
locksley_error locksley_task_detach(locksley_task *task);

/**
 * Makes a token. It is destroyed by `locksley_cancellation_destroy`. Never NULL.
 */
locksley_cancellation *locksley_cancellation_create(void);

/**
 * Cancels a token, which cannot be undone. A thread that finds the token cancelled sees what the
 * caller has written before. Must not be called in a signal handler.
 *
 * # Errors
 * - LOCKSLEY_ERROR_ARGUMENT: `token` is NULL.
 *
 * # Safety
 * `token` is NULL, or was created and is not destroyed.
 */
locksley_error locksley_cancellation_cancel(const locksley_cancellation *token);

/**
 * Returns whether a token was cancelled; false for NULL. A long callback calls it regularly.
 *
 * # Safety
 * `token` is NULL, or was created and is not destroyed.
 */
bool locksley_cancellation_is_cancelled(const locksley_cancellation *token);

/**
 * Destroys a token. NULL is ignored.
 *
 * # Safety
 * `token` is NULL, or was created and is not destroyed. No other call uses it.
 */
void locksley_cancellation_destroy(locksley_cancellation *token);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LOCKSLEY_H */
