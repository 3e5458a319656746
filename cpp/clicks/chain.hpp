// Users who read from the top: examined documents are clicked by their attraction, and what happened there decides
// whether the next one is examined too. Cascade, DCM, SDBN, DBN, CCM and the simulated users are of this kind.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rankloop {

// Of one page: how attractive each document is, and how likely a user goes on after skipping or clicking it.
struct ChainPage {
    const double *attraction, *after_skip, *after_click;
    std::size_t n;
};

// out[r] = P(click at r)
inline void chain_marginals(const ChainPage& page, double* out) {
    double examined = 1;
    for (std::size_t r = 0; r < page.n; ++r) {
        const double a = page.attraction[r];
        out[r] = a * examined;
        examined *= a * page.after_click[r] + (1 - a) * page.after_skip[r];
    }
}

// out[r] = P(click at r | clicks above r)
inline void chain_conditionals(const ChainPage& page, const std::uint8_t* clicks, double* out) {
    double examined = 1;
    for (std::size_t r = 0; r < page.n; ++r) {
        const double a = page.attraction[r];
        out[r] = a * examined;
        if (clicks[r]) {
            examined = page.after_click[r];
        } else {
            const double skipped = 1 - a * examined;
            examined = skipped > 0 ? examined * (1 - a) * page.after_skip[r] / skipped : 0.0;
        }
    }
}

// One user, by two uniform draws a row; without draws for going on, every after_ must be 0 or 1.
inline void chain_sample(const ChainPage& page, const double* click_draws, const double* stop_draws,
                         std::uint8_t* clicks) {
    std::size_t r = 0;
    for (bool reads = true; r < page.n && reads; ++r) {
        clicks[r] = click_draws[r] < page.attraction[r];
        const double go_on = clicks[r] ? page.after_click[r] : page.after_skip[r];
        reads = stop_draws ? stop_draws[r] < go_on : go_on > 0;
    }
    for (; r < page.n; ++r) clicks[r] = 0;
}

}  // namespace rankloop
