// PBM and UBM: whether users look at a document depends on its position, and in UBM also on their last click.
#pragma once

#include <vector>

#include "clicks/pages.hpp"

namespace rankloop {

// Which examination parameter holds at a position. Positions beyond the last rank share its parameters.
struct Contexts {
    std::size_t ranks;
    bool by_last_click;  // UBM; PBM looks at the position alone

    std::size_t size() const { return by_last_click ? ranks * ranks : ranks; }
    std::size_t rank(std::int32_t position) const { return std::min(static_cast<std::size_t>(position), ranks); }
    // `last`: the rank of the last click above, 0 without one; a click at the shared last rank counts as just above it
    std::size_t at(std::size_t rank, std::size_t last) const {
        return by_last_click ? (rank - 1) * ranks + std::min(last, rank - 1) : rank - 1;
    }
};

// Calls body(pair, context, clicked, count) for the rows of one query.
template <typename Body>
void for_rows(const GroupedPages& pages, std::size_t q, const Contexts& contexts, const Body& body) {
    for (std::int64_t page = pages.query_pages[q]; page < pages.query_pages[q + 1]; ++page) {
        std::size_t last = 0;
        for (std::int64_t r = pages.offsets[page]; r < pages.offsets[page + 1]; ++r) {
            const std::size_t rank = contexts.rank(pages.positions[r]);
            body(static_cast<std::size_t>(pages.pairs[r]), contexts.at(rank, last), pages.clicks[r] != 0,
                 pages.counts[page]);
            if (pages.clicks[r]) last = rank;
        }
    }
}

// Alternating EM. First, attraction = clicks / expected examinations, with examination latent. Then, with the new
// attraction, examination = clicks / expected attractions, with attraction latent. Each half raises the likelihood, and
// together they need a third of the steps of EM with both latent at once.
//
// A click needs an attractive document and an examined position. Without a click, P(examined) = e (1 - a) / (1 - e a)
// and P(attractive) = a (1 - e) / (1 - e a). The prior keeps e and a below 1, so that no denominator is 0.
// pause() is called after each step.
template <typename Pause>
void fit_browsing(const GroupedPages& pages, double* attraction, double* examination, Contexts contexts, Prior prior,
                  std::size_t iterations, unsigned threads, const Pause& pause) {
    const std::size_t size = contexts.size();
    std::vector<double> sums(2 * size);
    for (std::size_t step = 0; step < iterations; ++step) {
        sum_over_queries(pages, sums.size(), sums.data(), threads, [&] {
            return [&, clicked = std::vector<double>(), examined = std::vector<double>()](std::size_t q,
                                                                                          double* own) mutable {
                const auto first = static_cast<std::size_t>(pages.query_pairs[q]),
                           end = static_cast<std::size_t>(pages.query_pairs[q + 1]);
                clicked.assign(end - first, 0.0), examined.assign(end - first, 0.0);
                for_rows(pages, q, contexts, [&](std::size_t pair, std::size_t at, bool click, double count) {
                    const double a = attraction[pair], e = examination[at];
                    clicked[pair - first] += click ? count : 0.0;
                    examined[pair - first] += click ? count : count * (e * (1 - a) / (1 - e * a));
                });
                for (std::size_t pair = first; pair < end; ++pair)
                    attraction[pair] = prior.mean(clicked[pair - first], examined[pair - first]);
                for_rows(pages, q, contexts, [&](std::size_t pair, std::size_t at, bool click, double count) {
                    const double a = attraction[pair], e = examination[at];
                    own[2 * at] += click ? count : 0.0;
                    own[2 * at + 1] += click ? count : count * (a * (1 - e) / (1 - e * a));
                });
            };
        });
        for (std::size_t k = 0; k < size; ++k) examination[k] = prior.mean(sums[2 * k], sums[2 * k + 1]);
        pause();
    }
}

// One page of UBM. `weights[j]` is scratch: the chance that the last click above was at row j - 1, none for j = 0.
struct BrowsingPage {
    const double* attraction;
    const std::int32_t* positions;
    std::size_t n;
    const double* examination;
    Contexts contexts;

    double chance(std::size_t r, std::size_t last) const {
        return attraction[r] * examination[contexts.at(contexts.rank(positions[r]), last)];
    }
};

// out[r] = P(click at r), O(n^2)
inline void browsing_marginals(const BrowsingPage& page, std::vector<double>& weights, double* out) {
    weights.assign(1, 1.0);
    for (std::size_t r = 0; r < page.n; ++r) {
        double click = 0;
        for (std::size_t j = 0; j <= r; ++j) {
            const double chance = page.chance(r, j == 0 ? 0 : page.contexts.rank(page.positions[j - 1]));
            click += weights[j] * chance;
            weights[j] *= 1 - chance;
        }
        weights.push_back(click);
        out[r] = click;
    }
}

// out[r] = P(click at r | clicks above r)
inline void browsing_conditionals(const BrowsingPage& page, const std::uint8_t* clicks, double* out) {
    std::size_t last = 0;
    for (std::size_t r = 0; r < page.n; ++r) {
        out[r] = page.chance(r, last);
        if (clicks[r]) last = page.contexts.rank(page.positions[r]);
    }
}

inline void browsing_sample(const BrowsingPage& page, const double* draws, std::uint8_t* clicks) {
    std::size_t last = 0;
    for (std::size_t r = 0; r < page.n; ++r) {
        clicks[r] = draws[r] < page.chance(r, last);
        if (clicks[r]) last = page.contexts.rank(page.positions[r]);
    }
}

}  // namespace rankloop
