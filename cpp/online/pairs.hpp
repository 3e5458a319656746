// Rankers that go through the pairs of a query one by one: SOLAR-I, the pairwise perceptron and
// the committee perceptron. A pair is a document and one of a lower grade; better grades come
// first, then row order, on both sides.
#pragma once

#include <optional>

#include "online/levels.hpp"
#include "online/loop.hpp"
#include "online/pair_tiles.hpp"
#include "online/pairs_gram.hpp"

namespace rankloop {

// The judged documents of one query, in levels order, moved so that the first is at 0: differences
// stay and products stay small.
struct OrderedQuery {
    Levels levels;
    std::vector<float> x, scores, weights;  // a pair counts as the product of its documents' weights and the query's
    std::size_t n = 0;

    bool gather(const QueryRows& rows, const float* s) {
        levels.gather(rows.y, rows.m);
        n = levels.judged();
        if (levels.count() < 2) return false;
        gather_rows(rows.x, rows.d), gather_weights(rows), gather_scores(s);
        return true;
    }

    template <typename Rows>
    void gather_weights(const Rows& rows) {
        weights.resize(n);
        const double root = std::sqrt(rows.weight);
        for (std::size_t p = 0; p < n; ++p) weights[p] = static_cast<float>(root * rows.weight_of(levels.documents[p]));
    }

    void gather_rows(const float* rows, std::size_t d) {
        x.resize(n * d);
        const float* const origin = rows + levels.documents[0] * d;
        for (std::size_t p = 0; p < n; ++p) {
            const float* const row = rows + levels.documents[p] * d;
            for (std::size_t j = 0; j < d; ++j) x[p * d + j] = row[j] - origin[j];
        }
    }

    void gather_scores(const float* s) {
        scores.resize(n);
        for (std::size_t p = 0; p < n; ++p) scores[p] = s[levels.documents[p]];
    }

    // What tiles of pairs ask for: the products of some documents with some others, their scores, and a step along
    // them.
    void multiply(Products<float>& products, std::size_t p, std::size_t rows, std::size_t q, std::size_t others,
                  std::size_t d, View<float> out) const {
        products.add({x.data() + p * d, d}, View<const float>{x.data() + q * d, d}.transposed(), rows, others, d, out);
    }
    void score(std::size_t p, std::size_t rows, std::size_t d, const float* w, float* s) const {
        score_rows(x.data() + p * d, rows, d, x.data() + (p + rows) * d, w, s);
    }
    void move(std::size_t p, std::size_t rows, std::size_t d, const double* steps, double* w) const {
        add_rows(x.data() + p * d, rows, d, steps, w);
    }

    // Calls body(p, q) for every pair, better document first.
    template <typename Body>
    void each_pair(const Body& body) const {
        for (std::size_t level = 0; level + 1 < levels.count(); ++level) {
            for (std::size_t p = levels.starts[level]; p < levels.starts[level + 1]; ++p) {
                for (std::size_t q = levels.starts[level + 1]; q < n; ++q) body(p, q);
            }
        }
    }
};

// Pair after pair with explicit weights: O(d) a pair. For short lists, or many more documents than
// features. Adds to steps, one number a document in levels order; w follows them.
template <typename Query, typename Rule>
RANKLOOP_INLINE bool pairs_in_features(const Query& query, std::size_t d, const Rule& rule, float* w, double* steps) {
    bool any = false;
    query.each_pair([&](std::size_t p, std::size_t q) __attribute__((always_inline)) {
        constexpr std::size_t lanes = 16;
        const float *a = query.x.data() + p * d, *b = query.x.data() + q * d;
        float margins[lanes] = {}, lengths[lanes] = {};
        std::size_t j = 0;
        for (; j + lanes <= d; j += lanes) {
            for (std::size_t k = 0; k < lanes; ++k) {
                const float delta = a[j + k] - b[j + k];
                margins[k] += w[j + k] * delta;
                lengths[k] += delta * delta;
            }
        }
        for (std::size_t k = 0; j < d; ++j, ++k) {
            const float delta = a[j] - b[j];
            margins[k] += w[j] * delta;
            lengths[k] += delta * delta;
        }
        for (std::size_t half = lanes / 2; half > 0; half /= 2) {
            for (std::size_t k = 0; k < half; ++k) margins[k] += margins[k + half], lengths[k] += lengths[k + half];
        }
        if (!rule.violated(margins[0], w)) return;
        const float tau = rule.step(margins[0], lengths[0], query.weights[p] * query.weights[q]);
        for (std::size_t k = 0; k < d; ++k) w[k] += tau * (a[k] - b[k]);
        steps[p] += tau, steps[q] -= tau;
        any = true;
    });
    return any;
}

// How far to move along delta = x_i - x_j, given its margin w.delta, squared length and the pair's weight; for
// one pair, and for four at once by their shortfalls `target - margin` and scales.
struct PassiveAggressive {  // SOLAR-I, eq. 6: squared hinge with slack 1/(2C); a weight multiplies C
    static constexpr bool takes_tiles = true;
    static constexpr float target = 1;
    float slack;
    bool violated(float margin, const float*) const { return margin < 1; }
    float scale(float length, float weight) const { return weight / (length * weight + slack); }
    float step(float margin, float length, float weight) const { return (1 - margin) * scale(length, weight); }
    RANKLOOP_INLINE Float4 steps(Float4 u, Float4 scale) const { return (u > 0 ? u : Float4{}) * scale; }
};

struct Mistake {  // the perceptron's rule; a tie is a mistake
    static constexpr bool takes_tiles = false;
    static constexpr float target = 0;
    bool violated(float margin, const float*) const { return margin <= 0; }
    float scale(float, float weight) const { return weight; }
    float step(float, float, float weight) const { return weight; }
    RANKLOOP_INLINE Float4 steps(Float4 u, Float4 scale) const { return u >= 0 ? scale : Float4{}; }
};

// A clone is made of a function, not of a template: hence one of each by name.
#define RANKLOOP_PAIRS(Rule)                                                                                       \
    RANKLOOP_CLONES inline bool run_gram(const Levels& levels, const GramRows& rows, const Rule& rule) {           \
        return pairs_in_gram(levels, rows, rule);                                                                  \
    }                                                                                                              \
    RANKLOOP_CLONES inline bool run_features(const OrderedQuery& query, std::size_t d, const Rule& rule, float* w, \
                                             double* steps) {                                                      \
        return pairs_in_features(query, d, rule, w, steps);                                                        \
    }
RANKLOOP_PAIRS(PassiveAggressive)
RANKLOOP_PAIRS(Mistake)
#undef RANKLOOP_PAIRS

RANKLOOP_CLONES inline bool run_tile(const std::size_t* lower, std::size_t better, const GramRows& rows,
                                     const PassiveAggressive& rule) {
    return tile_in_gram(lower, better, rows, rule);
}

// One query, in whichever space is cheaper.
template <typename Rule>
class PairStep {
public:
    struct Query {
        OrderedQuery ordered;
        Lines columns, gram;
        std::size_t stride = 0;  // of both; 0: it stays in the space of features
    };

