// oneTBB's flow graph: heat as a graph in which a block waits for its neighbours' last step, and chains of nodes that do nothing.
//
//     PROGRAM version                            {"runtime":..,"version":..}
//     PROGRAM heat ROWSxCOLUMNSxSTEPS P SEED     {"runtime":..,"seconds":..}
//     PROGRAM chain N P SEED                     the same
//
// They mirror lab/src/apps/heat/intervals.rs and lab/src/experiments/intervals/cost.rs, where the words are explained. An answer that
// is wrong ends the program.
#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include "common.hpp"

namespace {

using tbb::flow::continue_msg;
using Node = tbb::flow::continue_node<continue_msg>;
using Grid = std::vector<double>;

constexpr std::size_t LEAF_POINTS = 8192;
constexpr std::size_t OF_A_GRAPH = 1000;

struct Plate {
    std::size_t rows, columns, steps;
};

std::uint64_t number(const std::string &word, std::uint64_t most) {
    std::size_t used = 0;
    std::uint64_t number = 0;
    try {
        number = std::stoull(word, &used);
    } catch (const std::exception &) {
    }
    if (used == 0 || used != word.size() || number > most) {
        peer::fail("there is a number that cannot be");
    }
    return number;
}

Plate plate(const std::string &size) {
    const std::size_t first = size.find('x'), second = size.find('x', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
        peer::fail("a plate has ROWSxCOLUMNSxSTEPS");
    }
    const auto part = [&](std::size_t from, std::size_t to) {
        return std::size_t(number(size.substr(from, to - from), 1u << 30));
    };
    const Plate plate{part(0, first), part(first + 1, second), part(second + 1, size.size())};
    if (plate.rows < 3 || plate.columns < 3 || plate.steps < 1) {
        peer::fail("a plate has three rows, three columns and a step at least");
    }
    return plate;
}

// SplitMix64, as in lab/src/random.rs.
Grid input(const Plate &plate, std::uint64_t seed) {
    Grid grid(plate.rows * plate.columns);
    for (double &point : grid) {
        seed += 0x9e3779b97f4a7c15u;
        point = 2.0 * (double(peer::mix(seed) >> 11) / double(std::uint64_t{1} << 53)) - 1.0;
    }
    return grid;
}

// As rustc's slices do, it promises that nothing is read where `out` is written, without which there would be no vector code.
__attribute__((noinline)) void relax_row(const double *__restrict above, const double *__restrict row,
                                         const double *__restrict below, double *__restrict out,
                                         std::size_t columns) {
    out[0] = row[0];
    out[columns - 1] = row[columns - 1];
    for (std::size_t n = 1; n + 1 < columns; ++n) {
        out[n] = 0.25 * ((above[n] + below[n]) + (row[n - 1] + row[n + 1]));
    }
}

void relax(const Plate &plate, const Grid &now, Grid &next, std::size_t first, std::size_t last) {
    const std::size_t columns = plate.columns;
    for (std::size_t row = first; row < last; ++row) {
        const double *at = &now[row * columns];
        double *out = &next[row * columns];
        if (row == 0 || row + 1 == plate.rows) {
            std::copy(at, at + columns, out);
        } else {
            relax_row(at - columns, at, at + columns, out, columns);
        }
    }
}

void heat(const Plate &plate, Grid grids[2]) {
    const std::size_t rows = std::max<std::size_t>(LEAF_POINTS / plate.columns, 1);
    const std::size_t blocks = (plate.rows + rows - 1) / rows;
    tbb::flow::graph graph;
    std::deque<Node> nodes;
    for (std::size_t step = 0; step < plate.steps; ++step) {
        for (std::size_t block = 0; block < blocks; ++block) {
            const std::size_t first = block * rows, last = std::min(first + rows, plate.rows);
            nodes.emplace_back(graph, [=, &plate](const continue_msg &) {
                relax(plate, grids[step % 2], grids[(step + 1) % 2], first, last);
                return continue_msg{};
            });
            if (step == 0) {
                continue;
            }
            const std::size_t above = block == 0 ? 0 : block - 1, below = std::min(block + 2, blocks);
            for (std::size_t other = above; other < below; ++other) {
                tbb::flow::make_edge(nodes[(step - 1) * blocks + other], nodes.back());
            }
        }
    }
    for (std::size_t block = 0; block < blocks; ++block) {
        nodes[block].try_put(continue_msg{});
    }
    graph.wait_for_all();
}

std::size_t chain(std::size_t length) {
    // Edges let one run at a time.
    std::size_t ended = 0;
    tbb::flow::graph graph;
    std::deque<Node> nodes;
    for (std::size_t n = 0; n < length; ++n) {
        nodes.emplace_back(graph, [&ended](const continue_msg &) {
            ++ended;
            return continue_msg{};
        });
        for (std::size_t before = 1; before <= std::min<std::size_t>(n, 2); ++before) {
            tbb::flow::make_edge(nodes[n - before], nodes.back());
        }
    }
    nodes.front().try_put(continue_msg{});
    graph.wait_for_all();
    return ended;
}

template <class F> double time(F body) {
    const auto start = peer::Clock::now();
    body();
    return std::chrono::duration<double>(peer::Clock::now() - start).count();
}

double time_of_heat(const Plate &plate, std::uint64_t seed) {
    const Grid first = input(plate, seed);
    Grid expected = first, other = first;
    for (std::size_t step = 0; step < plate.steps; ++step) {
        relax(plate, expected, other, 0, plate.rows);
        std::swap(expected, other);
    }
    // The same once before: all workers have come then, and the memory of the graph is there.
    double seconds = 0.0;
    for (int turn = 0; turn < 2; ++turn) {
        Grid grids[2] = {first, first};
        seconds = time([&] { heat(plate, grids); });
        if (std::memcmp(grids[plate.steps % 2].data(), expected.data(), expected.size() * sizeof(double)) != 0) {
            peer::fail("heat's answer is wrong");
        }
    }
    return seconds;
}

double time_of_chain(std::size_t length) {
    chain(OF_A_GRAPH);
    std::size_t ended = 0;
    const double seconds = time([&] {
        for (std::size_t made = 0; made < length; made += OF_A_GRAPH) {
            ended += chain(std::min(OF_A_GRAPH, length - made));
        }
    });
    if (ended != length) {
        peer::fail("nodes were lost");
    }
    return seconds;
}

} // namespace

int main(int count, char **words) {
    const char *runtime = "onetbb-flow";
    if (count == 2 && std::string(words[1]) == "version") {
        std::printf("{\"runtime\":\"%s\",\"version\":\"oneTBB %s, compiled by g++ %s\"}\n", runtime, TBB_VERSION_STRING,
                    __VERSION__);
        return 0;
    }
    if (count != 5) {
        peer::fail("arguments: version, or heat ROWSxCOLUMNSxSTEPS P SEED, chain N P SEED");
    }
    const std::string kind = words[1], size = words[2];
    const std::uint64_t workers = number(words[3], 1024), seed = number(words[4], UINT64_MAX);
    if (workers == 0 || (kind != "heat" && kind != "chain")) {
        peer::fail("there are heat and chain, with a worker at least");
    }
    // More workers than processors must be allowed for the whole process.
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
    tbb::task_arena arena{int(workers)};
    double seconds = 0.0;
    arena.execute([&] {
        seconds = kind == "heat" ? time_of_heat(plate(size), seed)
                                 : time_of_chain(std::max<std::size_t>(number(size, 1u << 30), 1));
    });
    std::printf("{\"runtime\":\"%s\",\"seconds\":%.9f}\n", runtime, seconds);
    return 0;
}
