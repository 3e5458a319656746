// Decimal text to double, correctly rounded. Reads up to 8 bytes past what it parses, so the text
// must be padded, and must end in a byte that is not part of a number.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>

namespace rankloop {

static_assert(std::endian::native == std::endian::little, "digits are read eight at a time");

constexpr std::uint64_t integer_power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
constexpr double power_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// The bytes at p less '0', and how many digits they start with.
struct Digits {
    std::uint64_t bytes;
    unsigned n;  // 0 to 8
};

inline Digits find_digits(const char* p) {
    std::uint64_t t;
    std::memcpy(&t, p, 8);
    t ^= 0x3030303030303030u;
    const std::uint64_t stop = ((t + 0x7676767676767676u) | t) & 0x8080808080808080u;
    return {t, static_cast<unsigned>(std::countr_zero(stop)) >> 3};
}

// The value of the first n digits, n from 1 to 8.
inline std::uint64_t digits_value(std::uint64_t t, unsigned n) {
    t <<= 64 - 8 * n;  // right-align: missing digits become leading zeros
    t = t * 10 + (t >> 8);
    return (((t & 0x000000FF000000FFu) * 0x000F424000000064u) +
            (((t >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
           32;
}

inline unsigned read_digits(const char* p, std::uint64_t& value) {
    const Digits d = find_digits(p);
    value = d.n ? digits_value(d.bytes, d.n) : 0;
    return d.n;
}

// The common case of read_decimal: at most 7 digits on either side of the point and a space after
// them; nullptr for anything else. It branches on the shape of the number where it could compute
// with it: a branch foreseen lets the next number start before this one is done (1.5 times faster).
inline const char* read_short_decimal(const char* p, double& value) {
    if (p[1] == ' ' && *p >= '0' && *p <= '9') {
        value = *p - '0';
        return p + 1;
    }
    const bool negative = *p == '-';
    if (negative) ++p;
    const auto [t, n] = find_digits(p);
    std::uint64_t whole;
    switch (n) {
        case 1: whole = digits_value(t, 1), p += 1; break;
        case 2: whole = digits_value(t, 2), p += 2; break;
        case 3: whole = digits_value(t, 3), p += 3; break;
        case 4: whole = digits_value(t, 4), p += 4; break;
        case 5: whole = digits_value(t, 5), p += 5; break;
        case 6: whole = digits_value(t, 6), p += 6; break;
        case 7: whole = digits_value(t, 7), p += 7; break;
        default: return nullptr;
    }
    double magnitude;
    if (*p == ' ') {
        magnitude = static_cast<double>(whole);
    } else if (*p == '.') {
        const auto [f, k] = find_digits(++p);
        if (k == 6) {
            magnitude = static_cast<double>(whole * 1000000 + digits_value(f, 6)) / 1e6;
            p += 6;
        } else if (k != 0 && k != 8) {
            magnitude = static_cast<double>(whole * integer_power[k] + digits_value(f, k)) / power_of_ten[k];
            p += k;
        } else {
            return nullptr;
        }
        if (*p != ' ') return nullptr;
    } else {
        return nullptr;
    }
    value = negative ? -magnitude : magnitude;
    return p;
}

// Parses a number at p; returns its end, or nullptr where there is none. Too large a number gives
// infinity, too small a one 0. The words inf and nan are not numbers here.
inline const char* read_decimal(const char* p, double& value) {
    const bool negative = *p == '-';
    p += negative || *p == '+';
    const char* const begin = p;
    std::uint64_t mantissa, part;
    unsigned n = read_digits(p, mantissa);
    std::size_t digits = n;
    for (p += n; n == 8; p += n, digits += n) {
        n = read_digits(p, part);
        mantissa = mantissa * integer_power[n] + part;
    }
    std::int64_t exponent = 0;
    if (*p == '.') {
        const char* const fraction = ++p;
        do {
            n = read_digits(p, part);
            mantissa = mantissa * integer_power[n] + part;
            p += n;
        } while (n == 8);
        exponent = fraction - p;
        digits += static_cast<std::size_t>(p - fraction);
    }
    if (digits == 0) return nullptr;
    if ((*p | 0x20) == 'e') {
        const bool down = p[1] == '-';
        const char* q = p + 1 + (down || p[1] == '+');
        if (!(*q >= '0' && *q <= '9')) return nullptr;
        std::int64_t power = 0;
        for (; *q >= '0' && *q <= '9'; ++q) power = power < 100'000 ? 10 * power + (*q - '0') : power;
        exponent += down ? -power : power;
        p = q;
    }
    if (digits <= 18 && mantissa <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
        const double exact = static_cast<double>(mantissa);
        value = exponent < 0 ? exact / power_of_ten[-exponent] : exact * power_of_ten[exponent];
    } else if (std::from_chars(begin, p, value).ec == std::errc::result_out_of_range) {
        for (const char* q = begin; *q == '0' || *q == '.'; ++q) digits -= *q == '0';  // leading zeros
        value = exponent + static_cast<std::int64_t>(digits) > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    }
    if (negative) value = -value;
    return p;
}

}  // namespace rankloop
