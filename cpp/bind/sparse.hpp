// Sparse rows that come from Python: three arrays in one object, checked whenever they are used.
#pragma once

#include <nanobind/stl/variant.h>

#include <limits>
#include <variant>

#include "bind/arrays.hpp"
#include "linalg/csr.hpp"

namespace rankloop {

class SparseIn {
public:
    SparseIn() = default;
    SparseIn(In<std::int64_t, 1> starts, In<std::int32_t, 1> columns, In<float, 1> values, std::size_t d)
        : starts_(std::move(starts)),
          columns_(std::move(columns)),
          values_(std::move(values)),
          d_(d) {
        check(starts_.size() > 0, "starts must have one number more than there are rows");
        check_size(values_, columns_.size(), "one value a column is needed");
        check(d <= std::size_t{std::numeric_limits<std::int32_t>::max()}, "there are too many features");
        rows();
    }

    // Arrays may have changed since: to read beyond them must not be possible.
    Csr rows() const {
        const Csr x{starts_.data(), columns_.data(), values_.data(), starts_.size() - 1, d_};
        nb::gil_scoped_release release;
        check_order(are_sparse_rows(x, columns_.size()));
        return x;
    }

private:
    In<std::int64_t, 1> starts_;
    In<std::int32_t, 1> columns_;
    In<float, 1> values_;
    std::size_t d_ = 0;

    static void check_order(bool fits) {
        if (!fits)
            throw std::invalid_argument(
                "the columns of a row must rise, from 0 to below the number of features, and rows must not leave the "
                "arrays");
    }
};

using AnyRows = std::variant<In<float, 2>, SparseIn>;

}  // namespace rankloop
