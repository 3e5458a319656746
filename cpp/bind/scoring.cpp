// Binding of the scores of several linear rankers, of the same rows.
#include <vector>

#include "bind/arrays.hpp"

#include "linalg/arrays.hpp"
#include "linalg/products.hpp"

namespace rankloop {

void bind_scoring(nb::module_& m) {
    // Row places[k] of `scores` gets the scores of x by weights[k]: the same bits as from `score_rows`.
    m.def(
        "score_rows_by",
        [](In<float, 2> x, const nb::typed<nb::list, Array<double>>& weights,
           const nb::typed<nb::list, std::int64_t>& places, Out<double, 2> scores) {
            const std::size_t n = x.shape(0), d = x.shape(1);
            check(weights.size() == places.size(), "one place for each array of weights is needed");
            check(scores.shape(1) == n, "one score a row is needed");
            std::vector<float> narrow(d), own(n);
            for (std::size_t k = 0; k < places.size(); ++k) {
                const auto w = nb::cast<In<double, 1>>(weights[k]);
                const auto place = nb::cast<std::size_t>(places[k]);
                check_size(w, d, "one weight a feature is needed");
                check(place < scores.shape(0), "a place is not in the scores");
                to_float(w.data(), d, narrow.data());
                score_rows(x.data(), n, d, x.data() + n * d, narrow.data(), own.data());
                std::copy(own.begin(), own.end(), scores.data() + place * n);
            }
        },
        "x"_a, "weights"_a, "places"_a, "scores"_a);
}

}  // namespace rankloop
