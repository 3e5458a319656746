// A bound on what one query can do, so that an outlier does not undo what all others taught.
#pragma once

#include <cmath>
#include <cstddef>

#include "linalg/rows.hpp"

namespace rankloop {

// Sizes of updates are compared with their mean so far: none counts for more than `most` times that. The
// first one has nothing to be compared with. Without sums, or with most = 0, nothing is bounded.
struct Influence {
    double* sums = nullptr;  // of the sizes, and how many there were
    double most = 0;

    // How much of an update of this size may be made, from 0 to 1.
    double share(double size) {
        if (!sums || most == 0 || !(size > 0)) return 1;
        const double limit = most * sums[0];
        double share = 1;
        if (sums[1] > 0 && size * sums[1] > limit) share = limit / sums[1] / size;
        sums[0] += share * size, sums[1] += 1;
        return share;
    }

    // Takes back what is too much of a move from `before` to `now` over this distance.
    void bound(double distance, const double* before, double* now, std::size_t d) {
        const double allowed = share(distance);
        for (std::size_t j = 0; allowed < 1 && j < d; ++j) now[j] = before[j] + allowed * (now[j] - before[j]);
    }
};

}  // namespace rankloop
