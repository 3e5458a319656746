// Binding of the encoding of features, and of the parts of encoded rows.
#include "bind/sparse.hpp"

#include "maps/encode_columns.hpp"

namespace rankloop {

namespace {

using Parts = nb::typed<nb::tuple, Array<std::int64_t>, Array<std::int32_t>, Array<float>>;

// Every column that is written to must be one of `width`.
EncodedColumns checked(const In<float, 2>& x, const In<std::int32_t, 2>& places, const In<float, 2>& numbers,
                       std::size_t width) {
    const std::size_t d = x.shape(1);
    check(places.shape(0) == d && places.shape(1) == 3 && numbers.shape(0) == d && numbers.shape(1) == 5,
          "one place and five numbers a column are needed");
    check(width <= std::size_t{std::numeric_limits<std::int32_t>::max()}, "there are too many columns");
    std::int64_t most = 0;
    for (std::size_t j = 0; j < d; ++j) {
        const std::int64_t first = places.data()[3 * j], codes = places.data()[3 * j + 1],
                           mark = places.data()[3 * j + 2];
        const float low = numbers.data()[5 * j + 3], high = numbers.data()[5 * j + 4];
        most += std::max<std::int64_t>(codes, 1) + 1;
        if (codes == -1) continue;  // a category without codes becomes nothing
        check(first >= 0 && codes >= 0 &&
                  first + std::max<std::int64_t>(codes, 1) <= static_cast<std::int64_t>(width) &&
                  (codes > 0 || mark < static_cast<std::int64_t>(width)) && low <= high,
              "the places of encoded columns do not fit");
    }
    check(static_cast<std::int64_t>(width) <= most, "some columns get no values");
    return {places.data(), numbers.data(), d};
}

Parts make_parts(const std::vector<std::int64_t>& starts, const std::vector<std::int32_t>& columns,
                 const std::vector<float>& values) {
    std::int64_t* s;
    std::int32_t* c;
    float* v;
    Parts parts(nb::make_tuple(new_array<std::int64_t>({starts.size()}, &s),
                               new_array<std::int32_t>({columns.size()}, &c), new_array<float>({values.size()}, &v)));
    std::copy(starts.begin(), starts.end(), s);
    std::copy(columns.begin(), columns.end(), c);
    std::copy(values.begin(), values.end(), v);
    return parts;
}

}  // namespace

void bind_features(nb::module_& m) {
    // Rows for linear rankers, dense.
    m.def(
        "encode_columns",
        [](In<float, 2> x, In<std::int32_t, 2> places, In<float, 2> numbers, std::size_t width) {
            const ColumnEncoder encoder(checked(x, places, numbers, width));
            const std::size_t n = x.shape(0), d = x.shape(1);
            float* out;
            auto result = new_array<float>({n, width}, &out);
            const Released release(n * width);
            std::fill_n(out, n * width, 0.0f);
            for (std::size_t i = 0; i < n; ++i) {
                encoder.each(x.data() + i * d, [&](std::int32_t column, float value) {
                    out[i * width + static_cast<std::size_t>(column)] = value;
                });
            }
            return result;
        },
        "x"_a, "places"_a, "numbers"_a, "width"_a);
    // The same, sparse: starts, columns and values.
    m.def(
        "encode_columns_sparse",
        [](In<float, 2> x, In<std::int32_t, 2> places, In<float, 2> numbers, std::size_t width) {
            ColumnEncoder encoder(checked(x, places, numbers, width));
            const std::size_t n = x.shape(0), d = x.shape(1);
            std::vector<std::int64_t> starts{0};
            std::vector<std::int32_t> columns;
            std::vector<float> values;
            starts.reserve(n + 1), columns.reserve(n * d), values.reserve(n * d);
            {
                const Released release(n * d);
                for (std::size_t i = 0; i < n; ++i) {
                    encoder.sorted(x.data() + i * d);
                    for (const auto& entry : encoder.entries)
                        columns.push_back(entry.column), values.push_back(entry.value);
                    starts.push_back(static_cast<std::int64_t>(columns.size()));
                }
            }
            return make_parts(starts, columns, values);
        },
        "x"_a, "places"_a, "numbers"_a, "width"_a);
    // The first columns of sparse rows, dense.
    m.def(
        "first_columns",
        [](const SparseIn& sparse, std::size_t width) {
            const Csr x = sparse.rows();
            check(width <= x.d, "there are fewer columns");
            float* out;
            auto result = new_array<float>({x.n, width}, &out);
            const Released release(x.n * width);
            std::fill_n(out, x.n * width, 0.0f);
            for (std::size_t i = 0; i < x.n; ++i) {
                for (std::size_t k = x.start(i); k < x.start(i + 1); ++k) {
                    const auto column = static_cast<std::size_t>(x.columns[k]);
                    if (column >= width) break;
                    out[i * width + column] = x.values[k];
                }
            }
            return result;
        },
        "x"_a, "width"_a);
    // Sparse rows with others, dense, in place of their first columns: starts, columns and values.
    m.def(
        "replace_first_columns",
        [](const SparseIn& sparse, std::size_t width, In<float, 2> first) {
            const Csr x = sparse.rows();
            const std::size_t d = first.shape(1);
            check(width <= x.d && first.shape(0) == x.n, "the rows do not fit each other");
            check(x.d - width + d <= std::size_t{std::numeric_limits<std::int32_t>::max()},
                  "there are too many columns");
            std::vector<std::int64_t> starts{0};
            std::vector<std::int32_t> columns;
            std::vector<float> values;
            const std::size_t entries = x.n * d + (x.start(x.n) - x.start(0));
            starts.reserve(x.n + 1), columns.reserve(entries), values.reserve(entries);
            {
                const Released release(entries);
                for (std::size_t i = 0; i < x.n; ++i) {
                    for (std::size_t j = 0; j < d; ++j) {
                        const float value = first.data()[i * d + j];
                        if (value != 0) columns.push_back(static_cast<std::int32_t>(j)), values.push_back(value);
                    }
                    for (std::size_t k = x.start(i); k < x.start(i + 1); ++k) {
                        const auto column = static_cast<std::size_t>(x.columns[k]);
                        if (column < width) continue;
                        columns.push_back(static_cast<std::int32_t>(column - width + d)), values.push_back(x.values[k]);
                    }
                    starts.push_back(static_cast<std::int64_t>(columns.size()));
                }
            }
            return make_parts(starts, columns, values);
        },
        "x"_a, "width"_a, "first"_a);
}

}  // namespace rankloop
