// Binding of what boosted trees are grown on.
#include "bind/arrays.hpp"

#include "losses/boost_softmax.hpp"

namespace rankloop {

void bind_boosting(nb::module_& m) {
    m.def(
        "softmax_trees",
        [](In<double, 1> scores, In<double, 1> grades, In<std::int64_t, 1> offsets,
           std::optional<In<double, 1>> doc_weights, std::optional<In<double, 1>> query_weights, bool gains,
           int gamma_kind, double gamma, std::uint32_t seed, std::uint64_t draw, unsigned terms, Out<float, 1> gradient,
           Out<float, 1> hessian, unsigned threads) {
            const std::size_t n = scores.size();
            check_offsets(offsets, n);
            check_size(grades, n, "one grade a document is needed");
            if (doc_weights) check_size(*doc_weights, n, "one weight a document is needed");
            if (query_weights) check_size(*query_weights, offsets.size() - 1, "one weight a query is needed");
            const bool wanted = gradient.size() > 0 || hessian.size() > 0;
            check(!wanted || (gradient.size() == n && hessian.size() == n), "one place a document is needed");
            check(gamma_kind >= 0 && gamma_kind <= static_cast<int>(GammaKind::tight),
                  "there is no such kind of gamma");
            nb::gil_scoped_release release;
            const SoftmaxTrees trees{gains ? Targets::gains : Targets::grades,
                                     static_cast<GammaKind>(gamma_kind),
                                     gamma,
                                     seed,
                                     draw,
                                     terms,
                                     grades.data(),
                                     doc_weights ? doc_weights->data() : nullptr,
                                     query_weights ? query_weights->data() : nullptr,
                                     offsets.data(),
                                     offsets.size() - 1};
            return trees.at(scores.data(), wanted ? gradient.data() : nullptr, wanted ? hessian.data() : nullptr,
                            threads);
        },
        "scores"_a, "grades"_a, "offsets"_a, "doc_weights"_a.none(), "query_weights"_a.none(), nb::kw_only(), "gains"_a,
        "gamma_kind"_a, "gamma"_a, "seed"_a, "draw"_a, "terms"_a, "gradient"_a, "hessian"_a, "threads"_a);
}

}  // namespace rankloop
