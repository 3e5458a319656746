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
#include "online/adapt.hpp"

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
    m.def(
        "standardise",
        [](In<double, 1> scores, In<std::int64_t, 1> offsets) {
            check_offsets(offsets, scores.size());
            double* out;
            auto result = new_array<double>({scores.size()}, &out);
            nb::gil_scoped_release release;
            for (std::size_t q = 0; q + 1 < offsets.size(); ++q) {
                const auto first = static_cast<std::size_t>(offsets.data()[q]),
                           end = static_cast<std::size_t>(offsets.data()[q + 1]);
                if (end > first) standardise(scores.data() + first, end - first, out + first);
            }
            return result;
        },
        "scores"_a, "offsets"_a);
    m.def(
        "mixing_weights",
        [](In<double, 1> losses, std::int64_t queries, bool uniform) {
            check(losses.size() > 0, "at least one member is needed");
            double* out;
            auto result = new_array<double>({losses.size()}, &out);
            mixing_weights(losses.data(), losses.size(), queries, uniform, out);
            return result;
        },
        "losses"_a, "queries"_a, nb::kw_only(), "uniform"_a);
    // Scores (members x documents) of queries that come after each other: each is ranked by the weights that follow
    // from all losses before it (queries x members), which are added to `so_far`.
    m.def(
        "mix_queries",
        [](In<double, 2> scores, In<std::int64_t, 1> offsets, In<double, 2> losses, Out<double, 1> so_far,
           std::int64_t queries, bool uniform) {
            const std::size_t members = scores.shape(0), documents = scores.shape(1);
            check_offsets(offsets, documents);
            check(members > 0 && so_far.size() == members, "one loss a member is needed");
            check(losses.size() == 0 || (losses.shape(0) + 1 == offsets.size() && losses.shape(1) == members),
                  "one loss a query and member is needed");
            double* out;
            auto result = new_array<double>({documents}, &out);
            const Released release(scores.size());
            std::vector<double> weights(members), scratch;
            for (std::size_t q = 0; q + 1 < offsets.size(); ++q) {
                const auto first = static_cast<std::size_t>(offsets.data()[q]),
                           end = static_cast<std::size_t>(offsets.data()[q + 1]);
                if (q == 0 || losses.size() > 0)
                    mixing_weights(so_far.data(), members, queries, uniform, weights.data());
                if (end > first)
                    mix_scores(scores.data() + first, documents, members, end - first, weights.data(), scratch,
                               out + first);
                if (losses.size() == 0) continue;
                for (std::size_t k = 0; k < members; ++k) so_far.data()[k] += losses.data()[q * members + k];
                ++queries;
            }
            return result;
        },
        "scores"_a, "offsets"_a, "losses"_a, "so_far"_a, "queries"_a, nb::kw_only(), "uniform"_a);
    // The loss of each query and ranker (queries x rankers) from its scores (rankers x documents); NaN for queries that
    // say nothing about the order of their documents.
    m.def(
        "relative_losses",
        [](In<float, 2> scores, In<double, 1> y, In<std::int64_t, 1> offsets,
           std::optional<In<double, 1>> document_weights, std::optional<In<double, 1>> query_weights) {
            const std::size_t rankers = scores.shape(0), documents = scores.shape(1), queries = offsets.size() - 1;
            check_offsets(offsets, documents);
            check_size(y, documents, "one grade a document is needed");
            if (document_weights) check_size(*document_weights, documents, "one weight a document is needed");
            if (query_weights) check_size(*query_weights, queries, "one weight a query is needed");
            double* out;
            auto result = new_array<double>({queries, rankers}, &out);
            const Released release(scores.size());
            RelativeLoss loss;
            for (std::size_t q = 0; q < queries; ++q) {
                const auto first = static_cast<std::size_t>(offsets.data()[q]),
                           end = static_cast<std::size_t>(offsets.data()[q + 1]);
                const QueryRows rows{nullptr,
                                     y.data() + first,
                                     document_weights ? document_weights->data() + first : nullptr,
                                     query_weights ? query_weights->data()[q] : 1.0,
                                     end - first,
                                     0};
                const bool tells = loss.take(rows);
                for (std::size_t k = 0; k < rankers; ++k)
                    out[q * rankers + k] = tells ? loss.of(scores.data() + k * documents + first)
                                                 : std::numeric_limits<double>::quiet_NaN();
            }
            return result;
        },
        "scores"_a, "y"_a, "offsets"_a, "document_weights"_a.none(), "query_weights"_a.none());
    // Scores (rankers x documents) of queries that come after each other: each is ranked by the weights that follow
    // from the losses before it (queries x experts). Several rankers may belong to one expert and share its weight.
    // `history` (queries x experts) gets the weights after each query.
    m.def(
        "adapt_queries",
        [](In<double, 2> scores, In<std::int64_t, 1> offsets, In<double, 2> losses, In<std::int64_t, 1> expert_of,
           Out<double, 1> weights, Out<double, 2> history, double share) {
            const std::size_t rankers = scores.shape(0), documents = scores.shape(1), experts = weights.size(),
                              queries = offsets.size() - 1;
            check_offsets(offsets, documents);
            check(experts > 0, "an expert is needed");
            check(losses.shape(0) == queries && losses.shape(1) == experts, "one loss a query and expert is needed");
            check(history.shape(0) == queries && history.shape(1) == experts, "history needs a row a query");
            check_size(expert_of, rankers, "one expert a ranker is needed");
            std::vector<double> sizes(experts, 0.0), shared(rankers), scratch;
            for (std::size_t k = 0; k < rankers; ++k) {
                const std::int64_t expert = expert_of.data()[k];
                check(expert >= 0 && static_cast<std::size_t>(expert) < experts, "there is no such expert");
                sizes[expert] += 1;
            }
            double* out;
            auto result = new_array<double>({documents}, &out);
            const Released release(scores.size());
            for (std::size_t q = 0; q < queries; ++q) {
                const auto first = static_cast<std::size_t>(offsets.data()[q]),
                           end = static_cast<std::size_t>(offsets.data()[q + 1]);
                for (std::size_t k = 0; k < rankers; ++k) {
                    const std::size_t expert = expert_of.data()[k];
                    shared[k] = weights.data()[expert] / sizes[expert];
                }
                if (end > first)
                    mix_scores(scores.data() + first, documents, rankers, end - first, shared.data(), scratch,
                               out + first);
                const double* const own = losses.data() + q * experts;
                if (!std::isnan(own[0])) adapt_weights(own, experts, share, weights.data());
                std::copy_n(weights.data(), experts, history.data() + q * experts);
            }
            return result;
        },
        "scores"_a, "offsets"_a, "losses"_a, "expert_of"_a, "weights"_a, "history"_a, "share"_a);
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
