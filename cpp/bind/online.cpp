// Binding of the online rankers: each call learns from a batch of queries, in their order, and
// returns how many queries changed the weights. State lives in the caller's arrays.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <numeric>

#include "bind/online_call.hpp"
#include "linalg/parallel.hpp"

#include "online/committee.hpp"
#include "online/minimax.hpp"
#include "online/block_gaussian.hpp"
#include "online/newton.hpp"
#include "online/perceptron.hpp"
#include "online/prank.hpp"
#include "online/row_pairs.hpp"
#include "online/slam.hpp"
#include "online/solar_ii_diagonal.hpp"
#include "online/solar_ii.hpp"
#include "online/sparse_pairs.hpp"
#include "online/wide_gaussian.hpp"

namespace rankloop {

namespace {

SlamStep slam_step(bool ap, std::int64_t cutoff, double margin, Rate rate, SlamChoices choices) {
    return {ap ? SlamWeights::ap : SlamWeights::ndcg, cutoff > 0 ? static_cast<std::size_t>(cutoff) : SIZE_MAX, margin,
            rate, choices};
}

void check_square(const Out<double, 2>& matrix, std::size_t d) {
    check(matrix.shape(0) == d && matrix.shape(1) == d, "a root with a row and a column a feature is needed");
}

// What a ranker knows of its weights: by the root of a full precision; without one, by variances and directions; or by
// the root for the first weights and variances for the others.
std::unique_ptr<Gaussian> gaussian_of(const Out<double, 1>& w, const Out<double, 2>& root,
                                      const Out<double, 1>& variances, const Out<double, 2>& directions) {
    const std::size_t d = w.size();
    if (variances.size() == 0) {
        check_square(root, d);
        return std::make_unique<FullGaussian>(root.data(), w.data(), d);
    }
    if (root.shape(0) > 0) {
        const std::size_t full = root.shape(0);
        check_square(root, full);
        check(full + variances.size() == d, "a row of the root or a variance a feature is needed");
        return std::make_unique<BlockGaussian>(root.data(), full, variances.data(), w.data(), d);
    }
    check_size(variances, d, "one variance a feature is needed");
    check(directions.shape(1) == d, "directions must have one number a feature");
    return std::make_unique<WideGaussian>(variances.data(), directions.data(), directions.shape(0), w.data(), d);
}

// One of several Newton rankers that learn the same queries: its rows, and what it knows.
using NewtonMember =
    std::tuple<AnyRows, Out<double, 1>, std::optional<Out<double, 1>>, std::int64_t, std::optional<Out<float, 1>>,
               Out<double, 2>, Out<double, 1>, Out<double, 2>, Out<double, 1>>;

void check_rows(const AnyRows& x, const Out<double, 2>& root, const Out<double, 1>& variances) {
    const bool blocks = root.shape(0) > 0 && variances.size() > 0;
    check(blocks == std::holds_alternative<SparseIn>(x), "rows are sparse where there are wide columns, only");
}

std::size_t width_of(const NewtonMember& member) { return std::get<1>(member).size(); }

// Members know nothing of each other, so they may learn at the same time: where that is worth some threads.
unsigned threads_for(const std::vector<NewtonMember>& members, std::size_t documents, const Running& running) {
    constexpr std::size_t enough = std::size_t{1} << 23;  // multiplications, about a millisecond
    std::size_t work = 0;
    for (const auto& member : members) work += documents * width_of(member) * std::get<5>(member).shape(0);
    return work < enough ? 1 : std::max(1u, running.share(OnlineCall::processors()));
}

std::vector<std::size_t> largest_first(const std::vector<NewtonMember>& members) {
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return width_of(members[i]) > width_of(members[j]); });
    return order;
}

}  // namespace

#define RANKLOOP_CALL_WITH(Rows)                                                                         \
    Rows x, In<double, 1> y, In<std::int64_t, 1> offsets, std::optional<In<double, 1>> document_weights, \
        std::optional<In<double, 1>> query_weights, Out<double, 1> w, std::optional<Out<double, 1>> sum, \
        std::int64_t queries, std::optional<Out<float, 1>> out
#define RANKLOOP_DENSE In<float, 2>
#define RANKLOOP_CALL RANKLOOP_CALL_WITH(RANKLOOP_DENSE)
#define RANKLOOP_CALL_ANY RANKLOOP_CALL_WITH(AnyRows)
#define RANKLOOP_ARGUMENTS                                                                                     \
    "x"_a, "y"_a, "offsets"_a, "document_weights"_a.none(), "query_weights"_a.none(), "w"_a, "total"_a.none(), \
        "queries"_a, "scores"_a.none()
#define RANKLOOP_CALLED OnlineCall(x, y, offsets, document_weights, query_weights, w, sum, queries, out)

