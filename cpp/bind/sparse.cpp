// Binding of sparse rows: scores, products and sums of them, some of them, and their text.
#include "bind/sparse.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "letor/writer.hpp"
#include "linalg/csr_products.hpp"

namespace rankloop {

void bind_sparse(nb::module_& m) {
    nb::class_<SparseIn>(m, "SparseRows")
        .def(nb::init<In<std::int64_t, 1>, In<std::int32_t, 1>, In<float, 1>, std::size_t>(), "starts"_a, "columns"_a,
             "values"_a, "n_features"_a);
    m.def(
        "score_rows",
        [](const SparseIn& sparse, In<double, 1> w, unsigned threads) {
            const Csr x = sparse.rows();
            check_size(w, x.d, "one weight a feature is needed");
            float* out;
            auto result = new_array<float>({x.n}, &out);
            nb::gil_scoped_release release;
            std::vector<float> narrow(x.d);
            to_float(w.data(), x.d, narrow.data());
            parallel_parts(x.n, 1 << 12, threads, [&](std::size_t from, std::size_t to) {
                score_rows(x.from(from, to - from), narrow.data(), out + from);
            });
            return result;
        },
        "x"_a, "w"_a, "threads"_a);
    m.def(
        "row_products",
        [](const SparseIn& sparse, In<double, 1> w, unsigned threads) {
            const Csr x = sparse.rows();
            check_size(w, x.d, "one weight a feature is needed");
            double* out;
            auto result = new_array<double>({x.n}, &out);
            nb::gil_scoped_release release;
            row_products(x, w.data(), out, threads);
            return result;
        },
        "x"_a, "w"_a, "threads"_a);
    m.def(
        "column_products",
        [](const SparseIn& sparse, In<double, 1> r, unsigned threads) {
            const Csr x = sparse.rows();
            check_size(r, x.n, "one value a row is needed");
            double* out;
            auto result = new_array<double>({x.d}, &out);
            nb::gil_scoped_release release;
            column_products(x, r.data(), out, threads);
            return result;
        },
        "x"_a, "r"_a, "threads"_a);
    m.def(
        "column_spreads",
        [](const SparseIn& sparse, In<std::int64_t, 1> offsets, In<double, 1> h, unsigned threads) {
            const Csr x = sparse.rows();
            check_size(h, x.n, "one value a row is needed");
            check_offsets(offsets, x.n);
            double* out;
            auto result = new_array<double>({x.d}, &out);
            nb::gil_scoped_release release;
            column_spreads(x, offsets.data(), offsets.size() - 1, h.data(), out, threads);
            return result;
        },
        "x"_a, "offsets"_a, "h"_a, "threads"_a);
    // Some rows, in the given order: their starts, columns and values.
    m.def(
        "take_sparse_rows",
        [](const SparseIn& sparse, In<std::int64_t, 1> rows) {
            const Csr x = sparse.rows();
            std::size_t entries = 0;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const std::int64_t row = rows.data()[i];
                check(row >= 0 && row < static_cast<std::int64_t>(x.n), "there is no such row");
                entries += x.start(static_cast<std::size_t>(row) + 1) - x.start(static_cast<std::size_t>(row));
            }
            std::int64_t* starts;
            std::int32_t* columns;
            float* values;
            nb::typed<nb::tuple, Array<std::int64_t>, Array<std::int32_t>, Array<float>> all(
                nb::make_tuple(new_array<std::int64_t>({rows.size() + 1}, &starts),
                               new_array<std::int32_t>({entries}, &columns), new_array<float>({entries}, &values)));
            nb::gil_scoped_release release;
            std::size_t at = 0;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const auto row = static_cast<std::size_t>(rows.data()[i]);
                const std::size_t first = x.start(row), n = x.start(row + 1) - first;
                starts[i] = static_cast<std::int64_t>(at);
                std::copy_n(x.columns + first, n, columns + at), std::copy_n(x.values + first, n, values + at);
                at += n;
            }
            starts[rows.size()] = static_cast<std::int64_t>(at);
            return all;
        },
        "x"_a, "rows"_a);
}

}  // namespace rankloop
