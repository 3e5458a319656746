// Binding of the losses of whole data sets, and of the products with features that their solver needs.
#include "bind/arrays.hpp"

#include "linalg/products.hpp"
#include "linalg/scatter.hpp"
#include "linalg/triangular.hpp"
#include "losses/whole_loss.hpp"

namespace rankloop {

class BoundLoss {
public:
    BoundLoss(int kind, double gamma, In<double, 1> grades, In<std::int64_t, 1> offsets,
              std::optional<In<double, 1>> doc_weights, std::optional<In<double, 1>> query_weights)
        : n_(grades.size()),
          loss_(known_kind(kind), gamma, arranged(grades, offsets, doc_weights, query_weights)) {}

    nb::typed<nb::tuple, double, Array<double>> at(In<double, 1> scores, unsigned threads) {
        check_size(scores, n_, "one score a document is needed");
        check_no_nan(scores, "scores must not be NaN");
        double value = 0;
        auto gradient = filled([&](double* out) { value = loss_.at(scores.data(), out, threads); });
        known_ = true;
        return nb::make_tuple(value, gradient);
    }

    Array<double> product(In<double, 1> v, unsigned threads) {
        check_size(v, n_, "one value a document is needed");
        check_known();
        return filled([&](double* out) { loss_.product(v.data(), out, threads); });
    }

    Array<double> diagonal(unsigned threads) {
        check_known();
        return filled([&](double* out) { loss_.diagonal(out, threads); });
    }

private:
    static LossKind known_kind(int kind) {
        check(kind >= 0 && kind <= static_cast<int>(LossKind::xendcg), "there is no such loss");
        return static_cast<LossKind>(kind);
    }

    static Judged arranged(const In<double, 1>& grades, const In<std::int64_t, 1>& offsets,
                           const std::optional<In<double, 1>>& doc_weights,
                           const std::optional<In<double, 1>>& query_weights) {
        check_offsets(offsets, grades.size());
        if (doc_weights) check_size(*doc_weights, grades.size(), "one weight a document is needed");
        if (query_weights) check_size(*query_weights, offsets.size() - 1, "one weight a query is needed");
        return Judged(grades.data(), offsets.data(), offsets.size() - 1, doc_weights ? doc_weights->data() : nullptr,
                      query_weights ? query_weights->data() : nullptr);
    }

    void check_known() const { check(known_, "there is no curvature before the first scores"); }

    template <typename Fill>
    Array<double> filled(const Fill& fill) {
        double* out;
        auto result = new_array<double>({n_}, &out);
        nb::gil_scoped_release release;
        std::fill_n(out, n_, 0.0);
        fill(out);
        return result;
    }

    std::size_t n_;
    WholeLoss loss_;
    bool known_ = false;
};

void bind_losses(nb::module_& m) {
    nb::class_<BoundLoss>(m, "WholeLoss")
        .def(nb::init<int, double, In<double, 1>, In<std::int64_t, 1>, std::optional<In<double, 1>>,
                      std::optional<In<double, 1>>>(),
             "kind"_a, "gamma"_a, "grades"_a, "offsets"_a, "doc_weights"_a.none(), "query_weights"_a.none())
        .def("at", &BoundLoss::at, "scores"_a, "threads"_a)
        .def("product", &BoundLoss::product, "v"_a, "threads"_a)
        .def("diagonal", &BoundLoss::diagonal, "threads"_a);
    m.def(
        "row_products",
        [](In<float, 2> x, In<double, 1> w, unsigned threads) {
            check_size(w, x.shape(1), "one weight a feature is needed");
            double* out;
            auto result = new_array<double>({x.shape(0)}, &out);
            nb::gil_scoped_release release;
            row_products(x.data(), x.shape(0), x.shape(1), w.data(), out, threads);
            return result;
        },
        "x"_a, "w"_a, "threads"_a);
    m.def(
        "column_products",
        [](In<float, 2> x, In<double, 1> r, unsigned threads) {
            check_size(r, x.shape(0), "one value a row is needed");
            double* out;
            auto result = new_array<double>({x.shape(1)}, &out);
            nb::gil_scoped_release release;
            column_products(x.data(), x.shape(0), x.shape(1), r.data(), out, threads);
            return result;
        },
        "x"_a, "r"_a, "threads"_a);
    m.def(
        "column_spreads",
        [](In<float, 2> x, In<std::int64_t, 1> offsets, In<double, 1> h, unsigned threads) {
            check_size(h, x.shape(0), "one value a row is needed");
            check_offsets(offsets, x.shape(0));
            double* out;
            auto result = new_array<double>({x.shape(1)}, &out);
            nb::gil_scoped_release release;
            column_spreads(x.data(), offsets.data(), offsets.size() - 1, x.shape(1), h.data(), out, threads);
            return result;
        },
        "x"_a, "offsets"_a, "h"_a, "threads"_a);
    m.def(
        "cholesky",
        [](In<double, 2> matrix) {
            const std::size_t d = matrix.shape(0);
            check(matrix.shape(1) == d, "the matrix must be square");
            double* out;
            auto result = new_array<double>({d, d}, &out);
            bool definite;
            {
                nb::gil_scoped_release release;
                std::copy_n(matrix.data(), d * d, out);
                Products<double> products;
                definite = cholesky(out, d, products);
            }
            check(definite, "the matrix is not positive definite");
            return result;
        },
        "matrix"_a);
    m.def(
        "cholesky_solve",
        [](In<double, 2> upper, In<double, 1> b) {
            const std::size_t d = upper.shape(0);
            check_size(b, d, "one value a row is needed");
            check(upper.shape(1) == d, "the matrix must be square");
            double* out;
            auto result = new_array<double>({d}, &out);
            nb::gil_scoped_release release;
            std::copy_n(b.data(), d, out);
            solve_lower(upper.data(), d, out);
            solve_upper(upper.data(), d, out);
            return result;
        },
        "upper"_a, "b"_a);
    m.def(
        "query_scatter",
        [](In<float, 2> x, In<std::int64_t, 1> offsets, In<double, 1> h, unsigned threads) {
            check_size(h, x.shape(0), "one value a row is needed");
            check_offsets(offsets, x.shape(0));
            double* out;
            auto result = new_array<double>({x.shape(1), x.shape(1)}, &out);
            nb::gil_scoped_release release;
            query_scatter(x.data(), offsets.data(), offsets.size() - 1, x.shape(1), h.data(), out, threads);
            return result;
        },
        "x"_a, "offsets"_a, "h"_a, "threads"_a);
}

}  // namespace rankloop
