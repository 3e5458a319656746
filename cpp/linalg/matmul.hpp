// Matrix products of our own. An entry of a product is the sum over the inner dimension in its order,
// in blocks of `depth`: it depends on nothing but the numbers that it is made of, not on the shape of
// the rest, the threads or the processor. Half to all of the speed of a tuned BLAS on one thread.
#pragma once

#include <algorithm>
#include <cstddef>

#include "linalg/vectors.hpp"

namespace rankloop {

// A matrix inside an array: entry (i, j) is at data[i * row + j * column]; swap the two to transpose.
template <typename T>
struct View {
    T* data;
    std::size_t row, column = 1;

    T& operator()(std::size_t i, std::size_t j) const { return data[i * row + j * column]; }
    View part(std::size_t i, std::size_t j) const { return {data + i * row + j * column, row, column}; }
    View transposed() const { return {data, column, row}; }
    operator View<const T>() const
        requires(!std::is_const_v<T>)
    {
        return {data, row, column};
    }
};

enum class Shape { whole, upper };  // upper: entries below the diagonal may be left as they are

namespace tile {

constexpr std::size_t height = 6, depth = 256, rows = 96, columns = 512;

// How many numbers two registers of so many bytes hold.
template <typename T, std::size_t bytes>
constexpr std::size_t width = 2 * bytes / sizeof(T);

template <typename T, std::size_t bytes>
struct Vector {
    typedef T type __attribute__((vector_size(bytes)));
    typedef T loose __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));

    static RANKLOOP_INLINE type load(const T* p) { return *reinterpret_cast<const loose*>(p); }
    static RANKLOOP_INLINE void store(T* p, type v) { *reinterpret_cast<loose*>(p) = v; }
};

// C (height x width) += sign * A B, of packed panels
template <typename T, std::size_t bytes>
RANKLOOP_INLINE void multiply(const T* a, const T* b, std::size_t k, T sign, T* c, std::size_t stride, std::size_t n,
                              std::size_t m) {
    using V = Vector<T, bytes>;
    constexpr std::size_t half = bytes / sizeof(T);
    typename V::type sums[height][2] = {};
    for (; k > 0; --k, a += height, b += 2 * half) {
        const typename V::type left = V::load(b), right = V::load(b + half);
#pragma GCC unroll 6
        for (std::size_t r = 0; r < height; ++r) sums[r][0] += a[r] * left, sums[r][1] += a[r] * right;
    }
    if (n == height && m == 2 * half) {
#pragma GCC unroll 6
        for (std::size_t r = 0; r < height; ++r) {
            T* const to = c + r * stride;
            V::store(to, V::load(to) + sign * sums[r][0]);
            V::store(to + half, V::load(to + half) + sign * sums[r][1]);
        }
        return;
    }
    for (std::size_t r = 0; r < n; ++r) {
        for (std::size_t j = 0; j < m; ++j) c[r * stride + j] += sign * sums[r][j / half][j % half];
    }
}

// The rows of A, `height` at a time, or the columns of B, `width` at a time, with zeros for what is not there.
template <typename T, std::size_t size>
RANKLOOP_INLINE void pack(View<const T> from, std::size_t n, std::size_t k, T* to) {
    for (std::size_t i = 0; i < n; i += size) {
        const std::size_t some = std::min(size, n - i);
        const T* const first = from.data + i * from.row;
        if (some == size && from.row == 1) {
            for (std::size_t p = 0; p < k; ++p, to += size) {
                for (std::size_t r = 0; r < size; ++r) to[r] = first[p * from.column + r];
            }
            continue;
        }
        for (std::size_t p = 0; p < k; ++p, to += size) {
            for (std::size_t r = 0; r < some; ++r) to[r] = first[r * from.row + p * from.column];
            for (std::size_t r = some; r < size; ++r) to[r] = 0;
        }
    }
}

