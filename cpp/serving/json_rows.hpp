// Arrays of numbers in JSON, one after the other, straight to rows of float.
#pragma once

#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace rankloop {

// Reads n arrays of `width` numbers each; each number is rounded to double, then to float, as Python
// and NumPy do. False where anything else is found, however slightly unusual: then a slower reader
// says what. What is read need not be checked JSON; nothing beyond the text is looked at.
inline bool read_json_rows(std::string_view text, std::size_t n, std::size_t width, float* out) {
    const char* p = text.data();
    const char* const end = p + text.size();
    const auto skip = [&] { while (p != end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) ++p; };
    const auto take = [&](char wanted) {
        skip();
        if (p == end || *p != wanted) return false;
        ++p;
        return true;
    };
    for (std::size_t row = 0; row < n; ++row) {
        if (!take('[')) return false;
        for (std::size_t column = 0; column < width; ++column) {
            if (column && !take(',')) return false;
            skip();
            if (p == end || !(*p == '-' || (*p >= '0' && *p <= '9'))) return false;
            double value;
            const auto [stop, fault] = std::from_chars(p, end, value);
            if (fault != std::errc{}) return false;
            p = stop;
            *out++ = static_cast<float>(value);
        }
        if (!take(']')) return false;
    }
    skip();
    return p == end;
}

}  // namespace rankloop
