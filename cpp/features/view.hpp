// What features read: the items of a request beside the state before it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "features/fold.hpp"
#include "linalg/math.hpp"

namespace rankloop::features {

inline constexpr double missing_value = std::numeric_limits<double>::quiet_NaN();

enum class Match : std::uint8_t { terms, ngrams, bm25 };

class View {
public:
    View(const Fold& fold, std::vector<Hash> ids, const Context& context) : fold_(&fold), ids_(std::move(ids)) {
        rows_.reserve(ids_.size());
        for (const Hash id : ids_) rows_.push_back(fold.items.find(id));
        user_row_ = context.user ? fold.users.find(context.user) : nowhere;
        for (const Slot& slot : fold.slots()) slots_.push_back(fold.slot_values(slot, ids_, rows_, context));
    }

    const Fold& fold() const { return *fold_; }
    std::size_t size() const { return ids_.size(); }

    const Column& column(bool users, std::size_t field) const {
        return (users ? fold_->users : fold_->items).columns[field];
    }

    std::uint32_t row(bool users, std::size_t i) const { return users ? user_row_ : rows_[i]; }

    void numbers(bool users, std::size_t field, double* out) const {
        const Column& c = column(users, field);
        for (std::size_t i = 0; i < size(); ++i) {
            const std::uint32_t r = row(users, i);
            out[i] = r == nowhere ? missing_value : c.numbers[r];
        }
    }

    void codes(bool users, std::size_t field, std::uint32_t limit, std::uint32_t buckets, float* out) const {
        const Column& c = column(users, field);
        for (std::size_t i = 0; i < size(); ++i) {
            const std::uint32_t r = row(users, i), code = r == nowhere ? nowhere : c.codes[r];
            out[i] = static_cast<float>(code == nowhere ? missing_value
                                                        : static_cast<double>(c.words.shown(code, limit, buckets)));
        }
    }

    // 1 in the column of each category that an item has; a row without a list is missing.
    void flags(bool users, std::size_t field, std::uint32_t limit, std::uint32_t buckets, float* out) const {
        const Column& c = column(users, field);
        const std::size_t width = std::size_t{limit} + buckets;
        for (std::size_t i = 0; i < size(); ++i) {
            const std::uint32_t r = row(users, i);
            const bool known = r != nowhere && c.lists.has(r);
            std::fill_n(out + i * width, width, known ? 0.0f : static_cast<float>(missing_value));
            if (!known) continue;
            for (const std::uint32_t code : c.lists.get(r)) out[i * width + c.words.shown(code, limit, buckets)] = 1;
        }
    }

    // How many categories, or terms, an item has.
    void lengths(bool users, std::size_t field, double* out) const {
        const Column& c = column(users, field);
        for (std::size_t i = 0; i < size(); ++i) {
            const std::uint32_t r = row(users, i);
            out[i] = r == nowhere || !c.lists.has(r) ? missing_value : static_cast<double>(c.lists.get(r).size());
        }
    }

    void vectors(bool users, std::size_t field, float* out) const {
        const Column& c = column(users, field);
        const std::size_t d = c.spec.size;
        for (std::size_t i = 0; i < size(); ++i) {
            const std::uint32_t r = row(users, i);
            if (r == nowhere)
                std::fill_n(out + i * d, d, static_cast<float>(missing_value));
            else
                std::copy_n(c.vectors.begin() + static_cast<std::ptrdiff_t>(r * d), d, out + i * d);
        }
    }

    // The sums of all keys, in the order of the items; an item without a key has one value that is missing.
    void counts(std::size_t number, std::int64_t at, std::vector<double>& n, std::vector<double>& m,
                std::vector<std::int64_t>& offsets) const {
        const Counter& counter = fold_->counters[number];
        offsets.push_back(0);
        for (std::size_t i = 0; i < size(); ++i) {
            const std::size_t keys = Fold::each_key(counter, slots_, i, [&](Hash key, const Hash*) {
                const Sums sums = counter.read(key, at);
                n.push_back(sums.n);
                m.push_back(sums.m);
            });
            if (keys == 0) {
                n.push_back(missing_value);
                m.push_back(missing_value);
            }
            offsets.push_back(static_cast<std::int64_t>(n.size()));
        }
    }