    static constexpr bool prepares_long = true;

    explicit PairStep(Rule rule) : rule_(rule) {}

    void prepare(const QueryRows& rows, Query& query) const {
        OrderedQuery& ordered = query.ordered;
        const float* const x = rows.x;
        const std::size_t d = rows.d;
        ordered.levels.gather(rows.y, rows.m);
        const std::size_t n = ordered.n = ordered.levels.judged();
        query.stride = n >= 32 && n <= 4 * d && !in_tiles(n) ? column_stride(n) : 0;
        if (ordered.levels.count() < 2) return;
        ordered.gather_weights(rows);
        if (!query.stride) return ordered.gather_rows(x, d);
        query.columns.resize(d * query.stride), query.gram.resize(query.stride * query.stride);
        gather_columns(x, ordered.levels.documents.data(), n, d, query.stride, query.columns.data());
        gram(query.columns.data(), n, d, query.stride, query.gram.data());
    }

    bool operator()(const QueryRows& rows, Query& query, const float* s, LinearState& state) {
        OrderedQuery& ordered = query.ordered;
        if (ordered.levels.count() < 2) return false;
        ordered.gather_scores(s);
        if constexpr (Rule::takes_tiles) {
            if (in_tiles(ordered.n)) return (tiles_ ? *tiles_ : tiles_.emplace()).run(ordered, state.d, rule_, state.w);
        }
        return query.stride ? in_gram(rows.x, rows.m, query, state) : in_features(ordered, state);
    }

private:
    Rule rule_;
    std::optional<PairTiles<OrderedQuery, Rule>> tiles_;
    std::vector<double> steps_;
    std::vector<float> narrow_;
    Lines scores_, scratch_, moves_;

    static bool in_tiles(std::size_t n) { return Rule::takes_tiles && n > long_list; }

    // Steps add up to 0 but for rounding; the first document, which the others were moved to, takes
    // what is left, so that a place far from 0 does no harm.
    bool in_gram(const float* x, std::size_t m, const Query& query, LinearState& state) {
        const auto& [levels, rows, scores, weights, n] = query.ordered;
        scores_.assign(query.stride, 0.0f), scratch_.resize(2 * query.stride), moves_.assign(query.stride, 0.0f);
        std::copy(scores.begin(), scores.end(), scores_.begin());
        if (!run_gram(levels,
                      {query.gram.data(), n, query.stride, weights.data(), scores_.data(), moves_.data(),
                       scratch_.data(), scratch_.data() + query.stride},
                      rule_))
            return false;
        steps_.assign(m, 0.0);
        double rest = 0;
        for (std::size_t p = 1; p < n; ++p) rest -= steps_[levels.documents[p]] = moves_[p];
        steps_[levels.documents[0]] = rest;
        add_rows(x, m, state.d, steps_.data(), state.w);
        return true;
    }

    bool in_features(const OrderedQuery& ordered, LinearState& state) {
        steps_.assign(ordered.n, 0.0), narrow_.resize(state.d);
        to_float(state.w, state.d, narrow_.data());
        const bool any = run_features(ordered, state.d, rule_, narrow_.data(), steps_.data());
        if (any) add_rows(ordered.x.data(), ordered.n, state.d, steps_.data(), state.w);
        return any;
    }
};

}  // namespace rankloop
