// Counters: sums by key that lose weight with time, and the least recently changed key goes when there are too many.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "features/hash.hpp"
#include "features/index.hpp"
#include "features/parts.hpp"
#include "linalg/math.hpp"

namespace rankloop::features {

// Times are milliseconds since 1970, and numbers that a double holds exactly: no sum of two is too large.
inline bool is_time(std::int64_t at) {
    constexpr std::int64_t last = std::int64_t{1} << 53;
    return -last <= at && at <= last;
}

enum class Weight : std::uint8_t { once, each, value, last };

struct Recipe {
    Hash event = 0, of = 0;            // types of events that add to n and to m; 0 for none
    std::vector<std::uint32_t> slots;  // the parts of the key
    Weight weight = Weight::each;
    std::int64_t half_life = 0, window = 0;  // milliseconds; 0 for none
};

struct Sums {
    double n, m;
};

class Counter {
    auto hash_of() const {
        return [this](std::uint32_t place) { return keys_[place]; };
    }

public:
    static constexpr std::int64_t buckets = 7;  // that a window has

    Counter(Recipe recipe, std::vector<std::uint32_t> personal, std::size_t max_keys)
        : recipe(std::move(recipe)),
          personal(std::move(personal)),
          max_keys_(max_keys) {
        sums_ = this->recipe.of ? 2 : 1;
        cells_ = this->recipe.window ? static_cast<std::size_t>(buckets) * sums_ : sums_;
        total_.assign(cells_, 0.0);
    }

    const Recipe recipe;
    const std::vector<std::uint32_t> personal;  // which of the slots are personal

    std::size_t size() const { return size_; }
    std::uint64_t evicted() const { return evicted_; }

    // Adds to a key and to the total. `owners`: the hashes of the personal parts of the key.
    void add(Hash key, const Hash* owners, double n, double m, std::int64_t at, Chain& chain) {
        std::uint32_t place = index_.find(key, hash_of());
        if (place == nowhere)
            place = insert(key, owners, at);
        else
            unlink(place);
        link(place);
        change(&values_[place * cells_], at_[place], n, m, at);
        change(total_.data(), total_at_, n, m, at);
        chain.add(key);
        chain.add(values_[place * cells_]);
        chain.add(total_[0]);
        chain.add(static_cast<Hash>(at_[place]));
        if (size_ > max_keys_) {
            remove(oldest_);
            ++evicted_;
        }
    }

    Sums read(Hash key, std::int64_t at) const {
        if (key == 0) return {missing, missing};
        const std::uint32_t place = index_.find(key, hash_of());
        if (place == nowhere) return recipe.weight == Weight::last ? Sums{missing, missing} : Sums{0, 0};
        return value(&values_[place * cells_], at_[place], at);
    }

    Sums total(std::int64_t at) const { return value(total_.data(), total_at_, at); }

    // Removes the keys that one of the hashes is a part of.
    void forget(const std::vector<Hash>& sorted, Chain& chain) {
        const std::size_t p = personal.size();
        if (p == 0) return;
        for (std::uint32_t place = newest_, older; place != nowhere; place = older) {
            older = older_[place];
            for (std::size_t k = 0; k < p; ++k)
                if (std::binary_search(sorted.begin(), sorted.end(), owners_[place * p + k])) {
                    chain.add(keys_[place]);
                    remove(place);
                    break;
                }
        }
    }

    void write(Writer& out) const {
        out.put<std::uint64_t>(size_);
        const std::size_t p = personal.size();
        for (std::uint32_t place = oldest_; place != nowhere; place = newer_[place]) {
            out.put(keys_[place]);
            out.put(at_[place]);
            for (std::size_t k = 0; k < p; ++k) out.put(owners_[place * p + k]);
            for (std::size_t k = 0; k < cells_; ++k) out.put(values_[place * cells_ + k]);
        }
        out.put_all(total_);
        out.put(total_at_);
        out.put(evicted_);
    }

    // Into a counter without keys.
    void read(Reader& in) {
        const auto n = in.get<std::uint64_t>();
        std::vector<Hash> owners(personal.size());
        for (std::uint64_t i = 0; i < n; ++i) {
            const auto key = in.get<Hash>();
            const auto at = in.get<std::int64_t>();
            for (Hash& owner : owners) owner = in.get<Hash>();
            if (index_.find(key, hash_of()) != nowhere || !is_time(at)) Reader::damaged();
            const std::uint32_t place = insert(key, owners.data(), at);
            link(place);
            for (std::size_t k = 0; k < cells_; ++k) values_[place * cells_ + k] = in.get<double>();
        }
        total_ = in.get_all<double>();
        total_at_ = in.get<std::int64_t>();
        if (total_.size() != cells_ || !is_time(total_at_)) Reader::damaged();
        evicted_ = in.get<std::uint64_t>();
    }

