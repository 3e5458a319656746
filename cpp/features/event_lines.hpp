// Interactions of a log in their usual form, from lines of JSON straight to hashes and numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "features/hash.hpp"
#include "letor/decimal.hpp"

namespace rankloop::features {

// What somebody did with an item of a ranking.
struct Interaction {
    Hash item, event, ranking, id;  // id: 0 for none
    double value;
    std::int64_t at;
    std::uint32_t type;  // a number of `Interactions::types`
};

struct Interactions {
    std::vector<Interaction> events;
    std::vector<std::string> types;

    std::uint32_t type_of(std::string_view name) {
        for (std::uint32_t k = 0; k < types.size(); ++k)
            if (types[k] == name) return k;
        types.emplace_back(name);
        return static_cast<std::uint32_t>(types.size() - 1);
    }
};

// Reads one line: an interaction of Metarank's clients or our own feedback, about an item of a ranking. False for all
// else, however slightly unusual (a date, an escape, letters beyond ASCII, a key that is not known), and for what is
// no JSON: then a slower reader says what it is.
class EventLine {
public:
    EventLine(std::string_view text, std::int64_t scale) : p_(text.data()), end_(p_ + text.size()), scale_(scale) {}

    bool read(Interaction& event, std::string_view& type) {
        if (!take('{')) return false;
        do {
            std::string_view key;
            if (!text(key) || !take(':') || !value(key, event)) return false;
        } while (take(','));
        if (!take('}')) return false;
        skip();
        // Of keys that both forms have, those of the other form mean something else.
        const bool metarank = kind_ == "interaction";
        const std::string_view ranking = metarank ? ranking_ : ranking_id_, id = metarank ? id_ : event_id_;
        const bool other = metarank ? has(ranking_id_) || has(event_id_) || has_value_
                                    : has(kind_) || has(ranking_) || has(id_) || has_fields_;
        if (p_ != end_ || other || !has(item_) || !has(ranking) || !has_time_) return false;
        type = has(type_) ? type_ : "click";
        event.item = hash_text(item_);
        event.event = hash_text(type);
        event.ranking = hash_text(ranking);
        event.id = has(id) ? hash_text(id) : 0;
        event.value = value_;
        return true;
    }

private:
    static bool has(std::string_view text) { return text.data() != nullptr; }

    void skip() {
        while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
    }

    bool take(char wanted) {
        skip();
        if (p_ == end_ || *p_ != wanted) return false;
        ++p_;
        return true;
    }

    bool text(std::string_view& out) {
        if (!take('"')) return false;
        const char* const first = p_;
        while (p_ != end_ && *p_ != '"') {
            const auto c = static_cast<unsigned char>(*p_++);
            if (c < 0x20 || c >= 0x7f || c == '\\') return false;
        }
        if (p_ == end_) return false;
        out = {first, static_cast<std::size_t>(p_++ - first)};
        return true;
    }

    // A few digits, perhaps with a point: one exact division.
    bool number(double& out, bool& whole) {
        skip();
        const bool negative = p_ != end_ && *p_ == '-';
        p_ += negative;
        const char* const first = p_;
        std::int64_t digits = 0;
        int n = 0, fraction = 0;
        const auto is_digit = [&] { return p_ != end_ && *p_ >= '0' && *p_ <= '9'; };
        for (; is_digit() && n < 16; ++n) digits = 10 * digits + (*p_++ - '0');
        if (n == 0 || (n > 1 && *first == '0')) return false;
        whole = p_ == end_ || *p_ != '.';
        if (!whole) {
            ++p_;
            for (; is_digit() && n < 16; ++n, ++fraction) digits = 10 * digits + (*p_++ - '0');
            if (fraction == 0) return false;
        }
        if (n > 15 || (p_ != end_ && (*p_ == 'e' || *p_ == 'E'))) return false;
        out = static_cast<double>(digits) / power_of_ten[fraction];
        if (negative) out = -out;
        return true;
    }

    // Milliseconds: a whole number, or its digits as a text.
    bool time(Interaction& event) {
        skip();
        const bool quoted = p_ != end_ && *p_ == '"';
        p_ += quoted;
        double number_of = 0;
        bool whole = false;
        if (p_ == end_ || *p_ < '0' || *p_ > '9' || !number(number_of, whole) || !whole) return false;
        if (quoted && (p_ == end_ || *p_++ != '"')) return false;
        if (number_of >= static_cast<double>(std::int64_t{1} << (scale_ == 1 ? 52 : 42))) return false;
        event.at = static_cast<std::int64_t>(number_of) * scale_;
        return has_time_ = true;
    }

    bool value(std::string_view key, Interaction& event) {
        bool whole;
        if (key == "timestamp") return time(event);
        if (key == "fields") return fields();
        if (key == "value") return has_value_ = number(value_, whole);
        if (key == "event") return text(kind_);
        if (key == "id") return text(id_);
        if (key == "item") return text(item_);
        if (key == "type") return text(type_);
        if (key == "ranking") return text(ranking_);
        if (key == "ranking_id") return text(ranking_id_);
        if (key == "event_id") return text(event_id_);
        std::string_view rest;  // who did it is what the ranking says
        return (key == "user" || key == "session" || key == "tenant") && text(rest);
    }

    // Metarank's list of names and values, of which one may be the value.
    bool fields() {
        if (has_fields_ || !take('[')) return false;
        has_fields_ = true;
        if (take(']')) return true;
        do {
            std::string_view key, name, words;
            double number_of = 0;
            bool whole, is_number = false;
            if (!take('{') || !text(key) || key != "name" || !take(':') || !text(name)) return false;
            if (!take(',') || !text(key) || key != "value" || !take(':')) return false;
            skip();
            if (p_ != end_ && *p_ == '"') {
                if (!text(words)) return false;
            } else {
                is_number = number(number_of, whole);
                if (!is_number) return false;
            }
            if (name == "value") value_ = is_number ? number_of : 1;
            if (!take('}')) return false;
        } while (take(','));
        return take(']');
    }

    const char* p_;
    const char* const end_;
    const std::int64_t scale_;
    std::string_view kind_, id_, item_, type_, ranking_, ranking_id_, event_id_;
    double value_ = 1;
    bool has_time_ = false, has_value_ = false, has_fields_ = false;
};

}  // namespace rankloop::features
