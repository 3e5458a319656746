// How far people read, learnt page by page: users read from the top, click by the position, and go on with one
// probability after a click and another one after a skip. This is one step of online EM for each page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankloop {

// Expected counts so far; each probability is a ratio of two.
struct ReadingCounts {
    double *clicked, *examined;  // by position, the last one for all beyond
    std::size_t ranks;
    double *after_skip, *after_click;  // went on, stopped

    double attraction(std::size_t p) const {
        return clicked[p < ranks ? p : ranks - 1] / examined[p < ranks ? p : ranks - 1];
    }
    static double goes_on(const double* counts) { return counts[0] / (counts[0] + counts[1]); }
};

// out[p] = P(position p was examined | the clicks on its page). Everything down to the last click was examined. For
// positions below it, quiet[p] = P(no click from p on | p examined).
class Reading {
public:
    void posterior(const ReadingCounts& known, const std::uint8_t* clicks, std::size_t n, double* out) {
        std::size_t below = 0;
        for (std::size_t p = 0; p < n; ++p) {
            out[p] = 1;
            if (clicks[p]) below = p + 1;
        }
        if (below == n) return;
        const double after_skip = ReadingCounts::goes_on(known.after_skip);
        quiet_.resize(n + 1);
        quiet_[n] = 1;
        for (std::size_t p = n; p-- > below;) {
            const double rest = p + 1 == n ? 1.0 : (1 - after_skip) + after_skip * quiet_[p + 1];
            quiet_[p] = (1 - known.attraction(p)) * rest;
        }
        double reached = 1;
        for (std::size_t p = below; p < n; ++p) {
            const double go_on = p > below ? after_skip : below > 0 ? ReadingCounts::goes_on(known.after_click) : 1.0;
            const double silent = (1 - go_on) + go_on * quiet_[p];
            reached *= silent > 0 ? go_on * quiet_[p] / silent : 0.0;
            out[p] = reached;
        }
    }

    // Adds the expected counts of a page.
    static void count(ReadingCounts& known, const std::uint8_t* clicks, std::size_t n, const double* examined) {
        for (std::size_t p = 0; p < n; ++p) {
            const std::size_t rank = p < known.ranks ? p : known.ranks - 1;
            known.clicked[rank] += clicks[p], known.examined[rank] += examined[p];
            if (p + 1 == n) break;
            double* const after = clicks[p] ? known.after_click : known.after_skip;
            after[0] += examined[p + 1], after[1] += examined[p] - examined[p + 1];
        }
    }

private:
    std::vector<double> quiet_;
};

}  // namespace rankloop
