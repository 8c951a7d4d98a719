// Rounds on oneTBB: parallel_reduce over the chunks, partitioned as it likes, in an arena of as many workers as asked for.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <functional>

#include "rounds.hpp"

class OneTbb {
public:
    // More workers than processors must be allowed for the whole process.
    explicit OneTbb(unsigned workers)
        : limit_(tbb::global_control::max_allowed_parallelism, workers), arena_(int(workers)) {}

    static std::string name() { return "onetbb"; }
    static std::string version() { return "oneTBB " TBB_VERSION_STRING ", compiled by g++ " __VERSION__; }

    rounds::Done repeat(const rounds::Round &round, double seconds) {
        return arena_.execute([&] {
            return rounds::repeat(seconds, [&] {
                using Range = tbb::blocked_range<std::uint64_t>;
                const std::uint64_t serial = rounds::in_a_row(round, round.serial);
                return serial + tbb::parallel_reduce(
                                    Range(0, round.chunks), std::uint64_t{0},
                                    [&](const Range &part, std::uint64_t sum) {
                                        return sum + rounds::in_a_row(round, part.size());
                                    },
                                    std::plus<std::uint64_t>());
            });
        });
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
};

int main(int count, char **words) { return rounds::Program<OneTbb>::main(count, words); }
