// What the programs that repeat rounds have in common: arguments, the leaf, the clock, the start gate, the line.
//
//     PROGRAM version
//     PROGRAM --secs S --workers P --leaf N --chunks C --serial K [--gate]
//
// For S seconds, K leaves in a row and then C leaves in parallel; a leaf is N steps of xorshift64. They mirror the versions
// in lab/src/rounds. With --gate, a program prints `ready` when its workers are there, begins when a line comes in on stdin,
// and its own line also says when it ran and what it used: see lab/src/corunner.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace rounds {

constexpr double WARM_UP = 0.02;

[[noreturn]] inline void fail(const std::string &why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(2);
}

struct Round {
    std::uint64_t leaf = 5000, chunks = 64, serial = 0;
};

// One leaf. The compiler does not see that all leaves are equal, so it computes each.
__attribute__((noinline)) inline std::uint64_t leaf(std::uint64_t steps) {
    asm volatile("" : "+r"(steps));
    std::uint64_t x = steps | 1;
    for (std::uint64_t step = 0; step < steps; ++step) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

inline std::uint64_t in_a_row(const Round &round, std::uint64_t number) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < number; ++i) {
        sum += leaf(round.leaf);
    }
    return sum;
}

// Nanoseconds by the clock that all processes share.
inline std::uint64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::uint64_t(time.tv_sec) * 1000000000u + std::uint64_t(time.tv_nsec);
}

struct Done {
    std::uint64_t rounds = 0, sum = 0;
    double seconds = 0;
};

// Does `round`, which returns the sum of its leaves, until the time is over; at least once.
template <class F> Done repeat(double seconds, F round) {
    Done done;
    const std::uint64_t start = now();
    do {
        done.sum += round();
        ++done.rounds;
        done.seconds = double(now() - start) / 1e9;
    } while (done.seconds < seconds);
    return done;
}

struct Used {
    double processor_seconds;
    long voluntary, involuntary;

    static Used now() {
        rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        const auto seconds = [](const timeval &time) { return double(time.tv_sec) + double(time.tv_usec) / 1e6; };
        return {seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_nvcsw, usage.ru_nivcsw};
    }
};

// A runtime is a class with
//
//     explicit Runtime(unsigned workers);
//     static std::string name(), version();
//     Done repeat(const Round &round, double seconds);
//
// and this is its main function.
template <class Runtime> class Program {
public:
    static int main(int count, char **words) {
        if (count == 2 && std::string(words[1]) == "version") {
            std::printf("{\"runtime\":\"%s\",\"version\":\"%s\"}\n", Runtime::name().c_str(),
                        Runtime::version().c_str());
            return 0;
        }
        Round round;
        double seconds = 1;
        std::uint64_t workers = 2;
        bool gate = false;
        for (int at = 1; at < count; ++at) {
            const std::string word = words[at];
            if (word == "--gate") {
                gate = true;
                continue;
            }
            std::string name = word, value;
            if (const auto equals = word.find('='); equals != std::string::npos) {
                name = word.substr(0, equals);
                value = word.substr(equals + 1);
            } else if (at + 1 < count) {
                value = words[++at];
            }
            if (name == "--secs") {
                seconds = duration(value);
            } else if (name == "--workers") {
                workers = number(value, 1, 1024);
            } else if (name == "--leaf") {
                round.leaf = number(value, 0, UINT64_MAX);
            } else if (name == "--chunks") {
                round.chunks = number(value, 0, INT64_MAX);
            } else if (name == "--serial") {
                round.serial = number(value, 0, INT64_MAX);
            } else {
                fail("arguments: version, or --secs S --workers P --leaf N --chunks C --serial K [--gate]");
            }
        }
        if (round.chunks + round.serial == 0) {
            fail("a round needs leaves");
        }
        run(round, seconds, unsigned(workers), gate);
        return 0;
    }

private:
    static void run(const Round &round, double seconds, unsigned workers, bool gate) {
        Runtime runtime(workers);
        if (!gate) {
            const Done done = checked(round, runtime.repeat(round, seconds));
            std::printf("{\"runtime\":\"%s\",\"P\":%u,\"rounds_per_s\":%.2f}\n", Runtime::name().c_str(), workers,
                        double(done.rounds) / done.seconds);
            return;
        }
        checked(round, runtime.repeat(round, WARM_UP));
        std::puts("ready");
        std::fflush(stdout);
        for (int read = 0; read != '\n';) {
            if ((read = std::getchar()) == EOF) {
                fail("the start gate stays closed: stdin has ended");
            }
        }
        const Used before = Used::now();
        const std::uint64_t begun = now();
        const Done done = checked(round, runtime.repeat(round, seconds));
        const std::uint64_t ended = now();
        const Used after = Used::now();
        std::printf("{\"runtime\":\"%s\",\"P\":%u,\"rounds_per_s\":%.2f,\"rounds\":%" PRIu64 ",\"begun\":%" PRIu64
                    ",\"ended\":%" PRIu64 ",\"processor_seconds\":%.6f,\"voluntary\":%ld,\"involuntary\":%ld}\n",
                    Runtime::name().c_str(), workers, double(done.rounds) / done.seconds, done.rounds, begun, ended,
                    after.processor_seconds - before.processor_seconds, after.voluntary - before.voluntary,
                    after.involuntary - before.involuntary);
    }

    static Done checked(const Round &round, Done done) {
        if (done.sum != leaf(round.leaf) * done.rounds * (round.chunks + round.serial)) {
            fail("the leaves' sum is wrong");
        }
        return done;
    }

    static std::uint64_t number(const std::string &text, std::uint64_t least, std::uint64_t most) {
        char *end = nullptr;
        const std::uint64_t found = std::strtoull(text.c_str(), &end, 10);
        if (text.empty() || text[0] < '0' || text[0] > '9' || *end != '\0' || found < least || found > most) {
            fail("a number is wrong");
        }
        return found;
    }

    static double duration(const std::string &text) {
        char *end = nullptr;
        const double found = std::strtod(text.c_str(), &end);
        if (text.empty() || *end != '\0' || !std::isfinite(found) || found <= 0) {
            fail("--secs is wrong");
        }
        return found;
    }
};

} // namespace rounds
