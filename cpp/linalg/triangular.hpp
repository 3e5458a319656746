// Upper triangular factors U of a precision matrix L = U'U: solving with them, making them, and adding
// rows to them by orthogonal reflections, which never lose what makes L positive definite.
// Row-major, in the caller's memory; large parts go through matmul.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "linalg/matmul.hpp"

namespace rankloop {

constexpr std::size_t panel = 32;  // columns that are taken together

// Z U = Z in place on a panel's columns, sixteen rows at a time: z_j = (z_j - sum_{i<j} z_i u_ij) / u_jj.
RANKLOOP_CLONES inline void solve_panel(const double* u, std::size_t stride, std::size_t width, double* z,
                                        std::size_t rows, std::size_t z_stride) {
    constexpr std::size_t w = wide<double>, parts = 4, together = parts * w;
    alignas(64) double lane[panel * together];
    for (std::size_t first = 0; first < rows; first += together) {
        const std::size_t some = std::min(together, rows - first);
        for (std::size_t r = 0; r < together; ++r) {
            const double* const from = z + (first + std::min(r, some - 1)) * z_stride;
            for (std::size_t j = 0; j < width; ++j) lane[j * together + r] = from[j];
        }
        for (std::size_t j = 0; j < width; ++j) {
            double* const own = lane + j * together;
            Double4 sums[parts];
#pragma GCC unroll 4
            for (std::size_t v = 0; v < parts; ++v) sums[v] = load_wide<double>(own + v * w);
            for (std::size_t i = 0; i < j; ++i) {
                const double factor = u[i * stride + j];
                const double* const before = lane + i * together;
#pragma GCC unroll 4
                for (std::size_t v = 0; v < parts; ++v) sums[v] -= factor * load_wide<double>(before + v * w);
            }
            const double pivot = u[j * stride + j];
#pragma GCC unroll 4
            for (std::size_t v = 0; v < parts; ++v) store_wide<double>(own + v * w, sums[v] / pivot);
        }
        for (std::size_t r = 0; r < some; ++r) {
            for (std::size_t j = 0; j < width; ++j) z[(first + r) * z_stride + j] = lane[j * together + r];
        }
    }
}

// Solves Z U = Z in place: rows of Z (n x d) become z U^-1. O(n d^2).
inline void solve_right(const double* u, std::size_t d, double* z, std::size_t n, Products<double>& products) {
    for (std::size_t k = 0; k < d; k += panel) {
        const std::size_t width = std::min(panel, d - k);
        products.subtract({z, d}, {u + k, d}, n, width, k, {z + k, d});
        solve_panel(u + k * d + k, d, width, z + k, n, d);
    }
}

// Solves U x = b in place. O(d^2).
RANKLOOP_CLONES inline void solve_upper(const double* u, std::size_t d, double* b) {
    for (std::size_t i = d; i-- > 0;) {
        constexpr std::size_t lanes = 8;
        double sums[lanes] = {};
        std::size_t j = i + 1;
        for (; j + lanes <= d; j += lanes) {
            for (std::size_t k = 0; k < lanes; ++k) sums[k] += u[i * d + j + k] * b[j + k];
        }
        for (std::size_t k = 0; j < d; ++j, ++k) sums[k] += u[i * d + j] * b[j];
        b[i] = (b[i] - (((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])))) /
               u[i * d + i];
    }
}

// Solves U' x = b in place. O(d^2).
RANKLOOP_CLONES inline void solve_lower(const double* u, std::size_t d, double* b) {
    for (std::size_t i = 0; i < d; ++i) {
        const double value = b[i] /= u[i * d + i];
        for (std::size_t j = i + 1; j < d; ++j) b[j] -= value * u[i * d + j];
    }
}

// Solves U' X = X in place, X d x n. O(n d^2).
RANKLOOP_CLONES inline void solve_lower_rows(const double* u, std::size_t d, double* x, std::size_t n) {
    for (std::size_t i = 0; i < d; ++i) {
        double* const row = x + i * n;
        const double scale = 1 / u[i * d + i];
        for (std::size_t j = 0; j < n; ++j) row[j] *= scale;
        for (std::size_t k = i + 1; k < d; ++k) {
            const double factor = u[i * d + k];
            for (std::size_t j = 0; j < n; ++j) x[k * n + j] -= factor * row[j];
        }
    }
}

// out = U x. O(d^2).
RANKLOOP_CLONES inline void multiply_upper(const double* u, std::size_t d, const double* x, double* out) {
    for (std::size_t i = 0; i < d; ++i) {
        double sum = 0;
        for (std::size_t j = i; j < d; ++j) sum += u[i * d + j] * x[j];
        out[i] = sum;
    }
}

