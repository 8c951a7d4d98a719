// C++ with locksley.h. With an argument: something leaves a callback that must not.
#include <locksley.h>

#include <pthread.h>

#include <cstdio>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <vector>

// Runs a function object for each range of a loop.
template <typename Body>
locksley_error for_ranges(locksley_pool *pool, std::size_t count, Body body)
{
    auto call = [](std::size_t begin, std::size_t end, void *data) {
        (*static_cast<Body *>(data))(begin, end);
    };
    return locksley_for(pool, 0, count, 0, call, &body);
}

static void throw_one(void *)
{
    throw std::runtime_error("thrown by a callback");
}

static void catch_one(void *data)
{
    try {
        throw_one(nullptr);
    } catch (const std::runtime_error &) {
        *static_cast<bool *>(data) = true;
    }
}

static void end_thread(void *)
{
    pthread_exit(nullptr);
}

int main(int count, char **arguments)
{
    locksley_pool *pool;
    locksley_pool_options options = LOCKSLEY_POOL_OPTIONS_INIT;
    options.workers = 2;
    if (locksley_pool_create_with(&options, &pool) != LOCKSLEY_OK)
        return 1;
    if (count > 1) {
        try {
            auto callback = std::strcmp(arguments[1], "throw") == 0 ? throw_one : end_thread;
            bool is_caught = false;
            locksley_join(pool, catch_one, &is_caught, callback, nullptr);
        } catch (...) {
        }
        std::puts("went on");
        return 0;
    }
    bool is_caught[2] = {false, false};
    std::vector<long> numbers(100000);
    auto fill = [&](std::size_t begin, std::size_t end) {
        std::iota(&numbers[begin], &numbers[begin] + (end - begin), static_cast<long>(begin));
    };
    if (for_ranges(pool, numbers.size(), fill) != LOCKSLEY_OK
        || locksley_join(pool, catch_one, &is_caught[0], catch_one, &is_caught[1]) != LOCKSLEY_OK
        || std::accumulate(numbers.begin(), numbers.end(), 0L) != 4999950000L
        || !is_caught[0] || !is_caught[1])
        return 1;
    if (locksley_pool_destroy(pool) != LOCKSLEY_OK)
        return 1;
    std::puts("ok");
}