    bool has_list(std::size_t number) const {
        for (const std::uint32_t s : fold_->counters[number].recipe.slots)
            if (is_list(s)) return true;
        return false;
    }

    bool is_list(std::size_t slot) const { return !slots_[slot].offsets.empty(); }

    // The hash of one part of the keys for each item, no list; 0 if missing. For crosses.
    void parts(std::size_t slot, Hash* out) const {
        const SlotValues& s = slots_[slot];
        for (std::size_t i = 0; i < size(); ++i) out[i] = s.values[s.is_single ? 0 : i];
    }

    void match(std::size_t field, std::string_view query, Match how, double* out) const {
        const Column& c = fold_->items.columns[field];
        std::vector<std::uint32_t> asked = how == Match::ngrams ? trigrams_of(query) : terms_of(query);
        std::sort(asked.begin(), asked.end());
        asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
        std::vector<double> idf;
        if (how == Match::bm25)
            for (const std::uint32_t term : asked) idf.push_back(rarity(c, term));
        for (std::size_t i = 0; i < size(); ++i) {
            const std::uint32_t r = rows_[i];
            if (r == nowhere || !c.texts.has(r) || asked.empty())
                out[i] = missing_value;
            else if (how == Match::bm25)
                out[i] = bm25(c, r, asked, idf);
            else
                out[i] = share(c, r, asked, how);
        }
    }

private:
    // log(1 + (N - df + 1/2) / (df + 1/2)), over the texts of the catalogue.
    static double rarity(const Column& c, std::uint32_t term) {
        const auto known = c.frequency.find(term);
        const double df = known == c.frequency.end() ? 0 : known->second, n = static_cast<double>(c.n_texts);
        return math::log(1 + (n - df + 0.5) / (df + 0.5));
    }

    // The sum over terms of idf tf (k + 1) / (tf + k (1 - b + b length / mean length)).
    static double bm25(const Column& c, std::uint32_t row, const std::vector<std::uint32_t>& asked,
                       const std::vector<double>& idf) {
        constexpr double k = 1.2, b = 0.75;
        const auto terms = c.lists.get(row);
        const double usual = static_cast<double>(c.n_terms) / static_cast<double>(c.n_texts);
        const double size = 1 - b + b * (usual > 0 ? static_cast<double>(terms.size()) / usual : 0);
        double sum = 0;
        for (std::size_t t = 0; t < asked.size(); ++t) {
            const auto tf = static_cast<double>(std::count(terms.begin(), terms.end(), asked[t]));
            if (tf > 0) sum += idf[t] * tf * (k + 1) / (tf + k * size);
        }
        return sum;
    }

    // The share of the query's terms, or of its groups of three characters, that a text has.
    static double share(const Column& c, std::uint32_t row, const std::vector<std::uint32_t>& asked, Match how) {
        const auto text = c.texts.get(row);
        std::vector<std::uint32_t> own;
        if (how == Match::ngrams) {
            own = trigrams_of({text.data(), text.size()});
        } else {
            own.assign(c.lists.get(row).begin(), c.lists.get(row).end());
            std::sort(own.begin(), own.end());
        }
        std::size_t shared = 0;
        for (const std::uint32_t term : asked) shared += std::binary_search(own.begin(), own.end(), term);
        return static_cast<double>(shared) / static_cast<double>(asked.size());
    }

    const Fold* fold_;
    std::vector<Hash> ids_;
    std::vector<std::uint32_t> rows_;
    std::uint32_t user_row_ = nowhere;
    std::vector<SlotValues> slots_;
};

// The cosine, dot product or Euclidean distance of each row of x with that of y, or with its only row. A vector of
// zeros has no direction: its cosine is missing.
enum class Likeness : std::uint8_t { cosine, dot, distance };

inline double likeness(const float* x, const float* y, std::size_t d, Likeness how) {
    double xy = 0, xx = 0, yy = 0, gap = 0;
    for (std::size_t k = 0; k < d; ++k) {
        const double a = x[k], b = y[k];
        xy += a * b;
        xx += a * a;
        yy += b * b;
        gap += (a - b) * (a - b);
    }
    if (how == Likeness::dot) return xy;
    if (how == Likeness::distance) return std::sqrt(gap);
    const double product = std::sqrt(xx) * std::sqrt(yy);
    return product > 0 ? xy / product : std::isnan(product) ? product : missing_value;
}

}  // namespace rankloop::features
