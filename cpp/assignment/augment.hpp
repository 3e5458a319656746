// Assignment by shortest augmenting paths: the plain way, for costs of any kind of grades.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "linalg/clones.hpp"

namespace rankloop {

// One row of shortest augmenting paths: shorten the paths to columns through it, and return the
// length of the shortest that is open. Columns that are not have an infinite entry in `closed`.
RANKLOOP_CLONES inline double shorten_paths(const double* f, const double* d, const double* price, const double* closed,
                                            double score, double gain, double base, std::size_t m,
                                            double* __restrict length, std::int64_t* __restrict via, std::int64_t row) {
    for (std::size_t p = 0; p < m; ++p) {
        const double reduced = base - score * f[p] + gain * d[p] - price[p] + closed[p], old = length[p];
        const std::int64_t before = via[p];
        length[p] = reduced < old ? reduced : old;
        via[p] = reduced < old ? row : before;
    }
    constexpr std::size_t lanes = 8;  // a minimum of several columns at a time
    double nearest[lanes];
    std::fill(nearest, nearest + lanes, std::numeric_limits<double>::infinity());
    const std::size_t whole = m - m % lanes;
    for (std::size_t p = 0; p < whole; p += lanes) {
        for (std::size_t k = 0; k < lanes; ++k) {
            const double open = length[p + k] + closed[p + k];
            nearest[k] = open < nearest[k] ? open : nearest[k];
        }
    }
    for (std::size_t p = whole; p < m; ++p) nearest[0] = std::min(nearest[0], length[p] + closed[p]);
    return *std::min_element(nearest, nearest + lanes);
}

// Shortest augmenting paths (Jonker and Volgenant, without its heuristics), costs as they are needed.
// worked(n) is called after about n steps, and may throw.
template <typename Worked>
void assign_by_paths(const double* s, const double* g, const double* f, const double* d, std::size_t m,
                     const std::vector<std::uint32_t>& order, std::int64_t* positions, const Worked& worked) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr std::int64_t none = -1;
    std::vector<double> price(m, 0.0), worth(m, 0.0), length(m), closed(m);
    std::vector<std::int64_t> owner(m, none), via(m, none);
    std::vector<std::size_t> path;
    for (const std::uint32_t newcomer : order) {
        std::fill(length.begin(), length.end(), infinity);
        std::fill(closed.begin(), closed.end(), 0.0);
        path.clear();
        std::int64_t row = newcomer;
        double nearest = 0;
        std::size_t column = 0;
        while (true) {
            const auto i = static_cast<std::size_t>(row);
            nearest = shorten_paths(f, d, price.data(), closed.data(), s[i], g[i], nearest - worth[i], m, length.data(),
                                    via.data(), row);
            worked(m);
            column = 0;
            while (length[column] != nearest || closed[column] != 0) ++column;
            if (owner[column] == none) break;
            closed[column] = infinity, path.push_back(column);
            row = owner[column];
        }
        worth[newcomer] += nearest;
        for (const std::size_t p : path) {
            worth[static_cast<std::size_t>(owner[p])] += nearest - length[p];
            price[p] -= nearest - length[p];
        }
        for (std::int64_t i = none; i != static_cast<std::int64_t>(newcomer);) {
            i = via[column];
            owner[column] = i;
            const std::int64_t freed = positions[i];
            positions[i] = static_cast<std::int64_t>(column);
            column = static_cast<std::size_t>(freed);
        }
    }
}

}  // namespace rankloop
