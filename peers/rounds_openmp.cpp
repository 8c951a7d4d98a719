// Rounds on OpenMP: a parallel loop for each round, its chunks given out one at a time. Tasks would be less like what
// programs for OpenMP do with a loop. For every compiler that has it; peers/build says which runtime this is.
#include <omp.h>

#include "rounds.hpp"

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

    rounds::Done repeat(const rounds::Round &round, double seconds) {
        return rounds::repeat(seconds, [&] {
            std::uint64_t sum = rounds::in_a_row(round, round.serial);
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers_) reduction(+ : sum)
            for (std::int64_t chunk = 0; chunk < std::int64_t(round.chunks); ++chunk) {
                sum += rounds::leaf(round.leaf);
            }
            return sum;
        });
    }

private:
    unsigned workers_;
};

int main(int count, char **words) { return rounds::Program<OpenMp>::main(count, words); }
