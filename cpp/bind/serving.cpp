// Binding of what the live loop reads and writes fast.
#include <vector>

#include "bind/arrays.hpp"

#include "serving/json_rows.hpp"
#include "serving/rank_json.hpp"

namespace rankloop {

namespace {

using Words = nb::typed<nb::list, nb::str>;

std::string_view word_of(const nb::handle item) {
    check(PyUnicode_Check(item.ptr()), "a list of texts is needed");
    Py_ssize_t size;
    const char* const text = PyUnicode_AsUTF8AndSize(item.ptr(), &size);
    if (text == nullptr) nb::raise_python_error();
    return {text, static_cast<std::size_t>(size)};
}

}  // namespace

void bind_serving(nb::module_& m) {
    m.def(
        "json_rows",
        [](const nb::bytes& text, std::size_t n, std::size_t width) -> std::optional<Array<float>> {
            check(width > 0 && n <= text.size() && width <= text.size(), "more rows or columns than text");
            float* out;
            auto result = new_array<float>({n, width}, &out);
            // some microseconds: with the GIL held, as getting it back from a busy thread takes longer
            if (!read_json_rows({text.c_str(), text.size()}, n, width, out)) return std::nullopt;
            return result;
        },
        "text"_a, "n"_a, "width"_a);

    m.def(
        "places_json",
        [](const Words& items, In<std::int64_t, 1> rows, In<double, 1> scores, std::int64_t first,
           std::optional<In<double, 1>> propensities, std::optional<In<std::int64_t, 1>> teams, const Words& names,
           std::optional<In<double, 2>> contributions) {
            const std::size_t n = items.size(), places = rows.size();
            check_size(scores, n, "scores do not fit the items");
            if (propensities) check_size(*propensities, places, "propensities do not fit the places");
            if (teams) check_size(*teams, places, "teams do not fit the places");
            if (contributions)
                check(contributions->shape(0) == n && contributions->shape(1) == names.size(),
                      "contributions do not fit");
            std::vector<std::string_view> ids, columns;
            std::vector<double> shown, added;
            for (std::size_t i = 0; i < places; ++i) {
                const std::int64_t row = rows.data()[i];
                check(row >= 0 && static_cast<std::size_t>(row) < n, "a row is no item");
                ids.push_back(word_of(items[static_cast<std::size_t>(row)]));
                shown.push_back(scores.data()[row]);
                if (contributions) {
                    const double* const own = contributions->data() + static_cast<std::size_t>(row) * names.size();
                    added.insert(added.end(), own, own + names.size());
                }
            }
            if (contributions)
                for (const nb::handle name : names) columns.push_back(word_of(name));
            Places found{ids, shown, {}, {}, columns, added};
            if (propensities) found.propensities = {propensities->data(), places};
            if (teams) found.teams = {teams->data(), places};
            const std::string text = places_json(found, first);
            return nb::bytes(text.data(), text.size());
        },
        "items"_a, "rows"_a, "scores"_a, "first"_a, "propensities"_a = nb::none(), "teams"_a = nb::none(),
        "names"_a = nb::list(), "contributions"_a = nb::none());
}

}  // namespace rankloop
