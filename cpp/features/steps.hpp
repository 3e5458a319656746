// The features that are read from columns and counters, for all items of a request, without an object each.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "features/view.hpp"
#include "linalg/math.hpp"

namespace rankloop::features {

enum class Operation : std::uint8_t { number, age, code, flags, length, ratio, count, since, affinity };

// One feature. `place`: its first column; `from`: a field, or a counter.
struct Step {
    Operation operation;
    std::size_t place;
    Side side;
    std::uint32_t from;
    std::uint32_t overall = 0;             // affinity: the counter of all categories
    std::uint32_t limit = 0, buckets = 1;  // of categories
    double prior = 0;

    std::size_t width() const { return operation == Operation::flags ? std::size_t{limit} + buckets : 1; }
};

// (n + prior r) / (m + prior)
struct Shrink {
    double prior, towards;

    double operator()(const Sums& sums) const {
        if (prior > 0) return (sums.n + prior * towards) / (sums.m + prior);
        return sums.m > 0 ? sums.n / sums.m : missing_value;
    }
};

class Filler {
public:
    Filler(const View& view, std::int64_t at, float* out, std::size_t width)
        : view_(view),
          at_(at),
          out_(out),
          width_(width) {}

    void fill(const Step& step) const {
        const auto at = static_cast<double>(at_);
        const auto read = [&](std::size_t i) { return view_.number(step.side, step.from, i); };
        switch (step.operation) {
            case Operation::number:
                return each(step, read);
            case Operation::age:
                return each(step, [&](std::size_t i) { return (at - read(i)) / 86'400'000.0; });
            case Operation::code:
                return each(
                    step, [&](std::size_t i) { return view_.code(step.side, step.from, step.limit, step.buckets, i); });
            case Operation::flags:
                return flags(step);
            case Operation::length:
                return each(step, [&](std::size_t i) { return view_.length(step.side, step.from, i); });
            case Operation::ratio:
                return mean(step, Shrink{step.prior, usual(step.from)});
            case Operation::count:
                return mean(step, [](const Sums& sums) { return sums.n; });
            case Operation::since:
                return mean(step, [&](const Sums& sums) { return math::log1p(std::max(at - sums.n, 0.0) / 1000); });
            case Operation::affinity:
                return affinity(step);
        }
    }

private:
    // What is missing has the same bits everywhere.
    void set(std::size_t i, std::size_t column, double value) const {
        out_[i * width_ + column] = static_cast<float>(std::isnan(value) ? missing_value : value);
    }

    template <typename Value>
    void each(const Step& step, Value value) const {
        for (std::size_t i = 0; i < view_.size(); ++i) set(i, step.place, value(i));
    }

    // 1 in the column of each category that an item has; a row without a list is missing.
    void flags(const Step& step) const {
        const Column& c = view_.column(step.side, step.from);
        for (std::size_t i = 0; i < view_.size(); ++i) {
            const std::uint32_t row = view_.row(step.side, i);
            const bool known = row != nowhere && c.lists.has(row);
            float* const first = out_ + i * width_ + step.place;
            std::fill_n(first, step.width(), known ? 0.0f : static_cast<float>(missing_value));
            if (!known) continue;
            for (const std::uint32_t code : c.lists.get(row)) first[c.words.shown(code, step.limit, step.buckets)] = 1;
        }
    }

    // The ratio over all keys; missing before the first event.
    double usual(std::uint32_t counter) const {
        const Sums total = view_.fold().counters[counter].total(at_);
        return total.m > 0 ? total.n / total.m : missing_value;
    }

    // The mean of the values of an item's keys; missing if it has none.
    template <typename Value>
    double mean_of(const Counter& counter, std::size_t i, Value value) const {
        double sum = 0;
        const std::size_t keys = view_.each_sum(counter, i, at_, [&](const Sums& sums) { sum += value(sums); });
        return keys == 0 ? missing_value : sum / static_cast<double>(keys);
    }

    template <typename Value>
    void mean(const Step& step, Value value) const {
        const Counter& counter = view_.fold().counters[step.from];
        if (!view_.is_single(counter)) return each(step, [&](std::size_t i) { return mean_of(counter, i, value); });
        const double all = view_.size() ? mean_of(counter, 0, value) : missing_value;
        each(step, [&](std::size_t) { return all; });
    }

    // How much more a user likes the categories of an item than others; all items have the same user.
    void affinity(const Step& step) const {
        if (view_.size() == 0) return;
        const Counter& overall = view_.fold().counters[step.overall];
        const double own = mean_of(overall, 0, Shrink{step.prior, usual(step.overall)});
        mean(step, [&, liking = Shrink{step.prior, own}](const Sums& sums) { return liking(sums) - own; });
    }

    const View& view_;
    std::int64_t at_;
    float* out_;
    std::size_t width_;
};

}  // namespace rankloop::features