// Factors the rows of a panel: A = U'U on its square, and U'^-1 A to the right of it, up to `width`.
// A pivot that is not above `least` (NaN is not) ends it; with skip, its row becomes 0 instead.
RANKLOOP_CLONES inline bool factor_panel(double* a, std::size_t stride, std::size_t rows, std::size_t width,
                                         double least, bool skip) {
    for (std::size_t k = 0; k < rows; ++k) {
        double* const row = a + k * stride;
        if (!(row[k] > least)) {
            if (!skip) return false;
            std::fill(row + k, row + width, 0.0);
            continue;
        }
        const double scale = 1 / std::sqrt(row[k]);
        for (std::size_t j = k; j < width; ++j) row[j] *= scale;
        for (std::size_t i = k + 1; i < rows; ++i) {
            const double factor = row[i];
            double* const below = a + i * stride;
            for (std::size_t j = i; j < width; ++j) below[j] -= factor * row[j];
        }
    }
    return true;
}

// A = U'U in place, from the upper half of A; false where A is not positive definite. O(d^3 / 3). With
// skip, for matrices that are only semi-definite: rows whose pivot is not above `least` become 0.
inline bool cholesky(double* a, std::size_t d, Products<double>& products, double least = 0, bool skip = false) {
    for (std::size_t k = 0; k < d; k += panel) {
        const std::size_t rows = std::min(panel, d - k), next = k + rows;
        if (!factor_panel(a + k * d + k, d, rows, d - k, least, skip)) return false;
        const View<const double> block{a + k * d + next, d};
        products.subtract(block.transposed(), block, d - next, d - next, rows, {a + next * d + next, d}, Shape::upper);
    }
    return true;
}

// U = C U in place, both upper triangular: the factor of U'(C'C)U. O(d^3 / 3).
inline void multiply_factors(const double* c, double* u, std::size_t d, std::vector<double>& scratch,
                             Products<double>& products) {
    for (std::size_t k = 0; k < d; k += panel) {  // row blocks: those below are not changed yet
        const std::size_t rows = std::min(panel, d - k);
        scratch.assign(rows * d, 0.0);
        products.add({c + k * d + k, d}, {u + k * d, d}, rows, d, d - k, {scratch.data(), d});
        for (std::size_t i = 0; i < rows; ++i)
            std::copy(scratch.data() + i * d + k + i, scratch.data() + (i + 1) * d, u + (k + i) * d + k + i);
    }
}

// dots = column k of A (n x width) times all its columns
RANKLOOP_INLINE void some_products(const double* a, std::size_t stride, std::size_t n, std::size_t width, std::size_t k,
                                   double* dots) {
    std::fill(dots, dots + width, 0.0);
    for (std::size_t r = 0; r < n; ++r) {
        const double* const row = a + r * stride;
        for (std::size_t j = 0; j < width; ++j) dots[j] += row[k] * row[j];
    }
}

// The same of a whole panel, whose sums stay in registers.
RANKLOOP_INLINE void panel_products(const double* a, std::size_t stride, std::size_t n, std::size_t k, double* dots) {
    constexpr std::size_t parts = panel / wide<double>;
    Double4 sums[parts] = {};
    for (std::size_t r = 0; r < n; ++r) {
        const double* const row = a + r * stride;
        const double own = row[k];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < parts; ++i) sums[i] += own * load_wide<double>(row + i * wide<double>);
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < parts; ++i) store_wide<double>(dots + i * wide<double>, sums[i]);
}

// A -= (column k of A) dots'
RANKLOOP_INLINE void take_from_some(double* a, std::size_t stride, std::size_t n, std::size_t width, std::size_t k,
                                    const double* dots) {
    for (std::size_t r = 0; r < n; ++r) {
        double* const row = a + r * stride;
        const double own = row[k];
        for (std::size_t j = k + 1; j < width; ++j) row[j] -= own * dots[j];
    }
}

// All of a panel from its part `start` on: what is constant there stays in registers.
template <std::size_t start>
RANKLOOP_INLINE void take_from_parts(double* a, std::size_t stride, std::size_t n, std::size_t k, const double* dots) {
    constexpr std::size_t w = wide<double>, parts = panel / w - start;
    Double4 own_dots[parts];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < parts; ++i) own_dots[i] = load_wide<double>(dots + (start + i) * w);
    for (std::size_t r = 0; r < n; ++r) {
        double* const row = a + r * stride + start * w;
        const double own = a[r * stride + k];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < parts; ++i)
            store_wide<double>(row + i * w, load_wide<double>(row + i * w) - own * own_dots[i]);
    }
}

