// exp, log and their kin, with the same bits on every processor: sums and products in a fixed order,
// no libm (whose last bits depend on its version and on the processor), no contraction.
//
// Largest errors found against 50 digits over millions of arguments (tests/test_arithmetic.py), in
// units in the last place: exp 1.0, exp2 1.1, log 1.2, log1p 1.5, log2 1.7, tanh 9; sin and cos 2e-16
// absolute up to 1e5. pow is exp2(y log2 x), whose error is at most some 3 + 2 |y log2 x| units.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rankloop::math {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Adding this and taking it away rounds to a whole number, which then stands in the low bits.
constexpr double rounder = 0x1.8p52;

inline std::int64_t low_bits(double shifted) {
    return std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(rounder);
}

// x 2^k in two steps, so that results below the smallest normal number are right too.
inline double scale_by_power(double x, std::int64_t k) {
    const std::int64_t half = k >> 1;
    return x * std::bit_cast<double>((half + 1023) << 52) * std::bit_cast<double>((k - half + 1023) << 52);
}

// e^r - 1 for |r| <= log(2) / 2: r + r^2 (1/2 + r/6 + ...), Taylor's series up to r^13.
inline double expm1_near_0(double r) {
    const double r2 = r * r, r4 = r2 * r2;
    const double a = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    const double b = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
    const double c = (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
    return r + r2 * (a + r4 * (b + r4 * c));
}

inline double exp_near_0(double r) { return 1 + expm1_near_0(r); }

inline double exp(double x) {
    constexpr double log2_e = 0x1.71547652b82fep0, ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
    if (!(x < 710)) return x != x ? x : infinity;
    if (x < -746) return 0;
    const double shifted = x * log2_e + rounder, k = shifted - rounder;
    return scale_by_power(exp_near_0((x - k * ln2_high) - k * ln2_low), low_bits(shifted));
}

inline double exp2(double x) {
    constexpr double ln2 = 0x1.62e42fefa39efp-1;
    if (!(x < 1024)) return x != x ? x : infinity;
    if (x < -1076) return 0;
    const double shifted = x + rounder, k = shifted - rounder;
    return scale_by_power(exp_near_0((x - k) * ln2), low_bits(shifted));
}

// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); x is positive and finite.
struct Split {
    double k, f;
};

inline Split split(double x) {
    std::int64_t bias = 0;
    if (x < std::numeric_limits<double>::min()) x *= 0x1p54, bias = 54;
    constexpr std::int64_t root_half = 0x3fe6a09e667f3bcd;
    const auto bits = std::bit_cast<std::int64_t>(x), k = (bits - root_half) >> 52;
    return {static_cast<double>(k - bias), std::bit_cast<double>(bits - (k << 52)) - 1};
}

// log(1 + f) = f - (f^2/2 - s (f^2/2 + R)), s = f / (2 + f), R = 2 s^2 (1/3 + s^2/5 + ...)
inline double log_near_1(double f) {
    const double s = f / (2 + f), z = s * s, z2 = z * z, half = 0.5 * f * f;
    const double a = (1.0 / 3 + z * (1.0 / 5)) + z2 * (1.0 / 7 + z * (1.0 / 9));
    const double b = (1.0 / 11 + z * (1.0 / 13)) + z2 * (1.0 / 15 + z * (1.0 / 17));
    const double c = (1.0 / 19 + z * (1.0 / 21)) + z2 * (1.0 / 23);
    return f - (half - s * (half + 2 * z * (a + z2 * z2 * (b + z2 * z2 * c))));
}

// The logarithms of what has none: of 0, of numbers below, of infinity, of NaN.
inline double no_logarithm(double x) {
    return x == 0 ? -infinity : x == infinity ? infinity : std::numeric_limits<double>::quiet_NaN();
}

inline double log(double x) {
    constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
    if (!(x > 0 && x < infinity)) return no_logarithm(x);
    const Split s = split(x);
    return s.k * ln2_high + (log_near_1(s.f) + s.k * ln2_low);
}

inline double log2(double x) {
    constexpr double log2_e = 0x1.71547652b82fep0;
    if (!(x > 0 && x < infinity)) return no_logarithm(x);
    const Split s = split(x);
    return s.k + log_near_1(s.f) * log2_e;
}

inline double log1p(double x) {
    const double u = 1 + x;
    if (!(u > 0 && u < infinity)) return no_logarithm(u);
    return log(u) + (x - (u - 1)) / u;
}

// x^y for x >= 0; whole and half powers that are common are exact products and roots.
inline double pow(double x, double y) {
    if (y == 0) return 1;
    if (y == 1) return x;
    if (y == 2) return x * x;
    if (y == 0.5) return std::sqrt(x);
    if (x == 0) return y > 0 ? 0 : infinity;
    return exp2(y * log2(x));
}

inline double logistic(double x) { return 1 / (1 + exp(-x)); }

inline double tanh(double x) {
    if (std::abs(x) < 0.17) {
        const double e = expm1_near_0(2 * x);
        return e / (e + 2);
    }
    return 1 - 2 / (exp(2 * x) + 1);
}

struct Circle {
    double sin, cos;
};

// Beyond 1e5 the angle is first taken modulo the double nearest to 2 pi, which costs digits.
inline Circle sin_cos(double x) {
    constexpr double two_over_pi = 0x1.45f306dc9c883p-1, high = 0x1.921fb54400000p0, middle = 0x1.0b4611a600000p-34,
                     low = 0x1.3198a2e037073p-69;
    if (!(std::abs(x) < 1e5)) x = std::fmod(x, 0x1.921fb54442d18p2);
    if (x != x) return {x, x};
    const double shifted = x * two_over_pi + rounder, k = shifted - rounder;
    const double r = ((x - k * high) - k * middle) - k * low, z = r * r;
    const double s =
        r + r * z *
                (-1.0 / 6 +
                 z * (1.0 / 120 +
                      z * (-1.0 / 5040 +
                           z * (1.0 / 362880 + z * (-1.0 / 39916800 +
                                                    z * (1.0 / 6227020800.0 + z * (-1.0 / 1307674368000.0 +
                                                                                   z * (1.0 / 355687428096000.0))))))));
    const double c =
        1 - z * (1.0 / 2 -
                 z * (1.0 / 24 - z * (1.0 / 720 - z * (1.0 / 40320 - z * (1.0 / 3628800 -
                                                                          z * (1.0 / 479001600 -
                                                                               z * (1.0 / 87178291200.0 -
                                                                                    z * (1.0 / 20922789888000.0))))))));
    switch (low_bits(shifted) & 3) {
        case 0:
            return {s, c};
        case 1:
            return {c, -s};
        case 2:
            return {-s, -c};
        default:
            return {-c, s};
    }
}

}  // namespace rankloop::math
