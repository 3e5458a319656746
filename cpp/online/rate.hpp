// Step sizes, and discounts of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "linalg/math.hpp"

namespace rankloop {

// The step size of round t (from 0): rate / (1 + t)^decay.
struct Rate {
    double rate, decay;
    double at(std::int64_t t) const {
        return decay == 0 ? rate : rate / math::pow(1.0 + static_cast<double>(t), decay);
    }
};

// Sums of 1/log2(1 + rank) over the first ranks.
class Discounts {
public:
    double sum(std::size_t n) {
        while (sums_.size() <= n)
            sums_.push_back(sums_.back() + 1 / math::log2(1.0 + static_cast<double>(sums_.size())));
        return sums_[n];
    }

private:
    std::vector<double> sums_ = {0.0};
};

}  // namespace rankloop
