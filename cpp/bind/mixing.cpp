// Binding of rankers that rank together: their scores on one scale, and the weights that follow from their losses.
#include "bind/arrays.hpp"

#include "online/adapt.hpp"

namespace rankloop {

namespace {

void check_weights_of(const std::optional<In<double, 1>>& documents, std::size_t n,
                      const std::optional<In<double, 1>>& queries, std::size_t q) {
    if (documents) check_size(*documents, n, "one weight a document is needed");
    if (queries) check_size(*queries, q, "one weight a query is needed");
}

// The grades and weights of query q, whose m documents begin at `first`; losses need no features.
QueryRows judgements(const In<double, 1>& y, std::size_t first, std::size_t m,
                     const std::optional<In<double, 1>>& document_weights,
                     const std::optional<In<double, 1>>& query_weights, std::size_t q) {
    const double* const weights = document_weights ? document_weights->data() + first : nullptr;
    return {nullptr, y.data() + first, weights, query_weights ? query_weights->data()[q] : 1.0, m, 0};
}

Experts experts_of(const In<std::int64_t, 2>& seats, std::size_t experts, std::size_t rankers) {
    check(seats.shape(1) == 2, "a seat is an expert and a ranker");
    std::vector<bool> seated(experts);
    for (std::size_t s = 0; s < seats.shape(0); ++s) {
        const std::int64_t expert = seats(s, 0), ranker = seats(s, 1);
        check(expert >= 0 && static_cast<std::size_t>(expert) < experts, "there is no such expert");
        check(ranker >= 0 && static_cast<std::size_t>(ranker) < rankers, "there is no such ranker");
        seated[static_cast<std::size_t>(expert)] = true;
    }
    check(experts > 0 && std::find(seated.begin(), seated.end(), false) == seated.end(), "every expert needs a ranker");
    return {seats.data(), seats.shape(0), experts, rankers};
}

}  // namespace

void bind_mixing(nb::module_& m) {
    m.def(
        "standardise",
        [](In<double, 1> scores, In<std::int64_t, 1> offsets) {
            check_offsets(offsets, scores.size());
            double* out;
            auto result = new_array<double>({scores.size()}, &out);
            nb::gil_scoped_release release;
            for (std::size_t q = 0; q + 1 < offsets.size(); ++q) {
                const auto first = static_cast<std::size_t>(offsets.data()[q]),
                           end = static_cast<std::size_t>(offsets.data()[q + 1]);
                if (end > first) standardise(scores.data() + first, end - first, out + first);
            }
            return result;
        },
        "scores"_a, "offsets"_a);
    m.def(
        "mixing_weights",
        [](In<double, 1> losses, std::int64_t queries, bool uniform) {
            check(losses.size() > 0, "at least one member is needed");
            double* out;
            auto result = new_array<double>({losses.size()}, &out);
            mixing_weights(losses.data(), losses.size(), queries, uniform, out);
            return result;
        },
        "losses"_a, "queries"_a, nb::kw_only(), "uniform"_a);
    // Scores (members x documents) of queries that come after each other: each is ranked by the weights that follow
    // from all losses before it (queries x members), which are added to `so_far`.
    m.def(
        "mix_queries",
        [](In<double, 2> scores, In<std::int64_t, 1> offsets, In<double, 2> losses, Out<double, 1> so_far,
           std::int64_t queries, bool uniform) {
            const std::size_t members = scores.shape(0), documents = scores.shape(1);
            check_offsets(offsets, documents);
            check(members > 0 && so_far.size() == members, "one loss a member is needed");
            check(losses.size() == 0 || (losses.shape(0) + 1 == offsets.size() && losses.shape(1) == members),
                  "one loss a query and member is needed");
            double* out;
            auto result = new_array<double>({documents}, &out);
            const Released release(scores.size());
            std::vector<double> weights(members), scratch;
            for (std::size_t q = 0; q + 1 < offsets.size(); ++q) {
                const auto first = static_cast<std::size_t>(offsets.data()[q]),
                           end = static_cast<std::size_t>(offsets.data()[q + 1]);
                if (q == 0 || losses.size() > 0)
                    mixing_weights(so_far.data(), members, queries, uniform, weights.data());
                if (end > first)
                    mix_scores(scores.data() + first, documents, members, end - first, weights.data(), scratch,
                               out + first);
                if (losses.size() == 0) continue;
                for (std::size_t k = 0; k < members; ++k) so_far.data()[k] += losses.data()[q * members + k];
                ++queries;
            }
            return result;
        },
        "scores"_a, "offsets"_a, "losses"_a, "so_far"_a, "queries"_a, nb::kw_only(), "uniform"_a);
    // The loss of each query and ranker (queries x rankers) from its scores (rankers x documents); NaN for queries that
    // say nothing about the order of their documents.
    m.def(
        "relative_losses",
        [](In<float, 2> scores, In<double, 1> y, In<std::int64_t, 1> offsets,
           std::optional<In<double, 1>> document_weights, std::optional<In<double, 1>> query_weights) {
            const std::size_t rankers = scores.shape(0), documents = scores.shape(1), queries = offsets.size() - 1;
            check_offsets(offsets, documents);
            check_size(y, documents, "one grade a document is needed");
            check_weights_of(document_weights, documents, query_weights, queries);
            double* out;
            auto result = new_array<double>({queries, rankers}, &out);
            const Released release(scores.size());
            RelativeLoss loss;
            for (std::size_t q = 0; q < queries; ++q) {
                const auto first = static_cast<std::size_t>(offsets.data()[q]),
                           end = static_cast<std::size_t>(offsets.data()[q + 1]);
                const QueryRows rows = judgements(y, first, end - first, document_weights, query_weights, q);
                const bool tells = loss.take(rows);
                for (std::size_t k = 0; k < rankers; ++k)
                    out[q * rankers + k] = tells ? loss.of(scores.data() + k * documents + first)
                                                 : std::numeric_limits<double>::quiet_NaN();
            }
            return result;
        },
        "scores"_a, "y"_a, "offsets"_a, "document_weights"_a.none(), "query_weights"_a.none());
    // The scores of all experts together, by their weights; scores are rankers x documents.
    m.def(
        "mix_experts",
        [](In<double, 2> scores, In<std::int64_t, 1> offsets, In<std::int64_t, 2> seats, In<double, 1> weights) {
            const std::size_t documents = scores.shape(1);
            check_offsets(offsets, documents);
            Experts experts = experts_of(seats, weights.size(), scores.shape(0));
            double* out;
            auto result = new_array<double>({documents}, &out);
            const Released release(scores.size());
            for (std::size_t q = 0; q + 1 < offsets.size(); ++q) {
                const auto first = static_cast<std::size_t>(offsets.data()[q]),
                           end = static_cast<std::size_t>(offsets.data()[q + 1]);
                if (end == first) continue;
                experts.take(scores.data() + first, documents, end - first);
                experts.mix(weights.data(), out + first);
            }
            return result;
        },
        "scores"_a, "offsets"_a, "seats"_a, "weights"_a);
    // The same of queries that come after each other, in scores before learning: each query is ranked by the weights
    // that follow from the losses before it, which are changed in place. `beliefs` follow losses of the order alone, or
    // the weights do too, unless scores are logits; `history` (queries x experts) gets the beliefs after each query.
    m.def(
        "weigh_experts",
        [](In<float, 2> scores, In<double, 1> y, In<std::int64_t, 1> offsets,
           std::optional<In<double, 1>> document_weights, std::optional<In<double, 1>> query_weights,
           In<std::int64_t, 2> seats, Out<double, 1> weights, Out<double, 1> beliefs, Out<double, 2> history,
           bool logits, double share) {
            const std::size_t documents = scores.shape(1), queries = offsets.size() - 1, n = weights.size();
            check_offsets(offsets, documents);
            check_size(y, documents, "one grade a document is needed");
            check_weights_of(document_weights, documents, query_weights, queries);
            check_size(beliefs, n, "one belief an expert is needed");
            check(history.shape(0) == queries && history.shape(1) == n, "history needs a row a query");
            Experts experts = experts_of(seats, n, scores.shape(0));
            double* out;
            auto result = new_array<double>({documents}, &out);
            const Released release(scores.size());
            RelativeLoss loss;
            std::vector<double> losses(n), order(n);
            for (std::size_t q = 0; q < queries; ++q) {
                const auto first = static_cast<std::size_t>(offsets.data()[q]),
                           end = static_cast<std::size_t>(offsets.data()[q + 1]);
                const QueryRows rows = judgements(y, first, end - first, document_weights, query_weights, q);
                if (end > first) {
                    experts.take(scores.data() + first, documents, end - first);
                    experts.mix(weights.data(), out + first);
                }
                if (loss.take(rows)) {
                    experts.order_losses(loss, order.data());
                    if (logits) experts.losses(loss, scores.data() + first, documents, losses.data());
                    adapt_weights(logits ? losses.data() : order.data(), n, share, weights.data());
                    adapt_weights(order.data(), n, share, beliefs.data());
                }
                std::copy_n(beliefs.data(), n, history.data() + q * n);
            }
            return result;
        },
        "scores"_a, "y"_a, "offsets"_a, "document_weights"_a.none(), "query_weights"_a.none(), "seats"_a, "weights"_a,
        "beliefs"_a, "history"_a, nb::kw_only(), "logits"_a, "share"_a);
}

}  // namespace rankloop
