// Committee perceptron (Elsas, Carvalho, Carbonell): a pairwise perceptron that keeps the hypotheses
// that lasted longest, and ranks by their sum, each weighted by how many pairs it got right in a row.
#pragma once

#include "online/pairs.hpp"

namespace rankloop {

struct Committee {
    double* current;  // the perceptron's own weights
    double* members;  // n x d
    double* lasted;   // pairs in a row that each member got right; 0: an empty seat
    std::size_t n, d;
    std::int64_t streak;  // of the current hypothesis
};

struct CommitteeRule {
    Committee& c;

    bool violated(float margin, const float* w) const {
        if (margin > 0) {
            ++c.streak;
            return false;
        }
        double* const seat = std::min_element(c.lasted, c.lasted + c.n);
        if (static_cast<double>(c.streak) > *seat) {
            *seat = static_cast<double>(c.streak);
            double* const member = c.members + static_cast<std::size_t>(seat - c.lasted) * c.d;
            for (std::size_t j = 0; j < c.d; ++j) member[j] = w[j];
        }
        c.streak = 0;
        return true;
    }
    float step(float, float, float weight) const { return weight; }
};

RANKLOOP_CLONES inline bool committee_pairs(const OrderedQuery& q, std::size_t d, const CommitteeRule& rule, float* w,
                                            double* steps) {
    return pairs_in_features(q, d, rule, w, steps);
}

template <typename Query = OrderedQuery>  // which says in what order pairs come
class CommitteeStep {
public:
    CommitteeStep(Committee& committee, Influence influence) : c_(committee), influence_(influence) {}

    bool operator()(const QueryRows& rows, const float* s, LinearState& state) {
        const std::size_t d = state.d;
        if (!query_.gather(rows, s)) return false;
        steps_.assign(query_.n, 0.0), narrow_.resize(d);
        to_float(c_.current, d, narrow_.data());
        CommitteeRule rule{c_};
        const bool any = committee_pairs(query_, d, rule, narrow_.data(), steps_.data());
        if (any) {
            before_.assign(c_.current, c_.current + d);
            add_rows(query_.x.data(), query_.n, d, steps_.data(), c_.current);
            influence_.bound(std::sqrt(squared_distance(c_.current, before_.data(), d)), before_.data(), c_.current, d);
        }
        if (!all_finite(c_.current, d)) throw std::runtime_error("its update is not finite");
        vote(state.w);
        return any;
    }

private:
    Committee& c_;
    Influence influence_;
    Query query_;
    std::vector<double> steps_, before_;
    std::vector<float> narrow_;

    // The current hypothesis votes too, by how long it has lasted; alone, with weight 1.
    void vote(double* w) const {
        double total = static_cast<double>(c_.streak);
        for (std::size_t k = 0; k < c_.n; ++k) total += c_.lasted[k];
        const double own = total > 0 ? static_cast<double>(c_.streak) : 1;
        for (std::size_t j = 0; j < c_.d; ++j) w[j] = own * c_.current[j];
        for (std::size_t k = 0; k < c_.n; ++k) {
            for (std::size_t j = 0; j < c_.d; ++j) w[j] += c_.lasted[k] * c_.members[k * c_.d + j];
        }
        for (std::size_t j = 0; j < c_.d; ++j) w[j] /= std::max(total, 1.0);
    }
};

}  // namespace rankloop
