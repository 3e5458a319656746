// Learners that go through the pairs of a query one by one: SOLAR-I, the pairwise perceptron and
// the committee perceptron. A pair is a document and one of a lower grade; better grades come
// first, then row order, on both sides.
#pragma once

#include "dense.hpp"
#include "online.hpp"

namespace rankloop {

// The judged documents of one query, in levels order, moved so that the first is at 0: differences
// stay and products stay small.
struct OrderedQuery {
    Levels levels;
    std::vector<float> x, scores;
    std::size_t n = 0;

    bool gather(const float* rows, const double* y, std::size_t m, std::size_t d, const float* s) {
        levels.gather(y, m);
        n = levels.judged();
        if (levels.count() < 2) return false;
        x.resize(n * d), scores.resize(n);
        const float* const origin = rows + levels.documents[0] * d;
        for (std::size_t p = 0; p < n; ++p) {
            const float* const row = rows + levels.documents[p] * d;
            for (std::size_t j = 0; j < d; ++j) x[p * d + j] = row[j] - origin[j];
            scores[p] = s[levels.documents[p]];
        }
        return true;
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
template <typename Rule>
__attribute__((always_inline)) inline bool pairs_in_features(const OrderedQuery& query, std::size_t d, Rule& rule, float* w,
                                                             double* steps) {
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
        const float tau = rule.step(margins[0], lengths[0]);
        for (std::size_t k = 0; k < d; ++k) w[k] += tau * (a[k] - b[k]);
        steps[p] += tau, steps[q] -= tau;
        any = true;
    });
    return any;
}

// s[r] -= sum over four rows of tau_l k_l[r], from `first` on.
__attribute__((always_inline)) inline void subtract_rows(float* __restrict s, const float* __restrict k, const std::size_t* rows,
                                                         const float* tau, std::size_t first, std::size_t n) {
    const float *a = k + rows[0] * n, *b = k + rows[1] * n, *c = k + rows[2] * n, *e = k + rows[3] * n;
    for (std::size_t r = first; r < n; ++r) s[r] -= tau[0] * a[r] + tau[1] * b[r] + tau[2] * c[r] + tau[3] * e[r];
}

// The same in the space of documents: with K = X X', a pair costs O(1), a violated one O(n) adds.
// Four pairs go together: their margins are mended among themselves, then all scores at once.
template <typename Rule>
__attribute__((always_inline)) inline bool pairs_in_gram(OrderedQuery& query, const float* gram, Rule& rule, double* steps) {
    constexpr std::size_t together = 4;
    const std::size_t n = query.n;
    float* const s = query.scores.data();
    bool any = false;
    for (std::size_t level = 0; level + 1 < query.levels.count(); ++level) {
        const std::size_t lower = query.levels.starts[level + 1];
        for (std::size_t p = query.levels.starts[level]; p < lower; ++p) {
            const float* const kp = gram + p * n;
            float moved = 0, sp = s[p];  // moved: how often x_p was added for this p
            for (std::size_t first = lower; first < n; first += together) {
                float tau[together] = {};
                std::size_t rows[together] = {first, first, first, first};
                bool violated = false;
                for (std::size_t l = 0; l < together && first + l < n; ++l) {
                    const std::size_t q = rows[l] = first + l;
                    const float* const kq = gram + q * n;
                    float sq = s[q];
                    for (std::size_t e = 0; e < l; ++e) sq -= tau[e] * kq[first + e];
                    const float margin = sp - (sq + moved * kp[q]);
                    if (!rule.violated(margin, nullptr)) continue;
                    violated = true;
                    tau[l] = rule.step(margin, kp[p] + kq[q] - 2 * kp[q]);
                    moved += tau[l];
                    steps[q] -= tau[l];
                    sp += tau[l] * (kp[p] - kp[q]);
                }
                if (violated) subtract_rows(s, gram, rows, tau, p + 1, n);
            }
            if (moved == 0) continue;
            any = true;
            steps[p] += moved;
            for (std::size_t r = p + 1; r < n; ++r) s[r] += moved * kp[r];
        }
    }
    return any;
}

// How far to move along delta = x_i - x_j, given its margin w.delta and squared length.
struct PassiveAggressive {  // SOLAR-I, eq. 6: squared hinge with slack 1/(2C)
    float slack;
    bool violated(float margin, const float*) const { return margin < 1; }
    float step(float margin, float length) const { return (1 - margin) / (length + slack); }
};

struct Mistake {  // the perceptron's rule; a tie is a mistake
    bool violated(float margin, const float*) const { return margin <= 0; }
    float step(float, float) const { return 1; }
};

RANKLOOP_CLONES inline bool solar_in_gram(OrderedQuery& q, const float* k, PassiveAggressive& r, double* g) { return pairs_in_gram(q, k, r, g); }
RANKLOOP_CLONES inline bool solar_in_features(const OrderedQuery& q, std::size_t d, PassiveAggressive& r, float* w, double* g) { return pairs_in_features(q, d, r, w, g); }
RANKLOOP_CLONES inline bool perceptron_in_gram(OrderedQuery& q, const float* k, Mistake& r, double* g) { return pairs_in_gram(q, k, r, g); }
RANKLOOP_CLONES inline bool perceptron_in_features(const OrderedQuery& q, std::size_t d, Mistake& r, float* w, double* g) { return pairs_in_features(q, d, r, w, g); }

inline bool run_gram(OrderedQuery& q, const float* k, PassiveAggressive& r, double* g) { return solar_in_gram(q, k, r, g); }
inline bool run_gram(OrderedQuery& q, const float* k, Mistake& r, double* g) { return perceptron_in_gram(q, k, r, g); }
inline bool run_features(const OrderedQuery& q, std::size_t d, PassiveAggressive& r, float* w, double* g) { return solar_in_features(q, d, r, w, g); }
inline bool run_features(const OrderedQuery& q, std::size_t d, Mistake& r, float* w, double* g) { return perceptron_in_features(q, d, r, w, g); }

// One query, in whichever space is cheaper.
template <typename Rule>
class PairStep {
public:
    explicit PairStep(Rule rule) : rule_(rule) {}

    bool operator()(const float* x, const double* y, std::size_t m, const float* s, LinearState& state) {
        const std::size_t d = state.d;
        if (!query_.gather(x, y, m, d, s)) return false;
        steps_.assign(query_.n, 0.0);
        bool any;
        if (query_.n >= 32 && query_.n <= 4 * d) {
            gram_.resize(query_.n * query_.n);
            gram(query_.x.data(), query_.n, d, transposed_, gram_.data());
            any = run_gram(query_, gram_.data(), rule_, steps_.data());
        } else {
            narrow_.resize(d);
            to_float(state.w, d, narrow_.data());
            any = run_features(query_, d, rule_, narrow_.data(), steps_.data());
        }
        // steps add up to 0, so moving the documents to the first one's place changes nothing
        if (any) add_rows(query_.x.data(), query_.n, d, steps_.data(), state.w);
        return any;
    }

private:
    Rule rule_;
    OrderedQuery query_;
    std::vector<double> steps_;
    std::vector<float> gram_, transposed_, narrow_;
};

}  // namespace rankloop
