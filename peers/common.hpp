// What the programs of all runtimes have in common: arguments, the tree, the log of a stuck owner, the line that is printed.
//
//     PROGRAM version                {"runtime":..,"version":..}
//     PROGRAM fib N P SEED           {"runtime":..,"seconds":..,"answer":..}
//     PROGRAM tree LEVELS P SEED     the same
//     PROGRAM stuck SHAPE P SEED     {"runtime":..,"first_ms":..,"all_ms":..}
//
// They mirror the versions in lab/src/experiments/forkjoin/local.rs, where the words are explained.
#pragma once

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace peer {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t WARM_UP = 20;
constexpr auto HOLD = std::chrono::milliseconds(100);
constexpr unsigned SPINE_TASKS = 8;
constexpr auto SPINE_TASK = std::chrono::milliseconds(1);
constexpr unsigned TREE_HEIGHT = 10;
constexpr auto TREE_TASK = std::chrono::microseconds(10);
constexpr std::uint64_t QUICK_FORKS = 20;

[[noreturn]] inline void fail(const char *why) {
    std::fprintf(stderr, "%s\n", why);
    std::exit(2);
}

// A node with two children, or none.
struct Node {
    std::uint64_t value;
    Node *children;
};

inline std::uint64_t mix(std::uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

// A perfect tree; a node's value follows from its place in preorder. It is never given back: the process ends soon.
inline Node build(unsigned levels, std::uint64_t seed, std::uint64_t index = 0) {
    Node node{mix(seed + index), nullptr};
    if (levels > 1) {
        node.children = new Node[2];
        node.children[0] = build(levels - 1, seed, index + 1);
        node.children[1] = build(levels - 1, seed, index + (std::uint64_t{1} << (levels - 1)));
    }
    return node;
}

// When a stuck owner's tasks began and ended.
class Log {
public:
    void stuck() { stuck_ = now(); }

    void hold() {
        stuck();
        std::this_thread::sleep_for(HOLD);
    }

    void task(std::chrono::nanoseconds time) {
        const std::int64_t begun = now();
        lower(first_, begun);
        while (now() - begun < time.count()) {
        }
        raise(last_, now());
        ++done_;
    }

    std::uint64_t done() const { return done_; }
    double first_ms() const { return since_stuck(first_); }
    double all_ms() const { return since_stuck(last_); }

private:
    std::int64_t now() const {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - beginning_).count();
    }

    double since_stuck(std::int64_t at) const { return at < stuck_ ? 0.0 : double(at - stuck_) / 1e6; }

    static void lower(std::atomic<std::int64_t> &least, std::int64_t value) {
        for (auto found = least.load(); value < found && !least.compare_exchange_weak(found, value);) {
        }
    }

    static void raise(std::atomic<std::int64_t> &most, std::int64_t value) {
        for (auto found = most.load(); value > found && !most.compare_exchange_weak(found, value);) {
        }
    }

    Clock::time_point beginning_ = Clock::now();
    std::atomic<std::int64_t> stuck_{0}, first_{INT64_MAX}, last_{0};
    std::atomic<std::uint64_t> done_{0};
};

// A runtime is a class with
//
//     explicit Runtime(unsigned workers);
//     static std::string name(), version();
//     template <class F> void run(F body);               // on a worker
//     static std::uint64_t fib(std::uint64_t n);
//     static std::uint64_t sum(const Node &node);
//     template <class A, class B> static void fork(A first, B second);   // the caller runs `first` at once
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
        if (count != 5) {
            fail("arguments: version, or fib N P SEED, tree LEVELS P SEED, stuck SHAPE P SEED");
        }
        const std::string kind = words[1], size = words[2];
        const std::uint64_t workers = number(words[3], 1, 1024), seed = number(words[4], 0, UINT64_MAX);
        if (kind == "fib") {
            const std::uint64_t n = number(words[2], 2, 60);
            time(workers, [=] { return Runtime::fib(n); });
        } else if (kind == "tree") {
            const Node root = build(unsigned(number(words[2], 2, 30)), seed);
            time(workers, [&] { return Runtime::sum(root); });
        } else if (kind == "stuck") {
            stuck(workers, size);
        } else {
            fail("there are fib, tree, stuck");
        }
        return 0;
    }

private:
    static std::uint64_t number(const char *text, std::uint64_t least, std::uint64_t most) {
        char *end = nullptr;
        const std::uint64_t found = std::strtoull(text, &end, 10);
        if (end == text || *end != '\0' || found < least || found > most) {
            fail("a number is wrong");
        }
        return found;
    }

    template <class F> static void time(std::uint64_t workers, F compute) {
        Runtime runtime{unsigned(workers)};
        double seconds = 0;
        std::uint64_t answer = 0;
        runtime.run([&] {
            volatile std::uint64_t warm_up = WARM_UP;
            warm_up = Runtime::fib(warm_up);
            const auto start = Clock::now();
            answer = compute();
            seconds = std::chrono::duration<double>(Clock::now() - start).count();
        });
        std::printf("{\"runtime\":\"%s\",\"seconds\":%.9f,\"answer\":%" PRIu64 "}\n", Runtime::name().c_str(),
                    seconds, answer);
    }

    static void stuck(std::uint64_t workers, const std::string &shape) {
        std::uint64_t tasks = 0;
        Log log;
        Runtime runtime{unsigned(workers)};
        runtime.run([&] {
            if (shape == "spine-after-forks" || shape == "tree-after-forks") {
                quick_forks(QUICK_FORKS);
            }
            if (shape == "wait") {
                tasks = 1;
                wait(log);
            } else if (shape == "spine" || shape == "spine-after-forks") {
                tasks = SPINE_TASKS;
                spine(SPINE_TASKS, log);
            } else if (shape == "tree-after-forks") {
                tasks = (1u << TREE_HEIGHT) - 1;
                tree(TREE_HEIGHT, true, log);
            }
        });
        if (tasks == 0) {
            fail("there are wait, spine, spine-after-forks, tree-after-forks");
        }
        if (log.done() != tasks) {
            fail("tasks were lost");
        }
        std::printf("{\"runtime\":\"%s\",\"first_ms\":%.6f,\"all_ms\":%.6f}\n", Runtime::name().c_str(),
                    log.first_ms(), log.all_ms());
    }

    static void wait(Log &log) {
        std::atomic<bool> flag{false};
        Runtime::fork(
            [&] {
                log.stuck();
                while (!flag.load(std::memory_order_acquire)) {
                    std::this_thread::yield();
                }
            },
            [&] {
                log.task(std::chrono::nanoseconds(0));
                flag.store(true, std::memory_order_release);
            });
    }

    static void spine(unsigned tasks, Log &log) {
        if (tasks == 0) {
            return log.hold();
        }
        Runtime::fork([&, tasks] { spine(tasks - 1, log); }, [&] { log.task(SPINE_TASK); });
    }

    static void tree(unsigned height, bool owner, Log &log) {
        if (height == 0) {
            return owner ? log.hold() : log.task(TREE_TASK);
        }
        Runtime::fork([&, height, owner] { tree(height - 1, owner, log); },
                      [&, height] { tree(height - 1, false, log); });
    }

    static void quick_forks(std::uint64_t n) {
        if (n >= 2) {
            Runtime::fork([n] { quick_forks(n - 1); }, [n] { quick_forks(n - 2); });
        }
    }
};

} // namespace peer
