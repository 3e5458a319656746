// The compiled core as a Python module: each file beside this one binds one subject.
#include "bind/arrays.hpp"

#include "linalg/arrays.hpp"
#include "linalg/parallel.hpp"

namespace rankloop {

void bind_arithmetic(nb::module_& m);
void bind_assignment(nb::module_& m);
void bind_boosting(nb::module_& m);
void bind_clicks(nb::module_& m);
void bind_clicks_online(nb::module_& m);
void bind_features(nb::module_& m);
void bind_live_features(nb::module_& m);
void bind_feature_log(nb::module_& m);
void bind_journal(nb::module_& m);
void bind_kernel(nb::module_& m);
void bind_letor(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_maps(nb::module_& m);
void bind_measures(nb::module_& m);
void bind_mixing(nb::module_& m);
void bind_online(nb::module_& m);
void bind_scoring(nb::module_& m);
void bind_serving(nb::module_& m);
void bind_sparse(nb::module_& m);
void bind_stumps(nb::module_& m);

}  // namespace rankloop

NB_MODULE(_core, m) {
    using namespace rankloop;
    m.doc() = "The compiled core of rankloop: parsing and inner loops.";
    m.def(
        "first_not_finite",
        [](In<float, 2> x, bool allow_nan) {
            const Released release(x.size());
            return first_not_finite(x.data(), x.size(), allow_nan);
        },
        "x"_a, nb::kw_only(), "allow_nan"_a = false);
    m.def(
        "first_not_finite",
        [](In<double, 1> x) {
            const double* const end = x.data() + x.size();
            const double* const found = std::find_if(x.data(), end, [](double value) { return !std::isfinite(value); });
            return found == end ? -1 : found - x.data();
        },
        "x"_a);
    m.def(
        "startable_threads",
        [](unsigned most) {
            check(most >= 1 && most <= 1024, "ask for 1 to 1024 threads");
            nb::gil_scoped_release release;
            return startable_threads(most);
        },
        "most"_a);
    bind_sparse(m);  // a type of arguments of others
    bind_arithmetic(m);
    bind_assignment(m);
    bind_boosting(m);
    bind_clicks(m);
    bind_clicks_online(m);
    bind_features(m);
    bind_live_features(m);
    bind_feature_log(m);
    bind_journal(m);
    bind_kernel(m);
    bind_letor(m);
    bind_losses(m);
    bind_maps(m);
    bind_measures(m);
    bind_mixing(m);
    bind_online(m);
    bind_scoring(m);
    bind_serving(m);
    bind_stumps(m);
}
