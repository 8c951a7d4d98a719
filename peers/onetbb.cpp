// oneTBB: parallel_invoke where both calls are alike; a task_group where it matters who runs which.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

#include "common.hpp"

class OneTbb {
public:
    // More workers than processors must be allowed for the whole process.
    explicit OneTbb(unsigned workers)
        : limit_(tbb::global_control::max_allowed_parallelism, workers), arena_(int(workers)) {}

    static std::string name() { return "onetbb"; }
    static std::string version() {
        return "oneTBB " TBB_VERSION_STRING ", compiled by g++ " __VERSION__;
    }

    template <class F> void run(F body) { arena_.execute(body); }

    static std::uint64_t fib(std::uint64_t n) {
        if (n < 2) {
            return n;
        }
        std::uint64_t a, b;
        tbb::parallel_invoke([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
        return a + b;
    }

    static std::uint64_t sum(const peer::Node &node) {
        if (!node.children) {
            return node.value;
        }
        std::uint64_t left, right;
        tbb::parallel_invoke([&] { left = sum(node.children[0]); }, [&] { right = sum(node.children[1]); });
        return node.value + left + right;
    }

    template <class A, class B> static void fork(A first, B second) {
        tbb::task_group group;
        group.run(second);
        first();
        group.wait();
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
};

int main(int count, char **words) { return peer::Program<OneTbb>::main(count, words); }
