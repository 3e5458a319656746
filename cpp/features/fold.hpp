// The state of live features: catalogues, counters and the rankings that were shown, changed one entry after the
// other. The same entries give the same bits on every machine.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "features/catalogue.hpp"
#include "features/counters.hpp"
#include "features/rankings.hpp"

namespace rankloop::features {

// Where a part of a key comes from.
enum class Source : std::uint8_t { item, item_field, user, session, query, user_field, request_field };

struct Slot {
    Source source;
    std::uint32_t field = 0;
};

inline bool is_personal(Source source) {
    return source == Source::user || source == Source::session || source == Source::query;
}

// The parts of keys for the items of a request: a hash for each item, or several where a field is a list. 0: missing.
struct SlotValues {
    std::vector<Hash> values;
    std::vector<std::uint32_t> offsets;  // of lists: where the values of each item begin
    bool is_single = false;              // one value for all items
};

class Fold {
public:
    Fold(const std::vector<FieldSpec>& items, const std::vector<FieldSpec>& users, std::size_t request_fields,
         std::vector<Slot> slots, const std::vector<Recipe>& recipes, std::vector<double> examination,
         std::size_t max_keys, std::size_t max_rankings)
        : items(items),
          users(users),
          request_words(request_fields),
          rankings(max_rankings),
          slots_(std::move(slots)),
          examination_(std::move(examination)) {
        for (const Recipe& recipe : recipes) {
            std::vector<std::uint32_t> personal;
            for (const std::uint32_t slot : recipe.slots)
                if (is_personal(slots_[slot].source)) personal.push_back(slot);
            counters.emplace_back(recipe, std::move(personal), max_keys);
        }
    }

    Catalogue items, users;
    std::vector<Words> request_words;
    std::vector<Counter> counters;
    Rankings rankings;
    Chain chain;

    const std::vector<Slot>& slots() const { return slots_; }

    SlotValues slot_values(const Slot& slot, const std::vector<Hash>& ids, const std::vector<std::uint32_t>& rows,
                           const Context& context) const {
        SlotValues out;
        switch (slot.source) {
            case Source::item:
                out.values = ids;
                break;
            case Source::item_field:
                field_values(items.columns[slot.field], rows, out);
                break;
            case Source::user_field:
                field_values(users.columns[slot.field], {context.user ? users.find(context.user) : nowhere}, out);
                out.is_single = true;
                break;
            default:
                out.is_single = true;
                out.values = {slot.source == Source::user      ? context.user
                              : slot.source == Source::session ? context.session
                              : slot.source == Source::query   ? context.query
                                                               : context.fields[slot.field]};
        }
        return out;
    }

    std::vector<SlotValues> all_slot_values(const std::vector<Hash>& ids, const Context& context) const {
        std::vector<std::uint32_t> rows;
        rows.reserve(ids.size());
        for (const Hash id : ids) rows.push_back(items.find(id));
        std::vector<SlotValues> all;
        for (const Slot& slot : slots_) all.push_back(slot_values(slot, ids, rows, context));
        return all;
    }

    // Calls key(hash, owners) for each key of an item, and returns how many there were: none if a part is missing.
    template <typename Key>
    static std::size_t each_key(const Counter& counter, const std::vector<SlotValues>& slots, std::size_t item,
                                Key key) {
        std::array<Hash, 4> owners{};
        std::size_t n_owners = 0, first = 0, last = 1;
        const SlotValues* list = nullptr;
        for (const std::uint32_t s : counter.recipe.slots) {
            const SlotValues& slot = slots[s];
            if (slot.offsets.empty()) {
                if (slot.values[slot.is_single ? 0 : item] == 0) return 0;
                continue;
            }
            const std::size_t i = slot.is_single ? 0 : item;
            list = &slot;
            first = slot.offsets[i];
            last = slot.offsets[i + 1];
        }
        for (const std::uint32_t s : counter.personal) owners[n_owners++] = slots[s].values[0];
        for (std::size_t k = first; k < last; ++k) {
            Hash hash = 0x452821e638d01377;
            for (const std::uint32_t s : counter.recipe.slots) {
                const SlotValues& slot = slots[s];
                hash = combine(hash, &slot == list ? slot.values[k] : slot.values[slot.is_single ? 0 : item]);
            }
            key(hash ? hash : 1, owners.data());
        }
        return last - first;
    }

