// Pairs of a long list in the space of documents, a few documents against a few others at a time.
#pragma once

#include <array>
#include <vector>

#include "linalg/matmul.hpp"
#include "linalg/rows.hpp"
#include "online/pairs_gram.hpp"

namespace rankloop {

// All pairs of a long list, tile by tile: t documents and t others have t^2 pairs, which need t^2 products and, for
// scores and steps, 2 t passes over d numbers. O(d) a pair, but as a product of matrices; O(t) a violated pair.
template <typename Query, typename Rule>
class PairTiles {
public:
    bool run(const Query& query, std::size_t d, const Rule& rule, double* w) {
        const std::size_t n = query.n;
        // Whole blocks, also for the last documents: those that are missing there have the product 0 and the step 0. With
        // what happens to be in memory instead, 0 times an infinity would be NaN, and spoil the scores of the others.
        own_.assign((n + side - 1) / side * side * side, 0.0f);
        narrow_.resize(d), lower_.resize(n);
        for (std::size_t level = 0; level < query.levels.count(); ++level) {
            for (std::size_t p = query.levels.starts[level]; p < query.levels.starts[level + 1]; ++p)
                lower_[p] = query.levels.starts[level + 1];
        }
        for (std::size_t p = 0; p < n; p += side) multiply(query, d, p, p, own_.data() + p * side);
        bool any = false;
        for (std::size_t p = 0; p < n; p += side) {
            for (std::size_t q = p; q < n; q += side) {
                did_work(side * side * (d + most));
                any |= learn(query, d, rule, p, q, w);
            }
        }
        return any;
    }

private:
    static constexpr std::size_t side = documents_a_side, most = 2 * side;

    Products<float> products_;
    Lines own_, narrow_;              // products inside each part of the list; weights
    std::vector<std::size_t> lower_;  // the first document that each is compared with
    alignas(64) std::array<float, side * side> across_{};
    alignas(64) std::array<float, most * most> gram_{};
    alignas(64) std::array<float, most> s_{}, moves_{}, weights_{}, scales_{}, diagonal_{};
    std::array<std::size_t, side> first_{};
    std::array<double, most> steps_{};

    // Products of the documents from p on with those from q on.
    void multiply(const Query& query, std::size_t d, std::size_t p, std::size_t q, float* out) {
        query.multiply(products_, p, std::min(side, query.n - p), q, std::min(side, query.n - q), d, {out, side});
    }

    bool learn(const Query& query, std::size_t d, const Rule& rule, std::size_t p, std::size_t q, double* w) {
        const std::size_t better = std::min(side, query.n - p), others = q > p ? std::min(side, query.n - q) : 0,
                          n = better + others;
        const std::size_t base = q > p ? side : 0, end = q > p ? q + others : p + better;
        if (lower_[p] >= end) return false;  // all of one grade
        to_float(w, d, narrow_.data());
        query.score(p, better, d, narrow_.data(), s_.data());
        query.score(q, others, d, narrow_.data(), s_.data() + base);
        for (std::size_t r = 0; r < better; ++r) first_[r] = std::min(base + (std::max(lower_[p + r], q) - q), n);
        if (!any_violated(better, n, rule)) return false;
        gather(query, d, p, q);
        moves_.fill(0.0f);
        if (!run_tile(
                first_.data(), better,
                {gram_.data(), n, most, weights_.data(), s_.data(), moves_.data(), scales_.data(), diagonal_.data()},
                rule))
            return false;
        std::copy_n(moves_.data(), n, steps_.data());
        query.move(p, better, d, steps_.data(), w);
        query.move(q, others, d, steps_.data() + base, w);
        return true;
    }

    bool any_violated(std::size_t better, std::size_t n, const Rule& rule) const {
        bool any = false;
        for (std::size_t r = 0; r < better; ++r) {
            for (std::size_t k = first_[r]; k < n; ++k) any |= s_[r] - s_[k] < rule.target;
        }
        return any;
    }

    void gather(const Query& query, std::size_t d, std::size_t p, std::size_t q) {
        place(own_.data() + p * side, 0, 0, false);
        std::copy_n(query.weights.data() + p, std::min(side, query.n - p), weights_.data());
        if (q == p) return;
        std::copy_n(query.weights.data() + q, std::min(side, query.n - q), weights_.data() + side);
        across_.fill(0.0f);
        multiply(query, d, p, q, across_.data());
        place(own_.data() + q * side, side, side, false), place(across_.data(), 0, side, false),
            place(across_.data(), side, 0, true);
    }

    // A block of products goes to its place in the tile's.
    void place(const float* block, std::size_t row, std::size_t column, bool transposed) {
        for (std::size_t i = 0; i < side; ++i) {
            float* const to = gram_.data() + (row + i) * most + column;
            for (std::size_t j = 0; j < side; ++j) to[j] = transposed ? block[j * side + i] : block[i * side + j];
        }
    }
};

}  // namespace rankloop
