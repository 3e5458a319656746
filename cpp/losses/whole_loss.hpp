// A loss summed over all queries: value, gradient and curvature, threaded. Each query is computed alone
// and values are added in order, so that any number of threads gives the same bits.
#pragma once

#include <algorithm>
#include <variant>

#include "losses/hinge.hpp"
#include "losses/logistic.hpp"
#include "losses/softmax_entropy.hpp"
#include "linalg/parallel.hpp"

namespace rankloop {

enum class LossKind { squared_hinge, logistic, listnet, xendcg };

class WholeLoss {
public:
    WholeLoss(LossKind kind, double gamma, Judged judged)
        : judged_(std::move(judged)),
          kernel_(make(kind, gamma, judged_)) {
        values_.resize(judged_.queries());
        const std::size_t documents = std::max<std::size_t>(judged_.rows.size(), 1);
        least_ = std::max<std::size_t>(1, 8192 * judged_.queries() / documents);
    }
    WholeLoss(const WholeLoss&) = delete;  // the kernel looks into judged_
    WholeLoss& operator=(const WholeLoss&) = delete;

    // Keeps the scores; writes the gradient where documents count, and returns the value.
    double at(const double* scores, double* gradient, unsigned threads) {
        for_queries(scores, gradient, threads, [&](std::size_t q, const double* s, double* g) {
            values_[q] =
                judged_.query_weights[q] * std::visit([&](auto& kernel) { return kernel.at(q, s, g); }, kernel_);
        });
        double sum = 0;
        for (std::size_t q = 0; q < judged_.queries(); ++q) sum += judged_.size(q) ? values_[q] : 0;
        return sum;
    }

    // out = H v at the scores of the last call of `at`
    void product(const double* v, double* out, unsigned threads) {
        for_queries(v, out, threads, [&](std::size_t q, const double* own, double* o) {
            std::visit([&](auto& kernel) { kernel.product(q, own, o); }, kernel_);
        });
    }

    void diagonal(double* out, unsigned threads) {
        for_queries(nullptr, out, threads, [&](std::size_t q, const double*, double* o) {
            std::visit([&](auto& kernel) { kernel.diagonal(q, o); }, kernel_);
        });
    }

private:
    using Kernel = std::variant<SquaredHinge, PairwiseLogistic, SoftmaxEntropy>;

    static Kernel make(LossKind kind, double gamma, const Judged& judged) {
        switch (kind) {
            case LossKind::squared_hinge:
                return Kernel(std::in_place_type<SquaredHinge>, judged);
            case LossKind::logistic:
                return Kernel(std::in_place_type<PairwiseLogistic>, judged);
            case LossKind::listnet:
                return Kernel(std::in_place_type<SoftmaxEntropy>, judged, Targets::grades, gamma);
            default:
                return Kernel(std::in_place_type<SoftmaxEntropy>, judged, Targets::gains, gamma);
        }
    }

    // Gathers the values of a query, best grade first, and scatters what `body` adds, times its weight.
    template <typename Body>
    void for_queries(const double* values, double* out, unsigned threads, const Body& body) {
        parallel_parts(judged_.queries(), least_, threads, [&](std::size_t from, std::size_t to) {
            std::vector<double> in, added;
            for (std::size_t q = from; q < to; ++q) {
                const std::size_t m = judged_.size(q);
                const std::size_t* const rows = judged_.rows.data() + judged_.begin[q];
                if (m == 0) continue;
                in.resize(m), added.assign(m, 0.0);
                for (std::size_t i = 0; values && i < m; ++i) in[i] = values[rows[i]];
                body(q, in.data(), added.data());
                for (std::size_t i = 0; i < m; ++i) out[rows[i]] = judged_.query_weights[q] * added[i];
            }
        });
    }

    Judged judged_;
    Kernel kernel_;
    std::vector<double> values_;
    std::size_t least_;  // queries a thread
};

}  // namespace rankloop