    // Counts items that were shown, those once a ranking that were not shown before.
    void show(Hash ranking, const std::vector<Hash>& ids, const Context& context, std::int64_t at,
              std::size_t first_place) {
        Shown& shown = rankings.open(ranking, context, chain);
        std::vector<Hash> fresh;
        std::vector<double> seen;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (!shown.items.add(ids[i])) continue;
            const std::size_t place = first_place + i;
            fresh.push_back(ids[i]);
            seen.push_back(examination_.empty() ? 1 : examination_[std::min(place, examination_.size()) - 1]);
            chain.add(ids[i]);
        }
        static const Hash impression = hash_text("impression"), examination = hash_text("examination");
        const auto slots = all_slot_values(fresh, shown.context);
        for (Counter& counter : counters) {
            const Recipe& recipe = counter.recipe;
            const auto weight = [&](Hash event, std::size_t i) {
                return event == impression ? 1 : event == examination ? seen[i] : 0.0;
            };
            if (recipe.event != impression && recipe.event != examination && recipe.of != impression &&
                recipe.of != examination)
                continue;
            for (std::size_t i = 0; i < fresh.size(); ++i)
                each_key(counter, slots, i, [&](Hash key, const Hash* owners) {
                    counter.add(key, owners, weight(recipe.event, i), weight(recipe.of, i), at, chain);
                });
        }
        rankings.trim();
    }

    // Counts an event; the context is that of its ranking, if that is known.
    void observe(Hash ranking, Hash item, Hash event, double value, const Context& given, std::int64_t at) {
        Shown* const shown = ranking ? rankings.find(ranking) : nullptr;
        const bool first = !shown || shown->events.add(combine(item, event));
        chain.add(combine(combine(ranking, item), event));
        std::vector<SlotValues> slots;
        for (Counter& counter : counters) {
            const Recipe& recipe = counter.recipe;
            const bool is_n = recipe.event == event, is_m = recipe.of == event;
            if (!is_n && !is_m) continue;
            if (recipe.weight == Weight::once && !first) continue;
            if (slots.empty()) slots = all_slot_values({item}, shown ? shown->context : given);
            const double n = !is_n ? 0 : recipe.weight == Weight::value ? value : 1;
            each_key(counter, slots, 0,
                     [&](Hash key, const Hash* owners) { counter.add(key, owners, n, is_m ? 1 : 0, at, chain); });
        }
    }

    void forget(std::vector<Hash> gone) {
        std::sort(gone.begin(), gone.end());
        for (const Hash hash : gone) {
            chain.add(hash);
            users.remove(hash);
        }
        for (Counter& counter : counters) counter.forget(gone, chain);
        rankings.forget(gone);
    }

private:
    static void field_values(const Column& column, const std::vector<std::uint32_t>& rows, SlotValues& out) {
        if (column.spec.type == Type::category) {
            for (const std::uint32_t row : rows) {
                const std::uint32_t code = row == nowhere ? nowhere : column.codes[row];
                out.values.push_back(code == nowhere ? 0 : column.words.hash(code));
            }
            return;
        }
        out.offsets.push_back(0);
        for (const std::uint32_t row : rows) {
            if (row != nowhere)
                for (const std::uint32_t code : column.lists.get(row)) out.values.push_back(column.words.hash(code));
            out.offsets.push_back(static_cast<std::uint32_t>(out.values.size()));
        }
    }

    std::vector<Slot> slots_;
    std::vector<double> examination_;
};

}  // namespace rankloop::features
