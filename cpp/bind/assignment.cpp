// Binding of the exact assignment of documents to positions.
#include "bind/arrays.hpp"

#include "assignment/assignment.hpp"

namespace rankloop {

void bind_assignment(nb::module_& m) {
    using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Positions = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    m.def("assign_positions", [](Doubles scores, Doubles gains, Doubles f, Doubles d, Positions positions, std::int64_t few) {
        const std::size_t n = scores.size();
        if (gains.size() != n || f.size() < n || d.size() < n || positions.size() != n) throw nb::value_error("arrays of one length are needed");
        for (std::size_t i = 1; i < n; ++i) {
            if (!(f.data()[i] < f.data()[i - 1])) throw nb::value_error("f must decrease");
        }
        for (std::size_t i = 0; i < n; ++i) {  // no sum below may overflow
            const double largest = std::max({std::abs(scores.data()[i]), std::abs(gains.data()[i]), std::abs(f.data()[i]), std::abs(d.data()[i])});
            if (!(largest < 1e100) || std::isnan(scores.data()[i] + gains.data()[i] + d.data()[i])) throw nb::value_error("scores and gains must be finite and below 1e100: scale the features, or lower the rate");
        }
        nb::gil_scoped_release release;
        Assignment().solve(scores.data(), gains.data(), f.data(), d.data(), n, few < 0 ? Assignment::usual(n) : static_cast<std::size_t>(few), positions.data());
    }, "scores"_a, "gains"_a, "f"_a, "d"_a, "positions"_a, "few"_a = -1);
}

}  // namespace rankloop
