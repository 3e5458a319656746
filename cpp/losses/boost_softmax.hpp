// What a tree is grown on: gradient and Hessian of a softmax cross entropy, ListNet's or XE_NDCG's, of all
// queries in one pass, as float32. Nothing is kept between passes: targets are made anew from the grades.
// Each query is computed alone, so that any number of threads gives the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "linalg/math.hpp"
#include "linalg/parallel.hpp"
#include "losses/targets.hpp"

namespace rankloop {

enum class GammaKind { number, random, tight };  // one for all; LightGBM's draws; the tightest bound

// LightGBM's generator, which can go anywhere: the state after k draws costs O(log k).
class Draws {
public:
    Draws(std::uint32_t seed, std::uint64_t after) : x_(seed) {
        std::uint32_t a = 214013, c = 2531011;  // one draw is x -> a x + c
        for (; after; after >>= 1) {
            if (after & 1) x_ = a * x_ + c;
            c = (a + 1) * c;
            a = a * a;
        }
    }

    float next() {
        x_ = 214013 * x_ + 2531011;
        return static_cast<float>((x_ >> 16) & 0x7fff) / 32768.0f;
    }

private:
    std::uint32_t x_;
};

struct SoftmaxTrees {
    Targets targets;
    GammaKind gamma_kind;
    double gamma;
    std::uint32_t seed;                             // of random gammas
    std::uint64_t draw;                             // which draw of all of them: the number of trees so far
    unsigned terms;                                 // of the series for the inverse Hessian beyond the diagonal
    const double *y, *doc_weights, *query_weights;  // null weights are all 1
    const std::int64_t* offsets;
    std::size_t queries;

    // Returns the loss, random gammas counting as their mean; without places to fill, only that.
    double at(const double* scores, float* gradient, float* hessian, unsigned threads) const {
        std::vector<double> values(queries);
        const auto documents = static_cast<std::size_t>(offsets[queries]);
        const std::size_t least = std::max<std::size_t>(1, 8192 * queries / std::max<std::size_t>(documents, 1));
        parallel_parts(queries, least, threads, [&](std::size_t from, std::size_t to) {
            Scratch own;
            for (std::size_t q = from; q < to; ++q) values[q] = query(q, scores, gradient, hessian, own);
        });
        double sum = 0;
        for (const double value : values) sum += value;
        return sum;
    }

private:
    struct Scratch {
        std::vector<double> rho, phi, cost;
    };

    double query(std::size_t q, const double* scores, float* gradient, float* hessian, Scratch& own) const {
        const auto first = static_cast<std::size_t>(offsets[q]), m = static_cast<std::size_t>(offsets[q + 1]) - first;
        if (gradient) std::fill_n(gradient + first, m, 0.0f), std::fill_n(hessian + first, m, 0.0f);
        if (m < 2) return 0;
        const double *const s = scores + first, *const grades = y + first;
        const double* const a = doc_weights ? doc_weights + first : nullptr;
        const double weight = query_weights ? query_weights[q] : 1.0;
        own.rho.resize(m), own.phi.resize(m), own.cost.resize(m);
        double *const rho = own.rho.data(), *const phi = own.phi.data(), *const cost = own.cost.data();
        const double top = *std::max_element(s, s + m), best = *std::max_element(grades, grades + m);
        double sum = 0;
        for (std::size_t i = 0; i < m; ++i) sum += (a ? a[i] : 1.0) * (rho[i] = math::exp(s[i] - top));
        const double log_sum = math::log(sum);
        for (std::size_t i = 0; i < m; ++i) rho[i] /= sum, cost[i] = top + log_sum - s[i];  // of one copy
        const double value = target(q, m, grades, best, a, cost, phi);
        if (gradient) newton(m, a, weight, rho, phi, gradient + first, hessian + first);
        return weight * value;
    }

