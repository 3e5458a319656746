// Python bindings of the compiled core. Arrays in, arrays out; the GIL is released while it works.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "arrays.hpp"
#include "bind_assignment.hpp"
#include "bind_boosting.hpp"
#include "bind_kernel.hpp"
#include "bind_letor.hpp"
#include "bind_losses.hpp"
#include "bind_measures.hpp"
#include "bind_online.hpp"
#include "bind_stumps.hpp"

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of rankloop: parsing and inner loops.";
    m.def(
        "first_not_finite",
        [](nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu> x, bool allow_nan) {
            nb::gil_scoped_release release;
            return rankloop::first_not_finite(x.data(), x.size(), allow_nan);
        },
        "x"_a, "allow_nan"_a = false);
    rankloop::bind_assignment(m);
    rankloop::bind_boosting(m);
    rankloop::bind_kernel(m);
    rankloop::bind_letor(m);
    rankloop::bind_losses(m);
    rankloop::bind_measures(m);
    rankloop::bind_online(m);
    rankloop::bind_stumps(m);
}
