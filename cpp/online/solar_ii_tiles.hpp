// The violated pairs of a long list, tile by tile: all pairs between a few documents and a few others before the next.
// SOLAR-II takes pairs in any order. In this one, t documents and t others have t^2 pairs, but only 2 t rows of
// products with the covariance: O(d^2 / t + t^2) a pair, where pairs of one document with all others cost O(d^2) each.
#pragma once

#include <array>

#include "linalg/pause.hpp"
#include "linalg/triangular.hpp"
#include "online/violated.hpp"

namespace rankloop {

// The documents of one tile: the better ones, then those they are compared with; on the diagonal both are the same.
struct Tile {
    static constexpr std::size_t most = 2 * documents_a_side, waiting = 4;

    std::size_t n = 0, better = 0;
    std::array<std::size_t, most> first{};  // of each better document: the first that it is compared with
    std::array<float, most> weights{};
    alignas(64) std::array<float, most> s{}, v{};
    alignas(64) std::array<float, most * most> P{};     // products by the covariance; rows `most` apart
    alignas(64) std::array<float, waiting * most> y{};  // pairs that P does not know of yet: it is P - y'y
};

// P -= y'y from row and column `start` on
RANKLOOP_INLINE void take_from_tile(Tile& tile, std::size_t start) {
    constexpr std::size_t most = Tile::most;
    const float *const a = tile.y.data(), *const b = a + most, *const c = b + most, *const e = c + most;
    for (std::size_t r = start; r < tile.n; ++r) {
        float* const row = tile.P.data() + r * most;
        const float ra = a[r], rb = b[r], rc = c[r], re = e[r];
        for (std::size_t j = start / 8 * 8; j < tile.n; j += 8) {
            const Float8 sum = (ra * load8(a + j) + rb * load8(b + j)) + (rc * load8(c + j) + re * load8(e + j));
            store8(row + j, load8(row + j) - sum);
        }
    }
}

// Goes through the pairs of a tile; `found` gets the violated ones. Scores and products follow.
RANKLOOP_CLONES inline void find_in_tile(Tile& tile, float gamma, ViolatedPairs& found) {
    constexpr std::size_t most = Tile::most;
    std::size_t waiting = 0;
    for (std::size_t p = 0; p < tile.better; ++p) {
        const std::size_t start = p / 8 * 8;  // what is before p is not needed again
        for (std::size_t q = tile.first[p]; q < tile.n; ++q) {
            const float margin = tile.s[p] - tile.s[q];
            if (!(margin < 1)) continue;
            const float own = tile.weights[p] * tile.weights[q];
            const float *const a = tile.P.data() + p * most, *const b = tile.P.data() + q * most;
            float shares[Tile::waiting];
            for (std::size_t k = 0; k < waiting; ++k) shares[k] = tile.y[k * most + p] - tile.y[k * most + q];
            for (std::size_t j = start; j < tile.n; j += 8) {
                Float8 sum = load8(a + j) - load8(b + j);
                for (std::size_t k = 0; k < waiting; ++k) sum -= shares[k] * load8(tile.y.data() + k * most + j);
                store8(tile.v.data() + j, sum);
            }
            const float beta = tile.v[p] - tile.v[q] + gamma / own, by = (1 - margin) / beta,
                        scale = 1 / std::sqrt(beta);
            float* const y = tile.y.data() + waiting * most;
            for (std::size_t j = start; j < tile.n; j += 8) {
                const Float8 v = load8(tile.v.data() + j);
                store8(tile.s.data() + j, load8(tile.s.data() + j) + by * v);
                store8(y + j, scale * v);
            }
            found.add(p, q, own);
            if (++waiting == Tile::waiting) take_from_tile(tile, start), waiting = 0;
        }
    }
}

class TiledPairs {
public:
    // The n documents are rows of z (d numbers each), whose products are those of the covariance; document p, which
    // has the score scores[p], is compared with those from lower[p] on.
    void find(const float* z, std::size_t n, std::size_t d, const double* scores, const std::vector<std::size_t>& lower,
              const float* weights, double gamma, Products<double>& products, ViolatedPairs& found) {
        z_ = z, n_ = n, d_ = d, scores_ = scores, gamma_ = gamma;
        S_.assign(d * d, 0.0f), w_.assign(d, 0.0f);
        for (std::size_t j = 0; j < d; ++j) S_[j * d + j] = 1;
        for (std::size_t p = 0; p < n; p += documents_a_side) {
            for (std::size_t q = p; q < n; q += documents_a_side) {
                did_work(Tile::most * (d * d + documents_a_side * documents_a_side));
                if (!gather(p, q, lower, weights)) continue;
                found.add(own_, places_.data());
                learn(products);
            }
        }
    }

private:
    const float* z_ = nullptr;
    const double* scores_ = nullptr;
    std::size_t n_ = 0, d_ = 0;
    double gamma_ = 0;
    Tile tile_;
    std::array<std::size_t, Tile::most> places_{};  // of the tile's documents in the list
    ViolatedPairs own_;
    Products<float> products_;
    Lines S_, w_, rows_, moved_, shares_,
        taken_;  // S: the covariance, where it began as the identity; w: how far the mean moved
    std::vector<double> P_, EP_, H_, right_, start_, a_, F_;