    // Fills phi, which sums to 1 over all copies, or is 0; returns the cross entropy.
    double target(std::size_t q, std::size_t m, const double* grades, double best, const double* a, const double* cost,
                  double* phi) const {
        const bool drawn = targets == Targets::gains && gamma_kind == GammaKind::random;
        const double one = math::exp2(-best);  // a gamma of 1, scaled as the gains are
        const TargetGain gain(targets, gamma_kind == GammaKind::number ? gamma : 0.0, best);
        double sum = 0, value = 0;
        for (std::size_t i = 0; i < m; ++i) phi[i] = gain(grades[i]);
        if (targets == Targets::gains && gamma_kind == GammaKind::tight) tighten(m, a, one, cost, phi);
        if (drawn) {
            double mean_sum = 0;
            for (std::size_t i = 0; i < m; ++i) {
                const double mean = (a ? a[i] : 1.0) * (phi[i] - 0.5 * one);
                mean_sum += mean, value += mean * cost[i];
            }
            value = mean_sum > 0 ? value / mean_sum : 0;
            Draws draws(seed + static_cast<std::uint32_t>(q), draw * m);
            for (std::size_t i = 0; i < m; ++i) phi[i] -= draws.next() * one;
        }
        for (std::size_t i = 0; i < m; ++i) sum += (a ? a[i] : 1.0) * phi[i];
        for (std::size_t i = 0; i < m; ++i) phi[i] = sum > 0 ? phi[i] / sum : 0;
        if (drawn) return value;
        for (std::size_t i = 0; i < m; ++i) value += (a ? a[i] : 1.0) * phi[i] * cost[i];
        return value;
    }

    // The gammas of the least cross entropy, a mean of costs with weights 2^y - gamma: the least weight,
    // gamma 1, where a cost is at least the mean, the largest where it is below. Each step lowers the mean
    // (Dinkelbach); there are at most m, a few as a rule.
    static void tighten(std::size_t m, const double* a, double one, const double* cost, double* phi) {
        double mean = -1;  // all costs are above
        for (std::size_t step = 0; step <= m; ++step) {
            double sum = 0, total = 0;
            for (std::size_t i = 0; i < m; ++i) {
                const double gain = (a ? a[i] : 1.0) * (cost[i] < mean ? phi[i] : phi[i] - one);
                sum += gain, total += gain * cost[i];
            }
            if (!(sum > 0)) return;
            const double next = total / sum;
            if (step && !(next < mean)) break;
            mean = next;
        }
        for (std::size_t i = 0; i < m; ++i) phi[i] -= cost[i] < mean ? 0 : one;
    }

    // (I + S + S^2) D^-1 gradient, D the diagonal of the Hessian: its numerator and D, as section 4.4 has it.
    // A copy's own share of itself is 1, or all there is of it where the weight is below 1.
    void newton(std::size_t m, const double* a, double weight, const double* rho, double* phi, float* g,
                float* h) const {
        double mass = 0, sum = 0;
        for (std::size_t i = 0; i < m; ++i) mass += phi[i];
        if (!(mass > 0)) return;
        for (std::size_t i = 0; i < m; ++i) {
            const double copies = a ? a[i] : 1.0, own = std::min(copies, 1.0), term = rho[i] - phi[i];
            g[i] = static_cast<float>(weight * copies * term);
            h[i] = static_cast<float>(weight * copies * rho[i] * (1 - own * rho[i]));
            phi[i] = term / std::max(1 - own * rho[i], 1e-10);
            sum += copies * phi[i];
        }
        for (unsigned k = 0; k < terms; ++k) {
            double next = 0;
            for (std::size_t i = 0; i < m; ++i) {
                const double copies = a ? a[i] : 1.0, own = std::min(copies, 1.0);
                const double term = rho[i] * (sum - own * phi[i]);
                g[i] += static_cast<float>(weight * copies * term);
                phi[i] = term / std::max(1 - own * rho[i], 1e-10);
                next += copies * phi[i];
            }
            sum = next;
        }
    }
};

}  // namespace rankloop
