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

enum class Side : std::uint8_t { item, user, request };

class View {
public:
    // `numbers`: of the request, by number of the field; missing if it has none
    View(const Fold& fold, std::vector<Hash> ids, const Context& context, std::vector<double> numbers)
        : fold_(&fold),
          ids_(std::move(ids)),
          request_categories_(context.fields),
          request_numbers_(std::move(numbers)) {
        rows_.reserve(ids_.size());
        for (const Hash id : ids_) rows_.push_back(fold.items.find(id));
        user_row_ = context.user ? fold.users.find(context.user) : nowhere;
        for (const Slot& slot : fold.slots()) slots_.push_back(fold.slot_values(slot, ids_, rows_, context));
    }

    const Fold& fold() const { return *fold_; }
    std::size_t size() const { return ids_.size(); }

    std::size_t numbers() const { return request_numbers_.size(); }

    // How many items have no fields.
    std::size_t count_unknown() const {
        return static_cast<std::size_t>(std::count(rows_.begin(), rows_.end(), nowhere));
    }

    const Column& column(Side side, std::size_t field) const {
        return (side == Side::user ? fold_->users : fold_->items).columns[field];
    }

    std::uint32_t row(Side side, std::size_t i) const { return side == Side::user ? user_row_ : rows_[i]; }

    double number(Side side, std::size_t field, std::size_t i) const {
        if (side == Side::request) return request_numbers_[field];
        const std::uint32_t r = row(side, i);
        return r == nowhere ? missing_value : column(side, field).numbers[r];
    }

    double code(Side side, std::size_t field, std::uint32_t limit, std::uint32_t buckets, std::size_t i) const {
        const Words& words = side == Side::request ? fold_->request_words[field] : column(side, field).words;
        std::uint32_t code = nowhere;
        if (side == Side::request) {
            if (request_categories_[field]) code = words.find(request_categories_[field]);
        } else if (row(side, i) != nowhere) {
            code = column(side, field).codes[row(side, i)];
        }
        return code == nowhere ? missing_value : static_cast<double>(words.shown(code, limit, buckets));
    }

    // How many categories, or terms, an item has.
    double length(Side side, std::size_t field, std::size_t i) const {
        const auto& lists = column(side, field).lists;
        const std::uint32_t r = row(side, i);
        return r == nowhere || !lists.has(r) ? missing_value : static_cast<double>(lists.get(r).size());
    }

    void vectors(Side side, std::size_t field, float* out) const {
        const Column& c = column(side, field);
        const std::size_t d = c.spec.size;
        for (std::size_t i = 0; i < size(); ++i) {
            const std::uint32_t r = row(side, i);
            if (r == nowhere)
                std::fill_n(out + i * d, d, static_cast<float>(missing_value));
            else
                std::copy_n(c.vectors.begin() + static_cast<std::ptrdiff_t>(r * d), d, out + i * d);
        }
    }

    // Calls sum(sums) for each key of an item, and returns how many there are.
    template <typename Sum>
    std::size_t each_sum(const Counter& counter, std::size_t item, std::int64_t at, Sum sum) const {
        return Fold::each_key(counter, slots_, item, [&](Hash key, const Hash*) { sum(counter.read(key, at)); });
    }

    // Whether all items have the same keys.
    bool is_single(const Counter& counter) const {
        return std::all_of(counter.recipe.slots.begin(), counter.recipe.slots.end(),
                           [&](std::uint32_t slot) { return slots_[slot].is_single; });
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
    std::vector<Hash> ids_, request_categories_;
    std::vector<double> request_numbers_;
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
