// Pair after pair in the space of documents: with K = X X' at hand a margin is a difference of
// scores, and a step moves all scores by multiples of rows of K.
#pragma once

#include <utility>

#include "linalg/gram.hpp"
#include "linalg/pause.hpp"
#include "online/levels.hpp"

namespace rankloop {

// The number in one lane, in all four.
template <int lane>
RANKLOOP_INLINE Float4 spread(Float4 v) {
    return __builtin_shufflevector(v, v, lane, lane, lane, lane);
}

// What pairs in this space work on. Scores and steps have room for `stride` floats, and so have scales and
// diagonal, which are scratch.
struct GramRows {
    const float* gram;
    std::size_t n, stride;
    const float* weights;
    float *s, *steps, *scales, *diagonal;

    void start() const {
        for (std::size_t q = 0; q < n; ++q) diagonal[q] = gram[q * stride + q];
        std::fill(scales + n, scales + stride, 0.0f);
    }
};

// The pairs of document p with those from `lower` on; says whether one was violated. O(n) a violated pair.
//
// Eight pairs (p, q) go together. Their shortfalls u = target - margin are mended among themselves,
// four in a register, each step a few cycles after the one before; then all scores move at once.
// A pair that is not to be looked at (q of p's own grade, or beyond n) has scale 0, hence step 0.
template <typename Rule>
RANKLOOP_INLINE bool document_in_gram(const GramRows& rows, const Rule& rule, std::size_t p, std::size_t lower) {
    constexpr std::size_t together = 8;
    const float *const gram = rows.gram, *const weights = rows.weights;
    const std::size_t n = rows.n, stride = rows.stride;
    float *const s = rows.s, *const steps = rows.steps, *const scales = rows.scales;
    const float* const diagonal = rows.diagonal;
    const std::size_t start = lower / together * together;
    const float* const kp = gram + p * stride;
    const float own = kp[p];
    std::fill(scales + start, scales + lower, 0.0f);
    for (std::size_t q = lower; q < n; ++q)
        scales[q] = rule.scale(own + diagonal[q] - 2 * kp[q], weights[p] * weights[q]);
    const std::size_t next = (p + 1) / together * together;  // scores before are not used again
    Float4 moved = {}, score = s[p] - Float4{};              // moved: how often x_p was added for this p
    for (std::size_t first = start; first < n; first += together) {
        const float* const block = gram + first * stride;
        const Float4 k[2] = {load4(kp + first), load4(kp + first + 4)};
        const Float4 scale[2] = {load4(scales + first), load4(scales + first + 4)};
        Float4 u[2], tau[together], total = {};
        for (int h = 0; h < 2; ++h) u[h] = rule.target + load4(s + first + 4 * h) - score + moved * k[h];
        const auto mend = [&]<int l>(std::integral_constant<int, l>) __attribute__((always_inline)) {
            tau[l] = spread<l % 4>(rule.steps(u[l / 4], scale[l / 4]));
            const Float4 fall = spread<l % 4>(k[l / 4]) - own;
            const float* const row = block + static_cast<std::size_t>(l) * stride + first;
            for (int h = l / 4; h < 2; ++h) u[h] += tau[l] * (k[h] - load4(row + 4 * h) + fall);
            total += tau[l];
            score -= tau[l] * fall;
        };
        [&]<int... l>(std::integer_sequence<int, l...>) __attribute__((always_inline)) {
            (mend(std::integral_constant<int, l>{}), ...);
        }(std::make_integer_sequence<int, 8>{});
        if (total[0] == 0) continue;
        moved += total;
        for (std::size_t l = 0; l < together; ++l) steps[first + l] -= tau[l][0];
        for (std::size_t r = next; r < n; r += together) {
            Float8 even = load8(s + r), odd = {};
#pragma GCC unroll 4
            for (std::size_t l = 0; l < together; l += 2) {
                even -= tau[l][0] * load8(block + l * stride + r);
                odd += tau[l + 1][0] * load8(block + (l + 1) * stride + r);
            }
            store8(s + r, even - odd);
        }
    }
    if (moved[0] == 0) return false;
    steps[p] += moved[0];
    for (std::size_t r = next; r < n; r += together) store8(s + r, load8(s + r) + moved[0] * load8(kp + r));
    return true;
}

template <typename Rule>
RANKLOOP_INLINE bool pairs_in_gram(const Levels& levels, const GramRows& rows, const Rule& rule) {
    rows.start();
    bool any = false;
    for (std::size_t level = 0; level + 1 < levels.count(); ++level) {
        const std::size_t lower = levels.starts[level + 1];
        for (std::size_t p = levels.starts[level]; p < lower; ++p) {
            did_work((rows.n - lower) * (rows.n - p));
            any |= document_in_gram(rows, rule, p, lower);
        }
    }
    return any;
}

// Each of the first documents with those from its own place on.
template <typename Rule>
RANKLOOP_INLINE bool tile_in_gram(const std::size_t* lower, std::size_t better, const GramRows& rows,
                                  const Rule& rule) {
    rows.start();
    bool any = false;
    for (std::size_t p = 0; p < better; ++p) any |= document_in_gram(rows, rule, p, lower[p]);
    return any;
}

}  // namespace rankloop
