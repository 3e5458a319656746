// Decimal text to double, correctly rounded. Reads up to 24 bytes past what it parses, so the text
// must be padded, and must end in a byte that is not part of a number.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace rankloop {

static_assert(std::endian::native == std::endian::little, "digits are read eight at a time");

constexpr std::uint64_t integer_power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
constexpr double power_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

constexpr std::uint64_t zeros = 0x3030303030303030u;  // eight times '0'

// Whether eight bytes, each less '0', are digits.
inline bool all_digits(std::uint64_t t) { return !(((t + 0x7676767676767676u) | t) & 0x8080808080808080u); }

// The bytes at p less '0', and how many digits they start with.
struct Digits {
    std::uint64_t bytes;
    unsigned n;  // 0 to 8
};

inline Digits find_digits(const char* p) {
    std::uint64_t t;
    std::memcpy(&t, p, 8);
    t ^= zeros;
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

// The offsets of the first space and of the first point before it, else again of the space, among
// the 16 bytes at p; false where there is no space.
inline bool find_point_and_space(const char* p, unsigned& point, unsigned& space) {
#if defined(__SSE2__)
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const auto spaces = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(' '))));
    const auto points = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8('.'))));
    space = static_cast<unsigned>(std::countr_zero(spaces));
    point = static_cast<unsigned>(std::countr_zero(points | spaces));
    return spaces != 0;
#else
    for (space = 0; space < 16 && p[space] != ' ';) ++space;
    for (point = 0; point < space && p[point] != '.';) ++point;
    return space < 16;
#endif
}

// The common case of read_decimal: 1 to 8 digits, perhaps a point and up to 8 more, and a space within
// 16 bytes; nullptr for anything else. Where a number ends is known before its value, so the next one
// starts while this one is computed. It branches only on what its column foretells: a point or none,
// few digits or many. The digits are at most 14, so the quotient is rounded once.
inline const char* read_short_decimal(const char* p, double& value) {
    unsigned point, space;
    if (!find_point_and_space(p, point, space)) return nullptr;
    const unsigned negative = *p == '-', n = point - negative;
    if (n - 1 > 7) return nullptr;
    std::uint64_t whole;
    std::memcpy(&whole, p + negative, 8);
    whole = (whole ^ zeros) << (64 - 8 * n);  // right-align
    double magnitude;
    if (point == space) {
        if (!all_digits(whole)) return nullptr;
        magnitude = static_cast<double>(static_cast<std::int32_t>(digits_value(whole, 8)));
    } else {
        const unsigned k = space - point - 1;
        if (k > 8) return nullptr;
        std::uint64_t part;
        std::memcpy(&part, p + point + 1, 8);
        part = (part ^ zeros) << (32 - 4 * k) << (32 - 4 * k);  // twice: 64 is too far for one shift
        std::int64_t mantissa;
        if (n + k <= 8) {
            const std::uint64_t both = whole >> 8 * k | part;
            if (!all_digits(both)) return nullptr;
            mantissa = static_cast<std::int32_t>(digits_value(both, 8));
        } else {
            if (!all_digits(whole) || !all_digits(part)) return nullptr;
            mantissa = static_cast<std::int64_t>(digits_value(whole, 8) * integer_power[k] + digits_value(part, 8));
        }
        magnitude = static_cast<double>(mantissa) / power_of_ten[k];
    }
    // not a branch: signs are as good as random
    value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | std::uint64_t{negative} << 63);
    return p + space;
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
