// Binding of the online learners: each call learns from a batch of queries, in their order, and
// returns how many queries changed the weights. State lives in the caller's arrays.
#include "bind/arrays.hpp"

#include "measures/query_ranks.hpp"
#include "online/committee.hpp"
#include "online/newton.hpp"
#include "online/perceptron.hpp"
#include "online/prank.hpp"
#include "online/solar_ii.hpp"

namespace rankloop {

// What every learner is called with: the queries, the weights, and where scores should go.
struct Call {
    Batch batch;
    LinearState state;
    float* scores;

    Call(const In<float, 2>& x, const In<double, 1>& y, const In<std::int64_t, 1>& offsets, const Out<double, 1>& w,
         const std::optional<Out<double, 1>>& sum, std::int64_t queries, const std::optional<Out<float, 1>>& out)
        : batch{x.data(), y.data(), offsets.data(), offsets.size() - 1},
          state{w.data(), x.shape(1), sum ? sum->data() : nullptr, queries, 0},
          scores(out ? out->data() : nullptr) {
        if (w.size() != x.shape(1) || (sum && sum->size() != w.size())) throw nb::value_error("weights do not fit the features");
        if (y.size() != x.shape(0) || (out && out->size() != y.size())) throw nb::value_error("one grade a row is needed");
        if (offsets.data()[0] != 0 || offsets.data()[offsets.size() - 1] != static_cast<std::int64_t>(y.size())) throw nb::value_error("offsets do not fit the rows");
    }

    template <typename Step>
    std::int64_t run(Step step) {
        static const unsigned processors = std::thread::hardware_concurrency();  // asking takes microseconds
        nb::gil_scoped_release release;
        learn_queries(batch, state, scores, step, processors);
        return state.updates;
    }
};

#define RANKLOOP_CALL                                                                                             \
    In<float, 2> x, In<double, 1> y, In<std::int64_t, 1> offsets, Out<double, 1> w, std::optional<Out<double, 1>> sum, \
        std::int64_t queries, std::optional<Out<float, 1>> out
#define RANKLOOP_ARGUMENTS "x"_a, "y"_a, "offsets"_a, "w"_a, "sum"_a.none(), "queries"_a, "scores"_a.none()

void bind_online(nb::module_& m) {
    m.def("query_ranks", [](In<float, 2> x, In<std::int64_t, 1> offsets, Out<float, 2> ranks) {
        if (ranks.shape(0) != x.shape(0) || ranks.shape(1) != x.shape(1)) throw nb::value_error("ranks must have the shape of x");
        nb::gil_scoped_release release;
        query_ranks(x.data(), x.shape(1), offsets.data(), offsets.size() - 1, ranks.data());
    }, "x"_a, "offsets"_a, "ranks"_a);

    m.def("learn_slam", [](RANKLOOP_CALL, bool ap, std::int64_t cutoff, double margin, double rate, double decay) {
        return Call(x, y, offsets, w, sum, queries, out)
            .run(SlamStep(ap ? SlamWeights::ap : SlamWeights::ndcg, cutoff ? static_cast<std::size_t>(cutoff) : SIZE_MAX, margin, {rate, decay}));
    }, RANKLOOP_ARGUMENTS, "ap"_a, "cutoff"_a, "margin"_a, "rate"_a, "decay"_a);

    m.def("learn_minimax", [](RANKLOOP_CALL, double rate, double decay) {
        return Call(x, y, offsets, w, sum, queries, out).run(MinimaxStep({rate, decay}));
    }, RANKLOOP_ARGUMENTS, "rate"_a, "decay"_a);

    m.def("learn_perceptron", [](RANKLOOP_CALL, double rate, double decay) {
        return Call(x, y, offsets, w, sum, queries, out).run(PerceptronStep({rate, decay}));
    }, RANKLOOP_ARGUMENTS, "rate"_a, "decay"_a);

    m.def("learn_softmax", [](RANKLOOP_CALL, bool gains, double gamma, double rate, double decay) {
        return Call(x, y, offsets, w, sum, queries, out)
            .run(SoftmaxStep(gains ? Targets::gains : Targets::grades, gamma, {rate, decay}));
    }, RANKLOOP_ARGUMENTS, "gains"_a, "gamma"_a, "rate"_a, "decay"_a);

    m.def("learn_prank", [](RANKLOOP_CALL, Out<double, 1> thresholds, Out<std::int64_t, 1> count) {
        for (std::size_t i = 0; i < y.size(); ++i) {
            if (y.data()[i] > static_cast<double>(thresholds.size())) throw nb::value_error("a grade is beyond the room for thresholds");
        }
        return Call(x, y, offsets, w, sum, queries, out).run(PRankStep(thresholds.data(), count.data()[0]));
    }, RANKLOOP_ARGUMENTS, "thresholds"_a, "count"_a);

    m.def("learn_pairs_perceptron", [](RANKLOOP_CALL) {
        return Call(x, y, offsets, w, sum, queries, out).run(PairStep<Mistake>(Mistake{}));
    }, RANKLOOP_ARGUMENTS);

    m.def("learn_solar", [](RANKLOOP_CALL, double slack) {
        return Call(x, y, offsets, w, sum, queries, out).run(PairStep<PassiveAggressive>({static_cast<float>(slack)}));
    }, RANKLOOP_ARGUMENTS, "slack"_a);

    m.def("learn_solar_full", [](RANKLOOP_CALL, double gamma, Out<double, 2> precision, Out<double, 1> h) {
        return Call(x, y, offsets, w, sum, queries, out)
            .run(SolarIIStep(gamma, {precision.data(), h.data(), w.data(), w.size()}));
    }, RANKLOOP_ARGUMENTS, "gamma"_a, "precision"_a, "h"_a);

    m.def("learn_solar_diagonal", [](RANKLOOP_CALL, double gamma, Out<double, 1> variance) {
        return Call(x, y, offsets, w, sum, queries, out).run(DiagonalSolarStep(gamma, variance.data()));
    }, RANKLOOP_ARGUMENTS, "gamma"_a, "variance"_a);

    m.def("learn_newton", [](RANKLOOP_CALL, bool gains, double gamma, double power, int steps, Out<double, 2> precision) {
        return Call(x, y, offsets, w, sum, queries, out)
            .run(NewtonStep(gains ? Targets::gains : Targets::grades, gamma, power, steps, precision.data()));
    }, RANKLOOP_ARGUMENTS, "gains"_a, "gamma"_a, "power"_a, "steps"_a, "precision"_a);

    m.def("learn_committee", [](RANKLOOP_CALL, Out<double, 1> current, Out<double, 2> members, Out<double, 1> lasted, Out<std::int64_t, 1> streak) {
        Committee committee{current.data(), members.data(), lasted.data(), lasted.size(), w.size(), streak.data()[0]};
        const std::int64_t updates = Call(x, y, offsets, w, sum, queries, out).run(CommitteeStep(committee));
        streak.data()[0] = committee.streak;
        return updates;
    }, RANKLOOP_ARGUMENTS, "current"_a, "members"_a, "lasted"_a, "streak"_a);
}

}  // namespace rankloop
