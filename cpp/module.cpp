// Python bindings of the compiled core. Arrays in, arrays out; the GIL is released while it works.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "arrays.hpp"

namespace nb = nanobind;
using namespace nb::literals;

template <typename T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

NB_MODULE(_core, m) {
    m.def(
        "first_not_finite",
        [](Matrix<float> x, bool allow_nan) {
            nb::gil_scoped_release release;
            return rankloop::first_not_finite(x.data(), x.size(), allow_nan);
        },
        "x"_a, "allow_nan"_a = false);
}
