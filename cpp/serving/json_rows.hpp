// Arrays of numbers in JSON, one after the other, straight to rows of float.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "letor/decimal.hpp"

namespace rankloop {

// Reads one number and returns where it ends; nullptr where there is none. A few digits need no more
// than one exact division; all else is the library's.
inline const char* read_json_number(const char* p, const char* end, double& value) {
    constexpr int max_digits = 15;  // then they are exact as a double
    if (p == end) return nullptr;
    const bool negative = *p == '-';
    const char* q = p + negative;
    const auto is_digit = [&] { return q != end && static_cast<unsigned char>(*q - '0') < 10; };
    if (!is_digit()) return nullptr;
    std::int64_t digits = 0;
    int n = 0, fraction = 0;
    for (; n <= max_digits && is_digit(); ++n) digits = 10 * digits + (*q++ - '0');
    if (q != end && *q == '.') {
        ++q;
        for (; n <= max_digits && is_digit(); ++n, ++fraction) digits = 10 * digits + (*q++ - '0');
    }
    if (n <= max_digits && q != end && (*q == ',' || *q == ']')) {
        const double size = static_cast<double>(digits) / power_of_ten[fraction];
        value = negative ? -size : size;
        return q;
    }
    const auto [stop, fault] = std::from_chars(p, end, value);
    return fault == std::errc{} ? stop : nullptr;
}

// Reads n arrays of `width` numbers each; each number is rounded to double, then to float, as Python
// and NumPy do. False where anything else is found, however slightly unusual: then a slower reader
// says what. What is read need not be checked JSON; nothing beyond the text is looked at.
inline bool read_json_rows(std::string_view text, std::size_t n, std::size_t width, float* out) {
    const char* p = text.data();
    const char* const end = p + text.size();
    const auto skip = [&] {
        while (p != end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) ++p;
    };
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
            double value;
            p = read_json_number(p, end, value);
            if (p == nullptr) return false;
            *out++ = static_cast<float>(value);
        }
        if (!take(']')) return false;
    }
    skip();
    return p == end;
}

}  // namespace rankloop
