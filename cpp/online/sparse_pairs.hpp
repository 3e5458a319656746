// SOLAR-I on sparse rows, in the space of documents: products of documents cost what their nonzeros cost, and all
// that follows is as with dense rows.
#pragma once

#include <optional>

#include "online/pairs.hpp"

namespace rankloop {

// One row spread over the columns of its query, to be multiplied by others.
class SpreadRow {
public:
    void set(const LocalRows& rows, std::size_t i) {
        values_.resize(std::max(values_.size(), rows.d()));
        rows.each(i, [&](std::size_t place, float value) { values_[place] = value; });
    }
    void clear(const LocalRows& rows, std::size_t i) {
        rows.each(i, [&](std::size_t place, float) { values_[place] = 0; });
    }
    double dot(const LocalRows& rows, std::size_t i) const {
        double sum = 0;
        rows.each(i, [&](std::size_t place, float value) { sum += static_cast<double>(value) * values_[place]; });
        return sum;
    }
    float operator[](std::size_t place) const { return values_[place]; }

private:
    std::vector<float> values_;  // 0 but for the row
};

// The judged documents of one query, in levels order. Products are of rows moved so that the first is at 0, found in
// double from those of the rows as they are: moving the rows themselves would fill their zeros.
struct SparseOrderedQuery {
    const LocalRows* rows = nullptr;
    Levels levels;
    std::vector<float> weights;
    std::vector<double> to_first;  // products with the first document
    std::size_t n = 0;
    mutable SpreadRow spread;
    struct Entry {
        std::uint32_t document;
        float value;
    };
    std::vector<Entry> entries;     // column by column
    std::vector<std::size_t> ends;  // of each column
    std::vector<double> products;

    std::size_t document(std::size_t p) const { return levels.documents[p]; }

    bool gather(const SparseQueryRows& query) {
        rows = query.x;
        levels.gather(query.y, query.m);
        n = levels.judged();
        if (levels.count() < 2) return false;
        weights.resize(n);
        const double root = std::sqrt(query.weight);
        for (std::size_t p = 0; p < n; ++p) weights[p] = static_cast<float>(root * query.weight_of(document(p)));
        return true;
    }

    // All products, column by column: only documents that share one meet.
    void multiply_all(float* gram, std::size_t stride) {
        gather_columns();
        products.assign(n * n, 0.0), to_first.resize(n);
        for (std::size_t c = 0, first = 0; c < rows->d(); first = ends[c++]) {
            for (std::size_t a = first; a < ends[c]; ++a) {
                double* const row = products.data() + entries[a].document * n;
                for (std::size_t b = a; b < ends[c]; ++b)
                    row[entries[b].document] += static_cast<double>(entries[a].value) * entries[b].value;
            }
        }
        std::copy_n(products.data(), n, to_first.data());
        for (std::size_t p = 0; p < n; ++p) {
            for (std::size_t q = p; q < n; ++q)
                gram[p * stride + q] = gram[q * stride + p] = moved(products[p * n + q], p, q);
        }
    }

    // What products of some of them need.
    void multiply_by_first() {
        to_first.resize(n);
        spread.set(*rows, document(0));
        for (std::size_t p = 0; p < n; ++p) to_first[p] = spread.dot(*rows, document(p));
        spread.clear(*rows, document(0));
    }

    void multiply(Products<float>&, std::size_t p, std::size_t some, std::size_t q, std::size_t others, std::size_t,
                  View<float> out) const {
        for (std::size_t i = 0; i < some; ++i) {
            spread.set(*rows, document(p + i));
            for (std::size_t k = 0; k < others; ++k)
                out(i, k) = moved(spread.dot(*rows, document(q + k)), p + i, q + k);
            spread.clear(*rows, document(p + i));
        }
    }
    void score(std::size_t p, std::size_t some, std::size_t, const float* w, float* s) const {
        for (std::size_t i = 0; i < some; ++i) {
            double sum = 0;
            rows->each(document(p + i),
                       [&](std::size_t place, float value) { sum += static_cast<double>(value) * w[place]; });
            s[i] = static_cast<float>(std::clamp<double>(sum, -largest, largest));
        }
    }
    // Steps add up to 0 but for rounding; the first document takes what is left, so that a place far from 0 does no
    // harm.
    void move(std::size_t p, std::size_t some, std::size_t, const double* steps, double* w) const {
        double rest = 0;
        for (std::size_t i = 0; i < some; ++i) {
            if (steps[i] == 0) continue;
            rows->add_row(document(p + i), steps[i], w);
            rest -= steps[i];
        }
        if (rest != 0) rows->add_row(document(0), rest, w);
    }

private:
    float moved(double product, std::size_t p, std::size_t q) const {
        return static_cast<float>((product - to_first[p]) - (to_first[q] - to_first[0]));
    }