    std::size_t bytes() const {
        return keys_.capacity() * (sizeof(Hash) * (1 + personal.size()) + 16 + cells_ * sizeof(double)) +
               index_.bytes();
    }

private:
    static constexpr double missing = std::numeric_limits<double>::quiet_NaN();

    double decay(std::int64_t elapsed) const {
        if (recipe.half_life == 0 || elapsed <= 0) return 1;
        return math::exp2(-static_cast<double>(elapsed) / static_cast<double>(recipe.half_life));
    }

    std::int64_t bucket(std::int64_t at) const {
        const std::int64_t width = std::max<std::int64_t>(1, recipe.window / buckets);
        return at >= 0 ? at / width : -1 - (-1 - at) / width;
    }

    // n <- n 2^(-elapsed / half_life) + what is added; an event from the past counts when it arrives.
    void change(double* values, std::int64_t& since, double n, double m, std::int64_t at) const {
        if (recipe.weight == Weight::last) {
            values[0] = std::max(values[0], static_cast<double>(at));
        } else if (recipe.window) {
            const std::int64_t last = bucket(since), now = std::max(last, bucket(at));
            for (std::int64_t b = std::max(last + 1, now - buckets + 1); b <= now; ++b)
                for (std::size_t s = 0; s < sums_; ++s) values[cell(b) * sums_ + s] = 0;
            values[cell(now) * sums_] += n;
            if (sums_ == 2) values[cell(now) * sums_ + 1] += m;
        } else {
            const double factor = decay(at - since);
            values[0] = values[0] * factor + n;
            if (sums_ == 2) values[1] = values[1] * factor + m;
        }
        since = std::max(since, at);
    }

    Sums value(const double* values, std::int64_t since, std::int64_t at) const {
        if (recipe.weight == Weight::last) return {values[0], 0};
        if (recipe.window) {
            Sums sums{0, 0};
            const std::int64_t last = bucket(since), now = std::max(last, bucket(at));
            for (std::int64_t b = now - buckets + 1; b <= last; ++b) {
                sums.n += values[cell(b) * sums_];
                if (sums_ == 2) sums.m += values[cell(b) * sums_ + 1];
            }
            return sums;
        }
        const double factor = decay(at - since);
        return {values[0] * factor, sums_ == 2 ? values[1] * factor : 0};
    }

    static std::size_t cell(std::int64_t b) { return static_cast<std::size_t>(((b % buckets) + buckets) % buckets); }

    std::uint32_t insert(Hash key, const Hash* owners, std::int64_t at) {
        std::uint32_t place;
        if (free_ != nowhere) {
            place = free_;
            free_ = older_[place];
        } else {
            place = static_cast<std::uint32_t>(keys_.size());
            keys_.push_back(0);
            at_.push_back(0);
            older_.push_back(nowhere);
            newer_.push_back(nowhere);
            owners_.resize(owners_.size() + personal.size());
            values_.resize(values_.size() + cells_);
        }
        keys_[place] = key;
        at_[place] = at;
        std::copy_n(owners, personal.size(), owners_.begin() + static_cast<std::ptrdiff_t>(place * personal.size()));
        std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(place * cells_), cells_,
                    recipe.weight == Weight::last ? -std::numeric_limits<double>::infinity() : 0.0);
        index_.add(key, place, hash_of());
        ++size_;
        return place;
    }

    void remove(std::uint32_t place) {
        unlink(place);
        index_.remove(keys_[place], hash_of());
        older_[place] = free_;
        free_ = place;
        --size_;
    }

    // Keys stand in a list from the oldest to the newest change.
    void link(std::uint32_t place) {
        older_[place] = newest_;
        newer_[place] = nowhere;
        (newest_ == nowhere ? oldest_ : newer_[newest_]) = place;
        newest_ = place;
    }

    void unlink(std::uint32_t place) {
        const std::uint32_t older = older_[place], newer = newer_[place];
        (older == nowhere ? oldest_ : newer_[older]) = newer;
        (newer == nowhere ? newest_ : older_[newer]) = older;
    }

    std::size_t max_keys_, sums_ = 1, cells_ = 1, size_ = 0;
    std::vector<Hash> keys_, owners_;
    std::vector<std::int64_t> at_;
    std::vector<std::uint32_t> older_, newer_;
    std::vector<double> values_, total_;
    std::int64_t total_at_ = 0;
    std::uint32_t oldest_ = nowhere, newest_ = nowhere, free_ = nowhere;
    std::uint64_t evicted_ = 0;
    Index index_;
};

}  // namespace rankloop::features