    // Fills the tile of the documents from p and from q on, and finds its violated pairs; false where there are none.
    bool gather(std::size_t p, std::size_t q, const std::vector<std::size_t>& lower, const float* weights) {
        const std::size_t better = std::min(documents_a_side, n_ - p),
                          others = q > p ? std::min(documents_a_side, n_ - q) : 0;
        const std::size_t n = tile_.n = better + others, base = q > p ? better : 0;
        if (lower[p] >= q + (q > p ? others : better)) return false;  // all of one grade
        tile_.better = better;
        rows_.resize(Tile::most * d_);
        for (std::size_t r = 0; r < n; ++r) {
            const std::size_t place = places_[r] = r < better ? p + r : q + r - better;
            std::copy_n(z_ + place * d_, d_, rows_.data() + r * d_);
            tile_.weights[r] = weights[place];
            tile_.s[r] = static_cast<float>(scores_[place]) + dot(rows_.data() + r * d_, w_.data(), d_);
            if (r < better) tile_.first[r] = base + (std::max(lower[place], q) - q);
        }
        bool any = false;
        for (std::size_t r = 0; r < better; ++r) {
            for (std::size_t k = tile_.first[r]; k < n; ++k) any |= tile_.s[r] - tile_.s[k] < 1;
        }
        if (!any) return false;
        start_.assign(tile_.s.begin(), tile_.s.begin() + static_cast<std::ptrdiff_t>(n));
        const View<const float> rows{rows_.data(), d_};
        moved_.assign(n * d_, 0.0f);
        products_.add(rows, {S_.data(), d_}, n, d_, d_, {moved_.data(), d_});
        tile_.P.fill(0.0f);
        products_.add({moved_.data(), d_}, rows.transposed(), n, n, d_, {tile_.P.data(), Tile::most});
        P_.resize(n * n);
        for (std::size_t r = 0; r < n; ++r) std::copy_n(tile_.P.data() + r * Tile::most, n, P_.data() + r * n);
        own_.clear(n);
        find_in_tile(tile_, static_cast<float>(gamma_), own_);
        return true;
    }

    // What the violated pairs of the tile teach, at once. With A = E E' their Laplacian and C'C = I + E'P E, the
    // covariance falls by D'D, D = C'^-1 E' (rows S), and the mean moves by (rows S)' a, a = E (C'C)^-1 (t - E's), E t
    // = b.
    void learn(Products<double>& products) {
        const std::size_t n = tile_.n;
        own_.divide(gamma_), own_.factor(products);
        const std::vector<double>&E = own_.laplacian, &t = own_.pull;
        const View<const double> up{E.data(), n};
        EP_.assign(n * n, 0.0), H_.assign(n * n, 0.0);
        products.add(up, {P_.data(), n}, n, n, n, {EP_.data(), n});
        products.add({EP_.data(), n}, up.transposed(), n, n, n, {H_.data(), n}, Shape::upper);
        right_.resize(n), F_ = E;
        for (std::size_t i = 0; i < n; ++i) {
            H_[i * n + i] = 1 + std::max(H_[i * n + i], 0.0);
            right_[i] = t[i];
            for (std::size_t j = i; j < n; ++j) right_[i] -= E[i * n + j] * start_[j];
        }
        if (!cholesky(H_.data(), n, products)) throw std::runtime_error("its curvature is not finite");
        solve_lower_rows(H_.data(), n, F_.data(), n);
        solve_lower(H_.data(), n, right_.data());
        a_.assign(n, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) a_[j] += F_[i * n + j] * right_[i];
        }
        for (std::size_t r = 0; r < n; ++r) {
            const float a = static_cast<float>(a_[r]);
            for (std::size_t j = 0; j < d_; ++j) w_[j] += a * moved_[r * d_ + j];
        }
        shares_.assign(F_.begin(), F_.end()), taken_.assign(n * d_, 0.0f);
        products_.add({shares_.data(), n}, {moved_.data(), d_}, n, d_, n, {taken_.data(), d_});
        const View<const float> taken{taken_.data(), d_};
        products_.subtract(taken.transposed(), taken, d_, d_, n, {S_.data(), d_});
    }
};

}  // namespace rankloop
