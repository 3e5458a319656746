// Binding of logs of events whose features are computed.
#include "bind/arrays.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/live_features.hpp"
#include "features/event_lines.hpp"
#include "features/log.hpp"

namespace rankloop {

namespace {

using namespace features;

struct Run {
    std::size_t others = 0;
    Interactions interactions;
};

// Sorts lines into those that are read here and others: how many others come first, and then what was read.
nb::typed<nb::list, nb::typed<nb::tuple, int, Interactions>> read_interactions(
    const nb::typed<nb::list, nb::bytes>& lines, bool seconds) {
    std::vector<Run> runs(1);
    for (const nb::handle line : lines) {
        const auto bytes = nb::cast<nb::bytes>(line);
        Interaction event{};
        std::string_view type;
        if (EventLine({bytes.c_str(), bytes.size()}, seconds ? 1000 : 1).read(event, type)) {
            event.type = runs.back().interactions.type_of(type);
            runs.back().interactions.events.push_back(event);
        } else {
            if (!runs.back().interactions.events.empty()) runs.emplace_back();
            ++runs.back().others;
        }
    }
    nb::typed<nb::list, nb::typed<nb::tuple, int, Interactions>> out;
    for (Run& run : runs) out.append(nb::make_tuple(run.others, std::move(run.interactions)));
    return out;
}

}  // namespace

void bind_feature_log(nb::module_& m) {
    nb::class_<Interactions>(m, "FeatureInteractions").def("__len__", [](const Interactions& all) {
        return all.events.size();
    });
    m.def("read_interactions", &read_interactions, "lines"_a, "seconds"_a);
    nb::class_<Log>(m, "FeatureLog")
        .def(nb::init<>())
        .def(
            "is_new", [](const Log& log, const nb::str& ranking) { return log.is_new(hash_text(text_of(ranking))); },
            "ranking"_a)
        .def(
            "show",
            [](Log& log, Fold& fold, const nb::str& ranking, const Ids& items, const PythonContext& context,
               const PythonContext& nobody, std::int64_t at) {
                const Hash id = hash_text(text_of(ranking));
                check(log.is_new(id), "a ranking is shown once");
                check_context(fold, nobody);
                const auto hashes = hashes_of(items);
                show(fold, id, hashes, context, at, 1);
                log.show(fold, id, hashes, nobody.context, at);
            },
            "fold"_a, "ranking"_a, "items"_a, "context"_a, "nobody"_a, "at"_a)
        .def(
            "observe",
            [](Log& log, Fold& fold, const std::optional<nb::str>& ranking, const nb::str& item,
               const std::string& event, double value, const PythonContext& context, std::int64_t at,
               const std::optional<nb::str>& id) {
                check_context(fold, context), check_time(at);
                log.observe(fold,
                            {hash_text(text_of(item)), hash_text(event), ranking ? hash_text(text_of(*ranking)) : 0,
                             id ? hash_text(text_of(*id)) : 0, value, at, log.type_of(event)},
                            context.context);
            },
            "fold"_a, "ranking"_a.none(), "item"_a, "event"_a, "value"_a, "context"_a, "at"_a, "event_id"_a.none())
        .def(
            "observe_all",
            [](Log& log, Fold& fold, const Interactions& all, const PythonContext& nobody, std::int64_t since) {
                check_context(fold, nobody);
                std::vector<std::uint32_t> types;
                for (const std::string& name : all.types) types.push_back(log.type_of(name));
                for (Interaction event : all.events) {
                    if (event.at < since) return std::optional<std::int64_t>();
                    since = event.at;
                    event.type = types[event.type];
                    log.observe(fold, event, nobody.context);
                }
                return std::optional(since);
            },
            "fold"_a, "interactions"_a, "nobody"_a, "since"_a)
        .def("feedback",
             [](const Log& log) {
                 const Feedback& all = log.feedback;
                 return std::tuple(copy_of(all.rows), copy_of(all.types), copy_of(all.values), log.types);
             })
        .def("left_out", [](const Log& log) { return std::tuple(log.duplicates, log.strays, log.waiting()); });
}

}  // namespace rankloop
