// What a document counts in the target of a softmax cross entropy. Online, batch and boosted rankers all ask here.
#pragma once

#include "linalg/math.hpp"

namespace rankloop {

enum class Targets { grades, gains };  // e^y (ListNet); 2^y - gamma (XE_NDCG)

// All are divided by e^top or 2^top, top the highest grade of the query, so that no grade overflows.
class TargetGain {
public:
    TargetGain(Targets kind, double gamma, double top) : kind_(kind), top_(top), gamma_(gamma * math::exp2(-top)) {}

    double operator()(double y) const {
        return kind_ == Targets::grades ? math::exp(y - top_) : math::exp2(y - top_) - gamma_;
    }

private:
    Targets kind_;
    double top_, gamma_;
};

}  // namespace rankloop