RANKLOOP_INLINE void take_from_panel(double* a, std::size_t stride, std::size_t n, std::size_t k, const double* dots) {
    switch (4 * (k + 1) / panel) {
        case 0:
            return take_from_parts<0>(a, stride, n, k, dots);
        case 1:
            return take_from_parts<2>(a, stride, n, k, dots);
        case 2:
            return take_from_parts<4>(a, stride, n, k, dots);
        case 3:
            return take_from_parts<6>(a, stride, n, k, dots);
        default:
            return;  // the last column: nothing is to the right of it
    }
}

// Reflects a panel's columns of [U; A] so that A's become 0 (they hold the reflectors V instead), and
// fills T (upper, `panel` wide): the product of the reflections is I - [I; V] T [I; V]'.
RANKLOOP_CLONES inline void reflect_panel(double* u, std::size_t d, double* a, std::size_t a_stride, std::size_t n,
                                          std::size_t width, double* t) {
    double dots[panel];
    for (std::size_t k = 0; k < width; ++k) {
        double length = 0;
        for (std::size_t r = 0; r < n; ++r) length += a[r * a_stride + k] * a[r * a_stride + k];
        double tau = 0;
        if (length > 0) {  // u_kk stays positive; written so that nothing cancels
            const double old = u[k * d + k], now = std::sqrt(old * old + length), first = -length / (old + now);
            tau = first * first / (first * first + length) * 2;
            const double scale = 1 / first;
            for (std::size_t r = 0; r < n; ++r) a[r * a_stride + k] *= scale;
            u[k * d + k] = now;
        }
        if (width == panel)
            panel_products(a, a_stride, n, k, dots);
        else
            some_products(a, a_stride, n, width, k, dots);
        for (std::size_t j = 0; j < width; ++j) t[j * panel + k] = 0;
        for (std::size_t i = 0; i < k; ++i) {  // column k of T: -tau T (V_before' v_k)
            double sum = 0;
            for (std::size_t j = i; j < k; ++j) sum += t[i * panel + j] * dots[j];
            t[i * panel + k] = -tau * sum;
        }
        t[k * panel + k] = tau;
        for (std::size_t j = k + 1; j < width; ++j) {
            const double move = dots[j] = tau * (u[k * d + j] + dots[j]);
            u[k * d + j] -= move;
        }
        if (tau == 0) continue;
        std::fill(dots, dots + k + 1, 0.0);
        if (width == panel)
            take_from_panel(a, a_stride, n, k, dots);
        else
            take_from_some(a, a_stride, n, width, k, dots);
    }
}

// U'U += A'A, A n x d, which is used up. O(n d^2), and as stable as an orthogonal factorisation is.
class RowAppender {
public:
    explicit RowAppender(Products<double>& products) : products_(products) {}

    // With `upper`, row i of A is 0 left of column i: rows are left alone until their first column comes, which saves
    // two thirds of the work where n = d.
    void append(double* u, std::size_t d, double* a, std::size_t rows, bool upper = false) {
        if (rows == 0) return;
        double t[panel * panel];
        for (std::size_t k = 0; k < d; k += panel) {
            const std::size_t width = std::min(panel, d - k), next = k + width, rest = d - next;
            const std::size_t n = upper ? std::min(rows, next) : rows;
            reflect_panel(u + k * d + k, d, a + k, d, n, width, t);
            if (rest == 0) break;
            // W = T' (U_rest + V' A_rest); U_rest -= W, A_rest -= V W
            sums_.resize(width * rest), moves_.assign(width * rest, 0.0);
            for (std::size_t i = 0; i < width; ++i) std::copy_n(u + (k + i) * d + next, rest, sums_.data() + i * rest);
            const View<const double> v{a + k, d};
            products_.add(v.transposed(), {a + next, d}, width, rest, n, {sums_.data(), rest});
            products_.add(View<const double>{t, panel}.transposed(), {sums_.data(), rest}, width, rest, width,
                          {moves_.data(), rest});
            for (std::size_t i = 0; i < width; ++i) {
                for (std::size_t j = 0; j < rest; ++j) u[(k + i) * d + next + j] -= moves_[i * rest + j];
            }
            products_.subtract(v, {moves_.data(), rest}, n, rest, width, {a + next, d});
        }
    }

private:
    Products<double>& products_;
    std::vector<double> sums_, moves_;
};

}  // namespace rankloop