template <typename T, std::size_t bytes>
RANKLOOP_INLINE void add_product(View<const T> a, View<const T> b, std::size_t n, std::size_t m, std::size_t k, T sign,
                                 View<T> c, Shape shape, T* left, T* right) {
    for (std::size_t j = 0; j < m; j += columns) {
        const std::size_t across = std::min(columns, m - j);
        for (std::size_t p = 0; p < k; p += depth) {
            const std::size_t deep = std::min(depth, k - p);
            pack<T, width<T, bytes>>(b.part(p, j).transposed(), across, deep, right);
            for (std::size_t i = 0; i < n; i += rows) {
                if (shape == Shape::upper && i > j + across) break;
                const std::size_t down = std::min(rows, n - i);
                pack<T, height>(a.part(i, p), down, deep, left);
                for (std::size_t jj = 0; jj < across; jj += width<T, bytes>) {
                    for (std::size_t ii = 0; ii < down; ii += height) {
                        if (shape == Shape::upper && i + ii >= j + jj + width<T, bytes>) break;
                        multiply<T, bytes>(left + ii * deep, right + jj * deep, deep, sign,
                                           c.data + (i + ii) * c.row + j + jj, c.row, std::min(height, down - ii),
                                           std::min(width<T, bytes>, across - jj));
                    }
                }
            }
        }
    }
}

RANKLOOP_CLONES inline void run(View<const float> a, View<const float> b, std::size_t n, std::size_t m, std::size_t k,
                                float sign, View<float> c, Shape shape, float* left, float* right) {
    add_product<float, 32>(a, b, n, m, k, sign, c, shape, left, right);
}
RANKLOOP_CLONES inline void run(View<const double> a, View<const double> b, std::size_t n, std::size_t m, std::size_t k,
                                double sign, View<double> c, Shape shape, double* left, double* right) {
    add_product<double, 32>(a, b, n, m, k, sign, c, shape, left, right);
}
#ifdef RANKLOOP_AVX512
// The same sums in registers of twice the size, which take a quarter to a third less time.
RANKLOOP_AVX512 inline void run_wide(View<const float> a, View<const float> b, std::size_t n, std::size_t m,
                                     std::size_t k, float sign, View<float> c, Shape shape, float* left, float* right) {
    add_product<float, 64>(a, b, n, m, k, sign, c, shape, left, right);
}
RANKLOOP_AVX512 inline void run_wide(View<const double> a, View<const double> b, std::size_t n, std::size_t m,
                                     std::size_t k, double sign, View<double> c, Shape shape, double* left,
                                     double* right) {
    add_product<double, 64>(a, b, n, m, k, sign, c, shape, left, right);
}
inline bool is_wide() {
    static const bool wide = __builtin_cpu_supports("x86-64-v4");
    return wide;
}
#endif

}  // namespace tile

// Holds the packed blocks, so that a ranker allocates them once.
template <typename T>
class Products {
public:
    // C += A B, or C -= A B; A is n x k, B k x m, C n x m with rows that are contiguous.
    void add(View<const T> a, View<const T> b, std::size_t n, std::size_t m, std::size_t k, View<T> c,
             Shape shape = Shape::whole) {
        run(a, b, n, m, k, 1, c, shape);
    }
    void subtract(View<const T> a, View<const T> b, std::size_t n, std::size_t m, std::size_t k, View<T> c,
                  Shape shape = Shape::whole) {
        run(a, b, n, m, k, -1, c, shape);
    }

private:
    LinesOf<T> left_, right_;

    void run(View<const T> a, View<const T> b, std::size_t n, std::size_t m, std::size_t k, T sign, View<T> c,
             Shape shape) {
        if (!n || !m || !k) return;
        const auto up = [](std::size_t value, std::size_t to) { return (value + to - 1) / to * to; };
        const std::size_t deep = std::min(tile::depth, k);
        left_.resize(up(std::min(tile::rows, n), tile::height) * deep);
        right_.resize(up(std::min(tile::columns, m), tile::width<T, 64>) * deep);
#ifdef RANKLOOP_AVX512
        if (tile::is_wide()) return tile::run_wide(a, b, n, m, k, sign, c, shape, left_.data(), right_.data());
#endif
        tile::run(a, b, n, m, k, sign, c, shape, left_.data(), right_.data());
    }
};

}  // namespace rankloop