    void gather_columns() {
        ends.assign(rows->d() + 1, 0);
        for (std::size_t p = 0; p < n; ++p)
            rows->each(document(p), [&](std::size_t place, float) { ++ends[place + 1]; });
        for (std::size_t c = 0; c < rows->d(); ++c) ends[c + 1] += ends[c];
        entries.resize(ends[rows->d()]);
        for (std::size_t p = 0; p < n; ++p) {  // where a column starts becomes where it ends
            rows->each(document(p), [&](std::size_t place, float value) {
                entries[ends[place]++] = {static_cast<std::uint32_t>(p), value};
            });
        }
    }
};

template <typename Rule>
class SparsePairStep {
public:
    struct Query {
        SparseOrderedQuery ordered;
        Lines gram;
        std::size_t stride = 0;
    };

    static constexpr bool takes_sparse = true;

    explicit SparsePairStep(Rule rule) : rule_(rule) {}

    void prepare(const SparseQueryRows& rows, Query& query) const {
        if (!query.ordered.gather(rows)) return;
        if (query.ordered.n > long_list) return query.ordered.multiply_by_first();
        query.stride = column_stride(query.ordered.n);
        query.gram.assign(query.stride * query.stride, 0.0f);
        query.ordered.multiply_all(query.gram.data(), query.stride);
    }

    bool operator()(const SparseQueryRows&, Query& query, const float* s, LinearState& state) {
        const SparseOrderedQuery& ordered = query.ordered;
        const std::size_t n = ordered.n, stride = query.stride;
        if (ordered.levels.count() < 2) return false;
        if (n > long_list) return (tiles_ ? *tiles_ : tiles_.emplace()).run(ordered, state.d, rule_, state.w);
        scores_.assign(stride, 0.0f), scratch_.resize(2 * stride), moves_.assign(stride, 0.0f);
        for (std::size_t p = 0; p < n; ++p) scores_[p] = s[ordered.document(p)];
        if (!run_gram(ordered.levels,
                      {query.gram.data(), n, stride, ordered.weights.data(), scores_.data(), moves_.data(),
                       scratch_.data(), scratch_.data() + stride},
                      rule_))
            return false;
        steps_.assign(moves_.begin(), moves_.begin() + static_cast<std::ptrdiff_t>(n));
        ordered.move(0, n, state.d, steps_.data(), state.w);
        return true;
    }

private:
    Rule rule_;
    std::optional<PairTiles<SparseOrderedQuery, Rule>> tiles_;
    std::vector<double> steps_;
    Lines scores_, scratch_, moves_;
};

// SOLAR-II with a diagonal covariance, pair after pair at the cost of their nonzeros; variances are of all features.
class SparseDiagonalStep {
public:
    static constexpr bool takes_sparse = true;

    SparseDiagonalStep(double gamma, double* variance) : gamma_(gamma), variance_(variance) {}

    bool operator()(const SparseQueryRows& rows, const float*, LinearState& state) {
        if (!query_.gather(rows)) return false;
        const LocalRows& x = *rows.x;
        const Levels& levels = query_.levels;
        met_.assign(x.d(), 0), pair_ = 0;
        bool any = false;
        for (std::size_t level = 0; level + 1 < levels.count(); ++level) {
            for (std::size_t p = levels.starts[level]; p < levels.starts[level + 1]; ++p) {
                query_.spread.set(x, query_.document(p));
                for (std::size_t q = levels.starts[level + 1]; q < query_.n; ++q) any |= learn(p, q, state.w);
                query_.spread.clear(x, query_.document(p));
            }
        }
        return any;
    }

private:
    struct Delta {
        std::uint32_t place;
        double delta;
    };

    double gamma_;
    double* variance_;
    SparseOrderedQuery query_;
    std::vector<Delta> deltas_;
    std::vector<std::uint32_t> met_;  // by column: the last pair whose worse document has it
    std::uint32_t pair_ = 0;

    // x_p - x_q, where it is not 0: columns of q first, then those of p alone.
    void find_deltas(std::size_t p, std::size_t q) {
        const LocalRows& x = *query_.rows;
        deltas_.clear();
        if (++pair_ == 0) met_.assign(met_.size(), 0), pair_ = 1;
        x.each(query_.document(q), [&](std::uint32_t place, float value) {
            met_[place] = pair_;
            deltas_.push_back({place, static_cast<double>(query_.spread[place]) - value});
        });
        x.each(query_.document(p), [&](std::uint32_t place, float value) {
            if (met_[place] != pair_) deltas_.push_back({place, value});
        });
    }

    bool learn(std::size_t p, std::size_t q, double* w) {
        find_deltas(p, q);
        const std::uint32_t* const columns = query_.rows->columns.data();
        double margin = 0, spread = 0;
        for (const auto [place, delta] : deltas_)
            margin += w[place] * delta, spread += variance_[columns[place]] * delta * delta;
        if (!(margin < 1)) return false;
        const double beta = spread + gamma_ / (static_cast<double>(query_.weights[p]) * query_.weights[q]),
                     by = (1 - margin) / beta;
        for (const auto [place, delta] : deltas_) {
            double& variance = variance_[columns[place]];
            const double moved = variance * delta, left = variance - moved * moved / beta;
            w[place] += by * moved;
            variance = left > 0 ? left : 0;
        }
        return true;
    }
};

}  // namespace rankloop
