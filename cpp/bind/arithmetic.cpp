// Binding of arithmetic with the same bits everywhere, for what is written in Python: elementary functions,
// products of rows and scores.
#include "bind/arrays.hpp"

#include "linalg/kernels.hpp"
#include "linalg/math.hpp"
#include "linalg/matmul.hpp"
#include "linalg/parallel.hpp"
#include "linalg/rows.hpp"
#include "linalg/svd.hpp"
#include "linalg/triangular.hpp"

namespace rankloop {

namespace {

template <double (*function)(double)>
void bind_function(nb::module_& m, const char* name) {
    m.def(
        name,
        [](In<double, 1> x) {
            double* out;
            auto result = new_array<double>({x.size()}, &out);
            nb::gil_scoped_release release;
            for (std::size_t i = 0; i < x.size(); ++i) out[i] = function(x.data()[i]);
            return result;
        },
        "x"_a);
}

double sine(double x) { return math::sin_cos(x).sin; }
double cosine(double x) { return math::sin_cos(x).cos; }

constexpr std::size_t rows_a_thread = 1 << 12;

// Products of every row of x with every row of z.
template <typename T>
Array<T> row_pairs(const In<T, 2>& x, const In<T, 2>& z, unsigned threads) {
    check(x.shape(1) == z.shape(1), "rows of one length are needed");
    const std::size_t n = x.shape(0), m = z.shape(0), d = x.shape(1);
    T* out;
    auto result = new_array<T>({n, m}, &out);
    nb::gil_scoped_release release;
    parallel_parts(n, 1 + rows_a_thread / (1 + m), threads, [&](std::size_t from, std::size_t to) {
        Products<T> products;
        std::fill(out + from * m, out + to * m, T{0});
        products.add({x.data() + from * d, d}, View<const T>{z.data(), d}.transposed(), to - from, m, d,
                     {out + from * m, m});
    });
    return result;
}

// A kernel of every row of x with every row of z, a part of the rows of x at a time.
template <typename Fill>
Array<float> kernel_of(const In<float, 2>& x, const In<float, 2>& z, unsigned threads, const Fill& fill) {
    check(x.shape(1) == z.shape(1), "rows of one length are needed");
    const std::size_t n = x.shape(0), m = z.shape(0), d = x.shape(1);
    float* out;
    auto result = new_array<float>({n, m}, &out);
    nb::gil_scoped_release release;
    parallel_parts(n, 1 + rows_a_thread / (1 + m), threads, [&](std::size_t from, std::size_t to) {
        fill(x.data() + from * d, to - from, z.data(), m, d, out + from * m);
    });
    return result;
}

}  // namespace

void bind_arithmetic(nb::module_& m) {
    bind_function<math::exp>(m, "exp");
    bind_function<math::exp2>(m, "exp2");
    bind_function<math::log>(m, "log");
    bind_function<math::log2>(m, "log2");
    bind_function<math::log1p>(m, "log1p");
    bind_function<math::tanh>(m, "tanh");
    bind_function<sine>(m, "sin");
    bind_function<cosine>(m, "cos");
    m.def(
        "power",
        [](In<double, 1> x, double exponent) {
            double* out;
            auto result = new_array<double>({x.size()}, &out);
            nb::gil_scoped_release release;
            for (std::size_t i = 0; i < x.size(); ++i) out[i] = math::pow(x.data()[i], exponent);
            return result;
        },
        "x"_a, "exponent"_a);
    m.def("row_pairs", &row_pairs<float>, "x"_a, "z"_a, "threads"_a);
    m.def("row_pairs", &row_pairs<double>, "x"_a, "z"_a, "threads"_a);
    m.def(
        "score_rows",
        [](In<float, 2> x, In<double, 1> w, unsigned threads) {
            check_size(w, x.shape(1), "one weight a feature is needed");
            const std::size_t n = x.shape(0), d = x.shape(1);
            float* out;
            auto result = new_array<float>({n}, &out);
            const Released release(x.size());
            std::vector<float> narrow(d);
            to_float(w.data(), d, narrow.data());
            parallel_parts(n, rows_a_thread, threads, [&](std::size_t from, std::size_t to) {
                score_rows(x.data() + from * d, to - from, d, x.data() + to * d, narrow.data(), out + from);
            });
            return result;
        },
        "x"_a, "w"_a, "threads"_a);
    m.def(
        "rbf_rows",
        [](In<float, 2> x, In<float, 2> z, float scale, unsigned threads) {
            return kernel_of(x, z, threads,
                             [scale](const float* a, std::size_t n, const float* b, std::size_t k, std::size_t d,
                                     float* out) { rbf_rows(a, n, b, k, d, scale, out); });
        },
        "x"_a, "z"_a, "scale"_a, "threads"_a);
    m.def(
        "chi_rows",
        [](In<float, 2> x, In<float, 2> z, float gamma, unsigned threads) {
            return kernel_of(x, z, threads,
                             [gamma](const float* a, std::size_t n, const float* b, std::size_t k, std::size_t d,
                                     float* out) { chi_rows(a, n, b, k, d, gamma, out); });
        },
        "x"_a, "z"_a, "gamma"_a, "threads"_a);
    m.def(
        "squared_lengths",
        [](In<float, 2> x) {
            float* out;
            auto result = new_array<float>({x.shape(0)}, &out);
            nb::gil_scoped_release release;
            squared_lengths(x.data(), x.shape(0), x.shape(1), out);
            return result;
        },
        "x"_a);
    // The sum of products of two arrays, in their order.
    m.def(
        "dot",
        [](In<double, 1> x, In<double, 1> y) {
            check_size(y, x.size(), "arrays of one length are needed");
            double sum = 0;
            for (std::size_t i = 0; i < x.size(); ++i) sum += x.data()[i] * y.data()[i];
            return sum;
        },
        "x"_a, "y"_a);
    // Solves k systems of positive definite matrices (k x n x n, used up) in place of their right sides (k x n); those
    // of matrices that are not become 0.
    m.def(
        "solve_definite",
        [](Out<double, 3> matrices, Out<double, 2> sides) {
            const std::size_t k = sides.shape(0), n = sides.shape(1);
            check(matrices.shape(0) == k && matrices.shape(1) == n && matrices.shape(2) == n,
                  "a square matrix a right side is needed");
            nb::gil_scoped_release release;
            Products<double> products;
            for (std::size_t i = 0; i < k; ++i) {
                double *const a = matrices.data() + i * n * n, *const b = sides.data() + i * n;
                if (cholesky(a, n, products)) solve_lower(a, n, b), solve_upper(a, n, b);
                if (!all_finite(a, n * n) || !all_finite(b, n)) std::fill_n(b, n, 0.0);
            }
        },
        "matrices"_a, "sides"_a);
    // The places of the `few` largest values of each row, the first of equal ones first.
    m.def(
        "largest_places",
        [](In<float, 2> values, std::int64_t few) {
            const std::size_t n = values.shape(0), m = values.shape(1);
            check(few >= 1 && few <= static_cast<std::int64_t>(m), "there are fewer values than asked for");
            const auto k = static_cast<std::size_t>(few);
            std::int64_t* out;
            auto result = new_array<std::int64_t>({n, k}, &out);
            nb::gil_scoped_release release;
            for (std::size_t i = 0; i < n; ++i) {
                const float* const row = values.data() + i * m;
                std::int64_t* const best = out + i * k;
                std::size_t held = 0;
                for (std::size_t j = 0; j < m; ++j) {
                    if (held == k && !(row[j] > row[best[k - 1]])) continue;
                    std::size_t place = held < k ? held++ : k - 1;
                    for (; place > 0 && row[j] > row[best[place - 1]]; --place) best[place] = best[place - 1];
                    best[place] = static_cast<std::int64_t>(j);
                }
            }
            return result;
        },
        "values"_a, "few"_a);
    // Rotates the rows of a to right angles, and those of left with them; see linalg/svd.hpp.
    m.def(
        "rotate_rows",
        [](Out<double, 2> a, Out<double, 2> left) {
            check(left.shape(0) == a.shape(0) && left.shape(1) == a.shape(0),
                  "a square matrix of as many rows is needed");
            nb::gil_scoped_release release;
            rotate_rows(a.data(), a.shape(0), a.shape(1), left.data());
        },
        "a"_a, "left"_a);
    // The root of keep L + (1 - keep) prior I, where L = U'U.
    m.def(
        "discount_root",
        [](In<double, 2> root, double keep, double prior) {
            const std::size_t d = root.shape(0);
            check(root.shape(1) == d, "the root must be square");
            double* out;
            auto result = new_array<double>({d, d}, &out);
            nb::gil_scoped_release release;
            const double scale = std::sqrt(keep), returned = std::sqrt((1 - keep) * prior);
            for (std::size_t i = 0; i < d * d; ++i) out[i] = scale * root.data()[i];
            std::vector<double> rows(d * d, 0.0);
            for (std::size_t j = 0; j < d; ++j) rows[j * d + j] = returned;
            Products<double> products;
            RowAppender(products).append(out, d, rows.data(), d, true);
            return result;
        },
        "root"_a, "keep"_a, "prior"_a);
}

}  // namespace rankloop
