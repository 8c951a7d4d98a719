// OpenMP tasks, for every compiler that has them; peers/build says which runtime this is.
#include <omp.h>

#include "common.hpp"

#ifndef RUNTIME
#error "compile with -DRUNTIME=..."
#endif

class OpenMp {
public:
    explicit OpenMp(unsigned workers) : workers_(workers) { omp_set_dynamic(0); }

    static std::string name() { return RUNTIME; }
    static std::string version() {
#ifdef __clang__
        return "OpenMP, compiled by " __VERSION__;
#else
        return "OpenMP, compiled by g++ " __VERSION__;
#endif
    }

    // The others wait at the barrier behind `single`, and run tasks meanwhile.
    template <class F> void run(F body) {
#pragma omp parallel num_threads(workers_)
#pragma omp single
        body();
    }

    static std::uint64_t fib(std::uint64_t n) {
        if (n < 2) {
            return n;
        }
        std::uint64_t a, b;
#pragma omp task shared(b) firstprivate(n)
        b = fib(n - 2);
        a = fib(n - 1);
#pragma omp taskwait
        return a + b;
    }

    static std::uint64_t sum(const peer::Node &node) {
        if (!node.children) {
            return node.value;
        }
        const peer::Node *children = node.children;
        std::uint64_t left, right;
#pragma omp task shared(right) firstprivate(children)
        right = sum(children[1]);
        left = sum(children[0]);
#pragma omp taskwait
        return node.value + left + right;
    }

    template <class A, class B> static void fork(A first, B second) {
#pragma omp task shared(second)
        second();
        first();
#pragma omp taskwait
    }

private:
    unsigned workers_;
};

int main(int count, char **words) { return peer::Program<OpenMp>::main(count, words); }
