// Simulated impressions: for each, a ranking is drawn, a simulated user clicks, and the ranker learns from the clicks.
#pragma once

#include <vector>

#include "clicks/chain.hpp"
#include "clicks/pdgd.hpp"

namespace rankloop {

// The input and output of a session; the probabilities of users are by row of the batch.
struct Play {
    Batch batch;
    ChainPage users;              // of all rows
    const std::int64_t* queries;  // of each impression
    std::size_t impressions;
    std::size_t k;  // length of the lists
    const double*
        draws;  // of each impression: one a candidate, one a place for the click and, if stops, one for going on
    bool stops;
    std::int64_t* shown;   // (impressions, k) rows of the query, -1 beyond its end
    std::uint8_t* clicks;  // (impressions, k)
};

// Grades from clicks: 1 for clicked documents, 0 for others above the last click and for the one after it. The rest
// keeps its grade -1.
inline void click_grades(const std::int64_t* shown, const std::uint8_t* clicks, std::size_t n, double* grades) {
    std::size_t seen = 0;
    for (std::size_t p = 0; p < n; ++p) {
        if (clicks[p]) seen = std::min(p + 2, n);
    }
    for (std::size_t p = 0; p < seen; ++p) grades[shown[p]] = clicks[p] ? 1 : 0;
}

template <typename Pause>
void play_pdgd(const Play& play, GeometricRate rate, Fading fade, Influence influence, LinearState& state,
               const Pause& pause) {
    const std::size_t d = state.d;
    std::vector<float> narrow(d), scores;
    std::vector<double> logged, grades, mean(d), attraction(play.k), after_skip(play.k), after_click(play.k);
    std::vector<std::int32_t> ranks;
    PlackettLuceSample sample;
    const double* draws = play.draws;
    for (std::size_t t = 0; t < play.impressions; ++t) {
        const std::int64_t q = play.queries[t];
        const auto first = static_cast<std::size_t>(play.batch.offsets[q]),
                   m = static_cast<std::size_t>(play.batch.offsets[q + 1]) - first;
        const std::size_t n = std::min(play.k, m);
        const float* const x = play.batch.x + first * d;
        std::int64_t* const shown = play.shown + t * play.k;
        std::uint8_t* const clicks = play.clicks + t * play.k;

        for (std::size_t j = 0; j < d; ++j)
            mean[j] = state.sum && state.queries > 0 ? state.sum[j] / static_cast<double>(state.queries) : state.w[j];
        to_float(mean.data(), d, narrow.data());
        scores.resize(m);
        score_rows(x, m, d, x + m * d, narrow.data(), scores.data());
        sample(scores.data(), m, draws, n, shown), draws += m;
        std::fill_n(shown + n, play.k - n, -1), std::fill_n(clicks + n, play.k - n, 0);

        ranks.assign(m, 0);
        for (std::size_t p = 0; p < n; ++p) {
            const std::size_t row = first + static_cast<std::size_t>(shown[p]);
            ranks[static_cast<std::size_t>(shown[p])] = static_cast<std::int32_t>(p + 1);
            attraction[p] = play.users.attraction[row], after_skip[p] = play.users.after_skip[row],
            after_click[p] = play.users.after_click[row];
        }
        chain_sample({attraction.data(), after_skip.data(), after_click.data(), n}, draws,
                     play.stops ? draws + n : nullptr, clicks);
        draws += play.stops ? 2 * n : n;

        grades.assign(m, -1), logged.assign(scores.begin(), scores.end());
        click_grades(shown, clicks, n, grades.data());
        const std::int64_t offsets[] = {0, static_cast<std::int64_t>(m)};
        PdgdStep step(rate, fade, {x, ranks.data(), logged.data()});
        learn_queries({x, grades.data(), offsets, 1}, state, influence, nullptr, step, 1, [] {});
        if (t % 4096 == 4095) pause();
    }
}

}  // namespace rankloop
