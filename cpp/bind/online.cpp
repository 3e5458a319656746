// Binding of the online learners: each call learns from a batch of queries, in their order, and
// returns how many queries changed the weights. State lives in the caller's arrays.
#include "bind/arrays.hpp"

#include <cmath>
#include <limits>
#include <thread>

#include "online/committee.hpp"
#include "online/minimax.hpp"
#include "online/newton.hpp"
#include "online/perceptron.hpp"
#include "online/prank.hpp"
#include "online/slam.hpp"
#include "online/solar_diagonal.hpp"
#include "online/solar_ii.hpp"

namespace rankloop {

namespace {

// Weights are finite and from 0.
void check_weights(const std::optional<In<double, 1>>& weights, std::size_t n, const char* message) {
    if (!weights) return;
    check_size(*weights, n, message);
    for (std::size_t i = 0; i < n; ++i) check(weights->data()[i] >= 0 && std::isfinite(weights->data()[i]), "weights must be finite and at least 0");
}

// Lets Python see an interrupt: the only way out of a long call.
void pause() {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// What every learner is called with: the queries, the weights, and where scores should go.
struct Call {
    Batch batch;
    LinearState state;
    Influence influence;
    float* scores;

    Call(const In<float, 2>& x, const In<double, 1>& y, const In<std::int64_t, 1>& offsets, const std::optional<In<double, 1>>& document_weights,
         const std::optional<In<double, 1>>& query_weights, const Out<double, 1>& w, const std::optional<Out<double, 1>>& sum,
         std::int64_t queries, const std::optional<Out<float, 1>>& out)
        : batch{x.data(), y.data(), offsets.data(), offsets.size() - 1, document_weights ? document_weights->data() : nullptr, query_weights ? query_weights->data() : nullptr},
          state{w.data(), x.shape(1), sum ? sum->data() : nullptr, queries, 0},
          scores(out ? out->data() : nullptr) {
        check_offsets(offsets, x.shape(0));
        check(x.shape(0) < std::numeric_limits<std::uint32_t>::max(), "there are too many rows");
        check_size(w, x.shape(1), "one weight a feature is needed");
        check(!sum || sum->size() == w.size(), "the sum of the weights does not fit them");
        check_size(y, x.shape(0), "one grade a row is needed");
        check(!out || out->size() == y.size(), "one score a row is needed");
        check_weights(document_weights, y.size(), "one weight a document is needed");
        check_weights(query_weights, offsets.size() - 1, "one weight a query is needed");
        check(queries >= 0, "the number of queries must be at least 0");
        for (std::size_t i = 0; i < y.size(); ++i) check(std::isfinite(y.data()[i]), "grades must be finite");
    }

    // No update is more than `most` times as far as those before it were on average, kept in sums.
    Call& bounded(const Out<double, 1>& sums, double most) {
        influence = influence_of(sums, most, 0);
        return *this;
    }

    // The k-th pair of sums.
    static Influence influence_of(const Out<double, 1>& sums, double most, std::size_t k) {
        check(sums.size() >= 2 * (k + 1), "two sums are needed");
        return {sums.data() + 2 * k, most};
    }

    template <typename Step>
    std::int64_t run(Step step) {
        static const unsigned processors = std::thread::hardware_concurrency();  // asking takes microseconds
        nb::gil_scoped_release release;
        learn_queries(batch, state, influence, scores, step, processors, pause);
        return state.updates;
    }
};

void check_square(const Out<double, 2>& matrix, std::size_t d) {
    check(matrix.shape(0) == d && matrix.shape(1) == d, "a root with a row and a column a feature is needed");
}

}  // namespace

#define RANKLOOP_CALL                                                                                                     \
    In<float, 2> x, In<double, 1> y, In<std::int64_t, 1> offsets, std::optional<In<double, 1>> document_weights,          \
        std::optional<In<double, 1>> query_weights, Out<double, 1> w, std::optional<Out<double, 1>> sum, std::int64_t queries, std::optional<Out<float, 1>> out
#define RANKLOOP_ARGUMENTS \
    "x"_a, "y"_a, "offsets"_a, "document_weights"_a.none(), "query_weights"_a.none(), "w"_a, "total"_a.none(), "queries"_a, "scores"_a.none()
#define RANKLOOP_CALLED Call(x, y, offsets, document_weights, query_weights, w, sum, queries, out)

void bind_online(nb::module_& m) {
    const nb::object fault = nb::steal(PyErr_NewException("rankloop._core.QueryError", PyExc_ValueError, nullptr));
    m.attr("QueryError") = fault;
    nb::register_exception_translator([](const std::exception_ptr& thrown, void* type) {
        try {
            std::rethrow_exception(thrown);
        } catch (const QueryError& error) {
            PyErr_SetObject(static_cast<PyObject*>(type), nb::make_tuple(error.query, error.what()).ptr());
        }
    }, fault.ptr());

    m.def("learn_slam", [](RANKLOOP_CALL, Out<double, 1> sizes, double clip, bool ap, std::int64_t cutoff, double margin, double rate, double decay) {
        return RANKLOOP_CALLED.bounded(sizes, clip)
            .run(SlamStep(ap ? SlamWeights::ap : SlamWeights::ndcg, cutoff > 0 ? static_cast<std::size_t>(cutoff) : SIZE_MAX, margin, {rate, decay}));
    }, RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a, "ap"_a, "cutoff"_a, "margin"_a, "rate"_a, "decay"_a);

    m.def("learn_minimax", [](RANKLOOP_CALL, Out<double, 1> sizes, double clip, double rate, double decay) {
        return RANKLOOP_CALLED.bounded(sizes, clip).run(MinimaxStep({rate, decay}));
    }, RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a, "rate"_a, "decay"_a);

    m.def("learn_perceptron", [](RANKLOOP_CALL, Out<double, 1> sizes, double clip, double rate, double decay) {
        return RANKLOOP_CALLED.bounded(sizes, clip).run(PerceptronStep({rate, decay}));
    }, RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a, "rate"_a, "decay"_a);

    m.def("learn_softmax", [](RANKLOOP_CALL, Out<double, 1> sizes, double clip, bool gains, double gamma, double rate, double decay) {
        return RANKLOOP_CALLED.bounded(sizes, clip).run(SoftmaxStep(gains ? Targets::gains : Targets::grades, gamma, {rate, decay}));
    }, RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a, "gains"_a, "gamma"_a, "rate"_a, "decay"_a);

    m.def("learn_prank", [](RANKLOOP_CALL, Out<double, 1> sizes, double clip, Out<double, 1> thresholds, Out<std::int64_t, 1> count) {
        for (std::size_t i = 0; i < y.size(); ++i) check(!(y.data()[i] > static_cast<double>(thresholds.size())), "a grade is beyond the room for thresholds");
        check(count.size() == 1 && count.data()[0] >= 0 && count.data()[0] <= static_cast<std::int64_t>(thresholds.size()), "the number of thresholds does not fit the room for them");
        return RANKLOOP_CALLED.bounded(sizes, clip).run(PRankStep(thresholds.data(), count.data()[0]));
    }, RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a, "thresholds"_a, "count"_a);

    m.def("learn_pairs_perceptron", [](RANKLOOP_CALL, Out<double, 1> sizes, double clip) {
        return RANKLOOP_CALLED.bounded(sizes, clip).run(PairStep<Mistake>(Mistake{}));
    }, RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a);

    m.def("learn_solar", [](RANKLOOP_CALL, double slack) {
        return RANKLOOP_CALLED.run(PairStep<PassiveAggressive>({static_cast<float>(slack)}));
    }, RANKLOOP_ARGUMENTS, "slack"_a);

    m.def("learn_solar_full", [](RANKLOOP_CALL, double gamma, Out<double, 2> root, Out<double, 1> sizes, double clip) {
        check_square(root, w.size());
        Gaussian gaussian(root.data(), w.data(), w.size());
        return RANKLOOP_CALLED.run(SolarIIStep(gamma, gaussian, Call::influence_of(sizes, clip, 0)));
    }, RANKLOOP_ARGUMENTS, "gamma"_a, "root"_a, "sizes"_a, "clip"_a);

    m.def("learn_solar_diagonal", [](RANKLOOP_CALL, double gamma, Out<double, 1> variance) {
        check_size(variance, w.size(), "one variance a feature is needed");
        return RANKLOOP_CALLED.run(DiagonalSolarStep(gamma, variance.data()));
    }, RANKLOOP_ARGUMENTS, "gamma"_a, "variance"_a);

    m.def("learn_newton", [](RANKLOOP_CALL, bool gains, double gamma, double power, int steps, Out<double, 2> root, Out<double, 1> sizes, double clip) {
        check_square(root, w.size());
        Gaussian gaussian(root.data(), w.data(), w.size());
        return RANKLOOP_CALLED.run(NewtonStep(gains ? Targets::gains : Targets::grades, gamma, power, steps, gaussian, Call::influence_of(sizes, clip, 0), Call::influence_of(sizes, clip, 1)));
    }, RANKLOOP_ARGUMENTS, "gains"_a, "gamma"_a, "power"_a, "steps"_a, "root"_a, "sizes"_a, "clip"_a);

    m.def("learn_committee", [](RANKLOOP_CALL, Out<double, 1> sizes, double clip, Out<double, 1> current, Out<double, 2> members, Out<double, 1> lasted, Out<std::int64_t, 1> streak) {
        check_size(current, w.size(), "one weight a feature is needed");
        check(lasted.size() > 0 && members.shape(0) == lasted.size() && members.shape(1) == w.size() && streak.size() == 1, "the committee's seats do not fit");
        Committee committee{current.data(), members.data(), lasted.data(), lasted.size(), w.size(), streak.data()[0]};
        const std::int64_t updates = RANKLOOP_CALLED.run(CommitteeStep(committee, Call::influence_of(sizes, clip, 0)));
        streak.data()[0] = committee.streak;
        return updates;
    }, RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a, "current"_a, "members"_a, "lasted"_a, "streak"_a);
}

}  // namespace rankloop
