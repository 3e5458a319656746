// The rankings that events may still come for: who asked, what was shown and what was counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "features/hash.hpp"
#include "features/index.hpp"
#include "features/parts.hpp"

namespace rankloop::features {

// The personal and other parts of keys that a request has; 0 if it has none.
struct Context {
    Hash user = 0, session = 0, query = 0;
    std::vector<Hash> fields;  // of the request: the category, by number of the field
};

// A few hashes, each once.
class HashSet {
public:
    bool add(Hash hash) {
        if (std::find(values.begin(), values.end(), hash) != values.end()) return false;
        values.push_back(hash);
        return true;
    }
    std::vector<Hash> values;
};

struct Shown {
    Context context;
    HashSet items, events;
};

// A ring: the oldest ranking makes room for a new one.
class Rankings {
    auto hash_of() const {
        return [this](std::uint32_t place) { return ids_[place - base_]; };
    }

public:
    explicit Rankings(std::size_t max_rankings) : max_(max_rankings) {}

    std::size_t size() const { return ids_.size() - first_; }

    Shown* find(Hash id) {
        const std::uint32_t place = index_.find(id, hash_of());
        return place == nowhere ? nullptr : &shown_[place - base_];
    }

    // The ranking of an id; a new one has shown nothing yet.
    Shown& open(Hash id, const Context& context, Chain& chain) {
        if (Shown* const known = find(id)) return *known;
        ids_.push_back(id);
        shown_.push_back({context, {}, {}});
        chain.add(id);
        chain.add(context.user);
        chain.add(context.session);
        chain.add(context.query);
        for (const Hash field : context.fields) chain.add(field);
        index_.add(id, base_ + static_cast<std::uint32_t>(ids_.size() - 1), hash_of());
        return shown_.back();
    }

    void trim() {
        while (size() > max_) {
            index_.remove(ids_[first_], hash_of());
            shown_[first_] = {};
            ++first_;
        }
        if (first_ > 1024 && first_ > ids_.size() / 2) pack();
    }

    // Drops the rankings of users, sessions or queries.
    void forget(const std::vector<Hash>& sorted) {
        const auto gone = [&](Hash hash) { return std::binary_search(sorted.begin(), sorted.end(), hash); };
        pack();
        std::size_t kept = 0;
        for (std::size_t i = 0; i < ids_.size(); ++i) {
            const Context& context = shown_[i].context;
            if (gone(context.user) || gone(context.session) || gone(context.query)) continue;
            ids_[kept] = ids_[i];
            if (kept != i) shown_[kept] = std::move(shown_[i]);
            ++kept;
        }
        ids_.resize(kept);
        shown_.resize(kept);
        build_index();
    }

    void write(Writer& out) const {
        out.put<std::uint64_t>(size());
        for (std::size_t i = first_; i < ids_.size(); ++i) {
            const Shown& shown = shown_[i];
            out.put(ids_[i]);
            out.put(shown.context.user);
            out.put(shown.context.session);
            out.put(shown.context.query);
            out.put_all(shown.context.fields);
            out.put_all(shown.items.values);
            out.put_all(shown.events.values);
        }
    }

    void read(Reader& in, std::size_t fields) {
        const auto n = in.get<std::uint64_t>();
        for (std::uint64_t i = 0; i < n; ++i) {
            const auto id = in.get<Hash>();
            if (find(id)) Reader::damaged();
            ids_.push_back(id);
            Shown& shown = shown_.emplace_back();
            shown.context.user = in.get<Hash>();
            shown.context.session = in.get<Hash>();
            shown.context.query = in.get<Hash>();
            shown.context.fields = in.get_all<Hash>();
            if (shown.context.fields.size() != fields) Reader::damaged();
            shown.items.values = in.get_all<Hash>();
            shown.events.values = in.get_all<Hash>();
            index_.add(id, base_ + static_cast<std::uint32_t>(ids_.size() - 1), hash_of());
        }
    }

private:
    void pack() {
        ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(first_));
        shown_.erase(shown_.begin(), shown_.begin() + static_cast<std::ptrdiff_t>(first_));
        base_ += static_cast<std::uint32_t>(first_);
        first_ = 0;
        if (base_ > 0x7fffffff) build_index();
    }

    void build_index() {
        index_ = {};
        base_ = 0;
        for (std::size_t i = first_; i < ids_.size(); ++i)
            index_.add(ids_[i], static_cast<std::uint32_t>(i), hash_of());
    }

    std::size_t max_, first_ = 0;
    std::uint32_t base_ = 0;  // the place of the first one in the lists
    std::vector<Hash> ids_;
    std::vector<Shown> shown_;
    Index index_;
};

}  // namespace rankloop::features
