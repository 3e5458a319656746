// The places of a ranking as JSON, straight from arrays.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rankloop {

// A text in quotes; bytes above ASCII are UTF-8 already.
inline void write_json_text(std::string& out, std::string_view text) {
    constexpr char hex[] = "0123456789abcdef";
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += "\\u00";
            out += hex[static_cast<unsigned char>(c) >> 4];
            out += hex[static_cast<unsigned char>(c) & 15];
        } else {
            out += c;
        }
    }
    out += '"';
}

inline void write_json_number(std::string& out, std::int64_t value) {
    char text[24];
    out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

// The shortest text that reads back as the same double, always that of a double (1.0, not 1); null
// where JSON has no number for it.
inline void write_json_number(std::string& out, double value) {
    if (!std::isfinite(value)) {
        out += "null";
        return;
    }
    char text[32];
    const char* const end = std::to_chars(text, text + sizeof text, value).ptr;
    const std::string_view shown(text, static_cast<std::size_t>(end - text));
    out += shown;
    if (shown.find_first_of(".e") == std::string_view::npos) out += ".0";
}

// What an answer says of each place: `ids` and `scores` are by place, the others too where they are given.
struct Places {
    std::span<const std::string_view> ids;
    std::span<const double> scores;
    std::span<const double> propensities;
    std::span<const std::int64_t> teams;
    std::span<const std::string_view> names;  // of the features
    std::span<const double> contributions;    // a row a place, a column a feature
};

// [{"id":...,"rank":...,"score":...}, ...], ranks counted from `first`.
inline std::string places_json(const Places& places, std::int64_t first) {
    std::string out = "[";
    out.reserve(64 * places.ids.size() + 2);
    const std::size_t width = places.names.size();
    for (std::size_t i = 0; i < places.ids.size(); ++i) {
        out += i ? ",{\"id\":" : "{\"id\":";
        write_json_text(out, places.ids[i]);
        out += ",\"rank\":";
        write_json_number(out, first + static_cast<std::int64_t>(i));
        out += ",\"score\":";
        write_json_number(out, places.scores[i]);
        if (!places.propensities.empty()) {
            out += ",\"propensity\":";
            write_json_number(out, places.propensities[i]);
        }
        if (!places.teams.empty()) {
            out += ",\"team\":";
            write_json_number(out, places.teams[i]);
        }
        if (!places.names.empty()) {
            out += ",\"contributions\":";
            for (std::size_t k = 0; k < width; ++k) {
                out += k ? ',' : '{';
                write_json_text(out, places.names[k]);
                out += ':';
                write_json_number(out, places.contributions[i * width + k]);
            }
            out += '}';
        }
        out += '}';
    }
    return out += ']';
}

}  // namespace rankloop
