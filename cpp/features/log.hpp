// The fold over a log: rankings as they were shown, and what was done with their items, each event once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "features/event_lines.hpp"
#include "features/fold.hpp"

namespace rankloop::features {

// One number an event: the row of its item among all that were shown, the number of its type, and its value.
struct Feedback {
    std::vector<std::int64_t> rows;
    std::vector<std::int32_t> types;
    std::vector<double> values;
};

class Log {
public:
    Feedback feedback;
    std::vector<std::string> types;
    std::int64_t duplicates = 0, strays = 0;

    // Whether a ranking is new.
    bool is_new(Hash ranking) const { return !place_.contains(ranking); }

    // Takes a ranking whose items were counted by Fold::show; events that came before it count now.
    void show(Fold& fold, Hash ranking, const std::vector<Hash>& items, const Context& nobody, std::int64_t at) {
        place_.emplace(ranking, static_cast<std::uint32_t>(starts_.size()));
        starts_.push_back(items_.size());
        items_.insert(items_.end(), items.begin(), items.end());
        const auto early = waiting_.find(ranking);
        if (early == waiting_.end()) return;
        for (const Interaction& event : early->second) count(fold, event, nobody, at);
        n_waiting_ -= early->second.size();
        waiting_.erase(early);
    }

    // Takes an event about an item of a ranking. `context` is used where the ranking is too old to be known.
    void observe(Fold& fold, const Interaction& event, const Context& context) {
        if (event.id && seen_.contains(event.id)) {
            ++duplicates;
        } else if (event.ranking && is_new(event.ranking)) {
            waiting_[event.ranking].push_back(event);
            ++n_waiting_;
            if (event.id) seen_.insert(event.id);
        } else if (count(fold, event, context, event.at) && event.id) {
            seen_.insert(event.id);
        }
    }

    // Events whose ranking never came.
    std::size_t waiting() const { return n_waiting_; }

    std::uint32_t type_of(const std::string& name) {
        const auto known = std::find(types.begin(), types.end(), name);
        if (known != types.end()) return static_cast<std::uint32_t>(known - types.begin());
        types.push_back(name);
        return static_cast<std::uint32_t>(types.size() - 1);
    }

private:
    // False for an item that the ranking did not show.
    bool count(Fold& fold, const Interaction& event, const Context& context, std::int64_t at) {
        if (event.ranking) {
            const std::uint32_t k = place_.at(event.ranking);
            const auto first = items_.begin() + static_cast<std::ptrdiff_t>(starts_[k]);
            const auto last =
                k + 1 < starts_.size() ? items_.begin() + static_cast<std::ptrdiff_t>(starts_[k + 1]) : items_.end();
            const auto shown = std::find(first, last, event.item);
            if (shown == last) {
                ++strays;
                return false;
            }
            feedback.rows.push_back(shown - items_.begin());
            feedback.types.push_back(static_cast<std::int32_t>(event.type));
            feedback.values.push_back(event.value);
        }
        if (!follows_from_rankings(event.event))
            fold.observe(event.ranking, event.item, event.event, event.value, context, at);
        return true;
    }

    static bool follows_from_rankings(Hash event) {
        static const Hash impression = hash_text("impression"), examination = hash_text("examination");
        return event == impression || event == examination;
    }

    std::unordered_map<Hash, std::uint32_t> place_;
    std::vector<std::size_t> starts_;  // of the items of each ranking
    std::vector<Hash> items_;
    std::unordered_set<Hash> seen_;
    std::unordered_map<Hash, std::vector<Interaction>> waiting_;
    std::size_t n_waiting_ = 0;
};

}  // namespace rankloop::features