void bind_online(nb::module_& m) {
    const nb::object fault = nb::steal(PyErr_NewException("rankloop._core.QueryError", PyExc_ValueError, nullptr));
    m.attr("QueryError") = fault;
    nb::register_exception_translator(
        [](const std::exception_ptr& thrown, void* type) {
            try {
                std::rethrow_exception(thrown);
            } catch (const QueryError& error) {
                PyErr_SetObject(static_cast<PyObject*>(type), nb::make_tuple(error.query, error.what()).ptr());
            }
        },
        fault.ptr());

    m.def(
        "limit_threads", [](unsigned count) { return OnlineCall::processors().exchange(std::max(count, 1u)); },
        "count"_a, "Let rankers learn on at most so many threads; return the limit before.");

    m.def(
        "learn_slam",
        [](RANKLOOP_CALL_ANY, Out<double, 1> sizes, double clip, bool ap, std::int64_t cutoff, double margin,
           double rate, double decay, bool only_loss, bool averaged) {
            return RANKLOOP_CALLED.bounded(sizes, clip)
                .run_any(slam_step(ap, cutoff, margin, {rate, decay}, {only_loss, averaged}));
        },
        RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a, nb::kw_only(), "ap"_a, "cutoff"_a, "margin"_a, "rate"_a, "decay"_a,
        "only_loss"_a, "averaged"_a);

    m.def(
        "learn_minimax",
        [](RANKLOOP_CALL_ANY, Out<double, 1> sizes, double clip, double rate, double decay) {
            return RANKLOOP_CALLED.bounded(sizes, clip).run_any(MinimaxStep({rate, decay}));
        },
        RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a, "rate"_a, "decay"_a);

    m.def(
        "learn_perceptron",
        [](RANKLOOP_CALL_ANY, Out<double, 1> sizes, double clip, double rate, double decay) {
            return RANKLOOP_CALLED.bounded(sizes, clip).run_any(PerceptronStep({rate, decay}));
        },
        RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a, "rate"_a, "decay"_a);

    m.def(
        "learn_softmax",
        [](RANKLOOP_CALL_ANY, Out<double, 1> sizes, double clip, bool gains, double gamma, double rate, double decay,
           bool one_grade) {
            return RANKLOOP_CALLED.bounded(sizes, clip)
                .run_any(SoftmaxStep(gains ? Targets::gains : Targets::grades, gamma, {rate, decay}, one_grade));
        },
        RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a, nb::kw_only(), "gains"_a, "gamma"_a, "rate"_a, "decay"_a,
        "one_grade"_a);

    m.def(
        "learn_prank",
        [](RANKLOOP_CALL_ANY, Out<double, 1> sizes, double clip, Out<double, 1> thresholds,
           Out<std::int64_t, 1> count) {
            for (std::size_t i = 0; i < y.size(); ++i)
                check(!(y.data()[i] > static_cast<double>(thresholds.size())),
                      "a grade is beyond the room for thresholds");
            check(count.size() == 1 && count.data()[0] >= 0 &&
                      count.data()[0] <= static_cast<std::int64_t>(thresholds.size()),
                  "the number of thresholds does not fit the room for them");
            return RANKLOOP_CALLED.bounded(sizes, clip).run_any(PRankStep(thresholds.data(), count.data()[0]));
        },
        RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a, "thresholds"_a, "count"_a);

    m.def(
        "learn_pairs_perceptron",
        [](RANKLOOP_CALL, Out<double, 1> sizes, double clip, bool by_row) {
            if (by_row) return RANKLOOP_CALLED.bounded(sizes, clip).run(RowPairStep());
            return RANKLOOP_CALLED.bounded(sizes, clip).run(PairStep<Mistake>(Mistake{}));
        },
        RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a, nb::kw_only(), "by_row"_a);

    m.def(
        "learn_solar",
        [](RANKLOOP_CALL_ANY, double slack) {
            return RANKLOOP_CALLED.run(PairStep<PassiveAggressive>({static_cast<float>(slack)}),
                                       SparsePairStep<PassiveAggressive>({static_cast<float>(slack)}));
        },
        RANKLOOP_ARGUMENTS, "slack"_a);

    m.def(
        "learn_solar_ii",
        [](RANKLOOP_CALL, double gamma, Out<double, 2> root, Out<double, 1> variances, Out<double, 2> directions,
           Out<double, 1> sizes, double clip) {
            check(root.shape(0) == 0 || variances.size() == 0, "there are no wide columns here");
            const auto gaussian = gaussian_of(w, root, variances, directions);
            return RANKLOOP_CALLED.run(SolarIIStep(gamma, *gaussian, OnlineCall::influence_of(sizes, clip, 0)));
        },
        RANKLOOP_ARGUMENTS, "gamma"_a, "root"_a, "variances"_a, "directions"_a, "sizes"_a, "clip"_a);

    m.def(
        "learn_solar_diagonal",
        [](RANKLOOP_CALL_ANY, double gamma, Out<double, 1> variance) {
            check_size(variance, w.size(), "one variance a feature is needed");
            return RANKLOOP_CALLED.run(DiagonalSolarStep(gamma, variance.data()),
                                       SparseDiagonalStep(gamma, variance.data()));
        },
        RANKLOOP_ARGUMENTS, "gamma"_a, "variance"_a);

    m.def(
        "learn_newton",
        [](RANKLOOP_CALL_ANY, Out<double, 2> root, Out<double, 1> variances, Out<double, 2> directions,
           Out<double, 1> sizes, double clip, bool gains, double gamma, double power, std::int64_t steps) {
            const auto gaussian = gaussian_of(w, root, variances, directions);
            check_rows(x, root, variances);
            return RANKLOOP_CALLED.run_any(NewtonStep(gains ? Targets::gains : Targets::grades, gamma, power, steps,
                                                      *gaussian, OnlineCall::influence_of(sizes, clip, 0),
                                                      OnlineCall::influence_of(sizes, clip, 1)));
        },
        RANKLOOP_ARGUMENTS, "root"_a, "variances"_a, "directions"_a, "sizes"_a, "clip"_a, nb::kw_only(), "gains"_a,
        "gamma"_a, "power"_a, "steps"_a);

    // Several rankers learn the same queries, as each would alone: members are (rows, w, total, queries, scores, root,
    // variances, directions, sizes). Returns the updates of each.
    m.def(
        "learn_newtons",
        [](const std::vector<NewtonMember>& members, In<double, 1> y, In<std::int64_t, 1> offsets,
           std::optional<In<double, 1>> document_weights, std::optional<In<double, 1>> query_weights, double clip,
           bool gains, double gamma, double power, std::int64_t steps) {
            std::vector<OnlineCall> calls;
            for (const auto& [x, w, sum, queries, out, root, variances, directions, sizes] : members) {
                check_rows(x, root, variances);
                gaussian_of(w, root, variances, directions);  // so that all are checked before one learns
                OnlineCall::influence_of(sizes, clip, 1);
                calls.push_back(RANKLOOP_CALLED);
            }
            const auto learn = [&](std::size_t k) {  // with memory of its own only while it learns
                const auto& [x, w, sum, queries, out, root, variances, directions, sizes] = members[k];
                const auto gaussian = gaussian_of(w, root, variances, directions);
                NewtonStep step(gains ? Targets::gains : Targets::grades, gamma, power, steps, *gaussian,
                                OnlineCall::influence_of(sizes, clip, 0), OnlineCall::influence_of(sizes, clip, 1));
                return calls[k].learn(step);
            };
            std::vector<std::int64_t> updates(members.size());
            const std::vector<std::size_t> order = largest_first(members);
            const nb::gil_scoped_release release;
            const Running running;
            parallel_jobs(members.size(), threads_for(members, y.size(), running),
                          [&](std::size_t job) { updates[order[job]] = learn(order[job]); });
            return updates;
        },
        "members"_a, "y"_a, "offsets"_a, "document_weights"_a.none(), "query_weights"_a.none(), "clip"_a, nb::kw_only(),
        "gains"_a, "gamma"_a, "power"_a, "steps"_a);

    m.def(
        "learn_committee",
        [](RANKLOOP_CALL, Out<double, 1> sizes, double clip, bool by_row, Out<double, 1> current,
           Out<double, 2> members, Out<double, 1> lasted, Out<std::int64_t, 1> streak) {
            check_size(current, w.size(), "one weight a feature is needed");
            check(lasted.size() > 0 && members.shape(0) == lasted.size() && members.shape(1) == w.size() &&
                      streak.size() == 1,
                  "the committee's seats do not fit");
            Committee committee{current.data(), members.data(), lasted.data(),
                                lasted.size(),  w.size(),       streak.data()[0]};
            const Influence influence = OnlineCall::influence_of(sizes, clip, 0);
            const std::int64_t updates = by_row
                                             ? RANKLOOP_CALLED.run(CommitteeStep<RowOrderedQuery>(committee, influence))
                                             : RANKLOOP_CALLED.run(CommitteeStep<>(committee, influence));
            streak.data()[0] = committee.streak;
            return updates;
        },
        RANKLOOP_ARGUMENTS, "sizes"_a, "clip"_a, nb::kw_only(), "by_row"_a, "current"_a, "members"_a, "lasted"_a,
        "streak"_a);
}

}  // namespace rankloop
