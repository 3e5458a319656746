// PRank (Crammer and Singer): one weight vector and ordered thresholds, document after document.
#pragma once

#include "online/loop.hpp"

namespace rankloop {

class PRankStep {
public:
    static constexpr bool takes_sparse = true;

    // thresholds: b_1 <= ... <= b_n, between grades 0, 1, ..., n; a new best grade adds one, equal to
    // the last, in the room there is
    PRankStep(double* thresholds, std::int64_t& n) : b_(thresholds), n_(n) {}

    template <typename Rows>
    bool operator()(const Rows& rows, const float*, LinearState& state) {
        bool any = false;
        for (std::size_t i = 0; i < rows.m; ++i) {
            if (rows.y[i] >= 0) any |= learn_document(rows, i, state);
        }
        return any;
    }

private:
    double* b_;
    std::int64_t& n_;

    template <typename Rows>
    bool learn_document(const Rows& rows, std::size_t i, LinearState& state) {
        const auto grade = static_cast<std::int64_t>(rows.y[i]);
        const double weight = rows.weight * rows.weight_of(i);
        for (; n_ < grade; ++n_) b_[n_] = n_ ? b_[n_ - 1] : 0;
        const double score = row_score(rows, i, state.w);
        double total = 0;
        std::int64_t predicted = 0;
        while (predicted < n_ && score - b_[predicted] >= 0) ++predicted;
        if (predicted == grade) return false;
        for (std::int64_t r = 0; r < n_; ++r) {
            const double side = grade <= r ? -1 : 1;  // on which side of b_r the score should be
            if ((score - b_[r]) * side <= 0) {
                total += side * weight;
                b_[r] -= side * weight;
            }
        }
        add_row(rows, i, total, state.w);
        return true;
    }
};

}  // namespace rankloop
