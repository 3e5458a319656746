// Binding of what the rankers with kernels share.
#include "bind/arrays.hpp"

#include "online/relax.hpp"
#include "online/solar_i_kernel.hpp"

namespace rankloop {

void bind_kernel(nb::module_& m) {
    m.def(
        "solar_steps",
        [](In<float, 2> gram, In<float, 1> scores, In<double, 1> y, std::optional<In<double, 1>> weights, double weight,
           Out<double, 1> steps, double slack) {
            const std::size_t n = y.size();
            check(gram.shape(0) == n && gram.shape(1) == n && scores.size() == n && steps.size() == n,
                  "products, scores, grades and steps do not fit");
            check_no_nan(y, "grades must not be NaN");
            if (weights) check_size(*weights, n, "one weight a document is needed");
            nb::gil_scoped_release release;
            const Interruptible interruptible(pause_for_python);
            return solar_steps(gram.data(), scores.data(),
                               {nullptr, y.data(), weights ? weights->data() : nullptr, weight, n, 0},
                               static_cast<float>(slack), steps.data());
        },
        "gram"_a, "scores"_a, "y"_a, "weights"_a.none(), "weight"_a, "steps"_a, "slack"_a);

    m.def(
        "relax_rows",
        [](In<float, 2> gram, Out<double, 1> scores, In<double, 1> low, In<double, 1> high, In<double, 1> share,
           Out<double, 1> whole) {
            const std::size_t n = scores.size();
            check(gram.shape(0) == n && gram.shape(1) == n && low.size() == n && high.size() == n &&
                      share.size() == n && whole.size() == n,
                  "products, scores, bounds and steps do not fit");
            nb::gil_scoped_release release;
            return relax_rows(gram.data(), scores.data(), low.data(), high.data(), share.data(), n, whole.data());
        },
        "gram"_a, "scores"_a, "low"_a, "high"_a, "share"_a, "whole"_a);
}

}  // namespace rankloop
