// Binding of live features: the state that entries change, and what a request reads of it.
#include "bind/live_features.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "features/steps.hpp"
#include "features/view.hpp"

namespace rankloop {

namespace {

using namespace features;

using FieldArgument = std::tuple<std::string, std::size_t, bool>;
using SlotArgument = std::tuple<std::string, std::uint32_t>;
using RecipeArgument =
    std::tuple<std::string, std::string, std::vector<std::uint32_t>, std::string, std::int64_t, std::int64_t>;
using StepArgument = std::tuple<std::string, std::size_t, std::string, std::uint32_t, std::uint32_t, std::uint32_t,
                                std::uint32_t, double>;
using Key = std::optional<nb::bytes>;

template <typename Kind, std::size_t n>
Kind one_of(const std::string& word, const std::array<const char*, n>& words) {
    for (std::size_t k = 0; k < n; ++k)
        if (word == words[k]) return static_cast<Kind>(k);
    throw nb::value_error("unknown word");
}

std::string_view view_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

Hash hash_of(const Key& key) { return key ? hash_text(view_of(*key)) : 0; }

std::vector<FieldSpec> specs_of(const std::vector<FieldArgument>& fields) {
    std::vector<FieldSpec> specs;
    for (const auto& [type, size, has_terms] : fields) {
        const auto known = one_of<Type>(type, std::array{"number", "category", "categories", "text", "vector"});
        check(known != Type::vector || (size >= 1 && size <= 4096), "a vector has 1 to 4096 numbers");
        specs.push_back({known, size, has_terms});
    }
    return specs;
}

// A part of a key that is a field is a category of it, or a list of categories.
void check_slot(const Slot& slot, const std::vector<FieldSpec>& items, const std::vector<FieldSpec>& users,
                std::size_t request_fields) {
    if (slot.source == Source::request_field) check(slot.field < request_fields, "no such field");
    if (slot.source != Source::item_field && slot.source != Source::user_field) return;
    const auto& specs = slot.source == Source::item_field ? items : users;
    check(slot.field < specs.size(), "no such field");
    const Type type = specs[slot.field].type;
    check(type == Type::category || type == Type::categories, "a key needs categories");
}

bool is_list(const Slot& slot, const std::vector<FieldSpec>& items, const std::vector<FieldSpec>& users) {
    if (slot.source != Source::item_field && slot.source != Source::user_field) return false;
    return (slot.source == Source::item_field ? items : users)[slot.field].type == Type::categories;
}

// How the core fills columns of matrices.
struct Steps {
    std::vector<Step> steps;
    std::size_t width;
};

void set_value(Column& column, std::uint32_t row, const nb::handle value) {
    switch (column.spec.type) {
        case Type::number:
            column.numbers[row] = nb::cast<double>(value);
            break;
        case Type::category:
            column.codes[row] = column.words.code(text_of(value));
            break;
        case Type::categories: {
            std::vector<std::uint32_t> codes;
            for (const nb::handle word : nb::cast<nb::tuple>(value)) codes.push_back(column.words.code(text_of(word)));
            column.lists.set(row, codes);
            break;
        }
        case Type::text:
            column.set_text(row, text_of(value));
            break;
        case Type::vector: {
            const auto bytes = nb::cast<nb::bytes>(value);
            const std::size_t d = column.spec.size;
            check(bytes.size() == d * sizeof(float), "a vector of another length");
            std::memcpy(&column.vectors[row * d], bytes.c_str(), bytes.size());
        }
    }
}

nb::str python_text(std::string_view text) { return nb::str(text.data(), text.size()); }

nb::object get_value(const Column& column, std::uint32_t row) {
    switch (column.spec.type) {
        case Type::number:
            return std::isnan(column.numbers[row]) ? nb::object(nb::none()) : nb::float_(column.numbers[row]);
        case Type::category:
            return column.codes[row] == nowhere ? nb::object(nb::none())
                                                : python_text(column.words.text(column.codes[row]));
        case Type::categories: {
            if (!column.lists.has(row)) return nb::none();
            nb::list words;
            for (const std::uint32_t code : column.lists.get(row)) words.append(python_text(column.words.text(code)));
            return nb::tuple(words);
        }
        case Type::text: {
            const auto text = column.texts.get(row);
            return column.texts.has(row) ? nb::object(python_text({text.data(), text.size()})) : nb::none();
        }
        case Type::vector: {
            const std::size_t d = column.spec.size;
            const float* const first = &column.vectors[row * d];
            if (std::isnan(*first)) return nb::none();
            return nb::bytes(first, d * sizeof(float));
        }
    }
    return nb::none();
}

// The value of each field, in order; None is missing, and `...` leaves a field as it is.
void put(Fold& fold, bool users, std::string_view id, const nb::list& values) {
    Catalogue& catalogue = users ? fold.users : fold.items;
    check(values.size() == catalogue.columns.size(), "one value a field is needed");
    const std::uint32_t row = catalogue.row(id);
    fold.chain.add(hash_text(id));
    for (std::size_t k = 0; k < values.size(); ++k) {
        const nb::handle value = values[k];
        if (value.is(Py_Ellipsis)) continue;
        Column& column = catalogue.columns[k];
        if (value.is_none())
            column.clear(row);
        else
            set_value(column, row, value);
        fold.chain.add(static_cast<Hash>(k));
        if (!value.is_none()) {
            if (column.spec.type == Type::number) fold.chain.add(column.numbers[row]);
            if (column.spec.type == Type::category) fold.chain.add(column.words.hash(column.codes[row]));
            if (column.spec.type == Type::text) fold.chain.add(hash_text(text_of(value)));
            if (column.spec.type == Type::vector) fold.chain.add(hash_text(view_of(nb::cast<nb::bytes>(value))));
            if (column.spec.type == Type::categories)
                for (const std::uint32_t code : column.lists.get(row)) fold.chain.add(column.words.hash(code));
        }
    }
}

nb::bytes bytes_of(Writer& out) {
    const std::string text = out.take();
    return nb::bytes(text.data(), text.size());
}

nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::bytes>> parts_of(const Fold& fold) {
    nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::bytes>> parts;
    const auto add = [&](const char* name, Writer& out) { parts.append(nb::make_tuple(name, bytes_of(out))); };
    Writer out;
    fold.items.write(out);
    add("items", out);
    fold.users.write(out);
    add("users", out);
    for (const Words& words : fold.request_words) words.write(out);
    add("words", out);
    for (const Counter& counter : fold.counters) counter.write(out);
    add("counters", out);
    fold.rankings.write(out);
    add("rankings", out);
    out.put(fold.chain);
    add("chain", out);
    return parts;
}

// Reads a part wholly or not at all.
template <typename Part, typename Read>
void read_whole(Part& part, const nb::bytes& bytes, Read read) {
    Reader in(view_of(bytes));
    Part fresh = part;
    read(fresh, in);
    in.finish();
    std::swap(part, fresh);
}

// Catalogues must be new: a view knows the rows of its items.
void read_part(Fold& fold, const std::string& name, const nb::bytes& part) {
    if (name == "items" || name == "users") {
        Catalogue& catalogue = name == "users" ? fold.users : fold.items;
        check(catalogue.is_new(), "a state is read into a new one");
        read_whole(catalogue, part, [](Catalogue& fresh, Reader& in) { fresh.read(in); });
    } else if (name == "words") {
        read_whole(fold.request_words, part, [](std::vector<Words>& fresh, Reader& in) {
            for (Words& words : fresh) words.read(in);
        });
    } else if (name == "counters") {
        read_whole(fold.counters, part, [](std::vector<Counter>& fresh, Reader& in) {
            for (Counter& counter : fresh) counter.read(in);
        });
    } else if (name == "rankings") {
        const std::size_t fields = fold.request_words.size();
        read_whole(fold.rankings, part, [&](Rankings& fresh, Reader& in) { fresh.read(in, fields); });
    } else {
        check(name == "chain", "no such part");
        read_whole(fold.chain, part, [](Chain& fresh, Reader& in) { fresh = in.get<Chain>(); });
    }
}

template <typename T, typename Fill>
Array<T> filled(std::initializer_list<std::size_t> shape, Fill fill) {
    T* out;
    auto result = new_array<T>(shape, &out);
    fill(out);
    return result;
}

bool is_of_type(const Column& column, std::initializer_list<Type> types) {
    return std::find(types.begin(), types.end(), column.spec.type) != types.end();
}

void check_field(const Fold& fold, Side side, std::size_t field, std::initializer_list<Type> types) {
    check(side != Side::request, "no such field");
    const auto& columns = (side == Side::user ? fold.users : fold.items).columns;
    check(field < columns.size(), "no such field");
    check(is_of_type(columns[field], types), "a field of another type");
}

// `numbers`: how many a request has.
void check_step(const Fold& fold, const Step& step, std::size_t numbers) {
    const auto check_counter = [&](std::uint32_t counter) { check(counter < fold.counters.size(), "no such counter"); };
    check(step.buckets > 0, "at least one bucket is needed");
    switch (step.operation) {
        case Operation::number:
        case Operation::age:
            if (step.side != Side::request) return check_field(fold, step.side, step.from, {Type::number});
            return check(step.from < numbers, "no such field");
        case Operation::code:
            if (step.side != Side::request) return check_field(fold, step.side, step.from, {Type::category});
            return check(step.from < fold.request_words.size(), "no such field");
        case Operation::flags:
            check(step.limit <= 1000 && step.buckets <= 1000,
                  "at most 1000 categories, and 1 to 1000 buckets, have columns");
            return check_field(fold, step.side, step.from, {Type::categories});
        case Operation::length:
            return check_field(fold, step.side, step.from, {Type::categories, Type::text});
        case Operation::affinity:
            check_counter(step.overall);
            [[fallthrough]];
        default:
            check_counter(step.from);
    }
}

void bind_fold(nb::module_& m) {
    nb::class_<PythonContext>(m, "FeatureContext")
        .def(
            "__init__",
            [](PythonContext* self, const Key& user, const Key& session, const Key& query,
               const std::vector<std::optional<std::string>>& words, const std::vector<double>& numbers) {
                new (self) PythonContext{{hash_of(user), hash_of(session), hash_of(query), {}}, words, numbers};
                for (const auto& word : words) self->context.fields.push_back(word ? hash_text(*word) : 0);
            },
            "user"_a.none(), "session"_a.none(), "query"_a.none(), "words"_a, "numbers"_a);

    nb::class_<Fold>(m, "FeatureFold")
        .def(
            "__init__",
            [](Fold* self, const std::vector<FieldArgument>& items, const std::vector<FieldArgument>& users,
               std::size_t request_fields, const std::vector<SlotArgument>& slots,
               const std::vector<RecipeArgument>& recipes, const std::vector<double>& examination, std::size_t max_keys,
               std::size_t max_rankings) {
                const auto of_items = specs_of(items), of_users = specs_of(users);
                check(request_fields <= 1 << 16, "too many fields");
                std::vector<Slot> known;
                for (const auto& [source, field] : slots) {
                    known.push_back({one_of<Source>(source, std::array{"item", "item_field", "user", "session", "query",
                                                                       "user_field", "request_field"}),
                                     field});
                    check_slot(known.back(), of_items, of_users, request_fields);
                }
                std::vector<Recipe> made;
                for (const auto& [event, of, key, weight, half_life, window] : recipes) {
                    std::size_t lists = 0;
                    for (const std::uint32_t slot : key) {
                        check(slot < known.size(), "no such slot");
                        lists += is_list(known[slot], of_items, of_users);
                    }
                    check(key.size() <= 4 && lists <= 1, "a key has at most four parts, and one of them is a list");
                    check(half_life >= 0 && window >= 0, "a duration must not be negative");
                    made.push_back({hash_text(event), of.empty() ? 0 : hash_text(of), key,
                                    one_of<Weight>(weight, std::array{"once", "each", "value", "last"}), half_life,
                                    window});
                }
                new (self) Fold(of_items, of_users, request_fields, known, made, examination, max_keys, max_rankings);
            },
            "items"_a, "users"_a, "request_fields"_a, "slots"_a, "recipes"_a, "examination"_a, "max_keys"_a,
            "max_rankings"_a)
        .def(
            "put",
            [](Fold& fold, bool users, const nb::bytes& id, const nb::typed<nb::list, nb::object>& values) {
                put(fold, users, view_of(id), values);
            },
            "users"_a, "key"_a, "values"_a)
        .def(
            "remove",
            [](Fold& fold, bool users, const nb::bytes& id) {
                const Hash hash = hash_text(view_of(id));
                if ((users ? fold.users : fold.items).remove(hash)) fold.chain.add(~hash);
            },
            "users"_a, "key"_a)
        .def(
            "get",
            [](const Fold& fold, bool users, const nb::bytes& id) -> std::optional<nb::typed<nb::list, nb::object>> {
                const Catalogue& catalogue = users ? fold.users : fold.items;
                const std::uint32_t row = catalogue.find(hash_text(view_of(id)));
                if (row == nowhere) return std::nullopt;
                nb::typed<nb::list, nb::object> values;
                for (const Column& column : catalogue.columns) values.append(get_value(column, row));
                return values;
            },
            "users"_a, "key"_a)
        .def(
            "count_new",
            [](const Fold& fold, bool users, const nb::typed<nb::list, nb::bytes>& ids) {
                const Catalogue& catalogue = users ? fold.users : fold.items;
                std::size_t found = 0;
                for (const nb::handle id : ids)
                    found += catalogue.find(hash_text(view_of(nb::cast<nb::bytes>(id)))) == nowhere;
                return found;
            },
            "users"_a, "ids"_a)
        .def(
            "size", [](const Fold& fold, bool users) { return (users ? fold.users : fold.items).size(); }, "users"_a)
        .def("rankings", [](const Fold& fold) { return fold.rankings.size(); })
        .def(
            "categories",
            [](const Fold& fold, const std::string& source, std::size_t field) {
                check(source != "request" || field < fold.request_words.size(), "no such field");
                const auto& columns = (source == "user" ? fold.users : fold.items).columns;
                check(source == "request" || field < columns.size(), "no such field");
                const Words& words = source == "request" ? fold.request_words[field] : columns[field].words;
                nb::typed<nb::list, nb::str> texts;
                for (std::uint32_t code = 0; code < words.size(); ++code) texts.append(python_text(words.text(code)));
                return texts;
            },
            "source"_a, "field"_a)
        .def(
            "show",
            [](Fold& fold, const nb::str& ranking, const Ids& items, const PythonContext& context, std::int64_t at,
               std::size_t first_place) {
                show(fold, hash_text(text_of(ranking)), hashes_of(items), context, at, first_place);
            },
            "ranking"_a, "items"_a, "context"_a, "at"_a, "first_place"_a)
        .def(
            "observe",
            [](Fold& fold, const std::optional<nb::str>& ranking, const nb::str& item, const nb::str& event,
               double value, const PythonContext& context, std::int64_t at) {
                check_context(fold, context), check_time(at);
                fold.observe(ranking ? hash_text(text_of(*ranking)) : 0, hash_text(text_of(item)),
                             hash_text(text_of(event)), value, context.context, at);
            },
            "ranking"_a.none(), "item"_a, "event"_a, "value"_a, "context"_a, "at"_a)
        .def(
            "forget",
            [](Fold& fold, const nb::typed<nb::list, nb::bytes>& keys) {
                std::vector<Hash> hashes;
                for (const nb::handle key : keys) hashes.push_back(hash_text(view_of(nb::cast<nb::bytes>(key))));
                fold.forget(hashes);
            },
            "keys"_a)
        .def(
            "view",
            [](const Fold& fold, const Ids& items, const PythonContext& context) {
                check_context(fold, context);
                return View(fold, hashes_of(items), context.context, context.numbers);
            },
            "items"_a, "context"_a, nb::keep_alive<0, 1>())
        .def("counter_statistics",
             [](const Fold& fold) {
                 nb::typed<nb::list, nb::typed<nb::tuple, int, int, int>> all;
                 for (const Counter& counter : fold.counters)
                     all.append(nb::make_tuple(counter.size(), counter.evicted(), counter.bytes()));
                 return all;
             })
        .def(
            "memory", [](const Fold& fold, bool users) { return (users ? fold.users : fold.items).bytes(); }, "users"_a)
        .def("digest", [](const Fold& fold) { return nb::bytes(&fold.chain, sizeof(fold.chain)); })
        .def("to_parts", &parts_of)
        .def("read_part", &read_part, "name"_a, "part"_a);
}

Side side_of(const std::string& word) { return one_of<Side>(word, std::array{"item", "user", "request"}); }

void bind_steps(nb::module_& m) {
    nb::class_<Steps>(m, "FeatureSteps")
        .def(
            "__init__",
            [](Steps* self, const std::vector<StepArgument>& steps, std::size_t width) {
                std::vector<Step> known;
                for (const auto& [operation, place, side, from, overall, limit, buckets, prior] : steps) {
                    known.push_back({one_of<Operation>(operation, std::array{"number", "age", "code", "flags", "length",
                                                                             "ratio", "count", "since", "affinity"}),
                                     place, side_of(side), from, overall, limit, buckets, prior});
                    check(place <= width && known.back().width() <= width - place, "a column beyond the last");
                }
                new (self) Steps{known, width};
            },
            "steps"_a, "width"_a);
}

void bind_view(nb::module_& m) {
    nb::class_<View>(m, "FeatureView")
        .def("count_unknown", &View::count_unknown)
        .def(
            "fill",
            [](const View& view, const Steps& steps, std::int64_t at, Out<float, 2> out) {
                check_time(at);
                check(out.shape(0) == view.size() && out.shape(1) == steps.width, "a row an item is needed");
                for (const Step& step : steps.steps) check_step(view.fold(), step, view.numbers());
                const Filler filler(view, at, out.data(), steps.width);
                for (const Step& step : steps.steps) filler.fill(step);
            },
            "steps"_a, "at"_a, "out"_a)
        .def(
            "vectors",
            [](const View& view, const std::string& side, std::size_t field) {
                check_field(view.fold(), side_of(side), field, {Type::vector});
                return filled<float>({view.size(), view.column(side_of(side), field).spec.size},
                                     [&](float* out) { view.vectors(side_of(side), field, out); });
            },
            "side"_a, "field"_a)
        .def(
            "codes",
            [](const View& view, std::size_t field) {
                check_field(view.fold(), Side::item, field, {Type::category});
                return filled<float>({view.size()}, [&](float* out) {
                    for (std::size_t i = 0; i < view.size(); ++i)
                        out[i] = static_cast<float>(view.code(Side::item, field, 0xffffff, 1, i));
                });
            },
            "field"_a)
        .def(
            "sums",
            [](const View& view, std::size_t counter, std::size_t item, std::int64_t at) {
                const auto& counters = view.fold().counters;
                check(counter < counters.size(), "no such counter"), check_time(at);
                check(item < view.size(), "no such item");
                Sums all{0, 0};
                const std::size_t keys = view.each_sum(counters[counter], item, at, [&](const Sums& sums) {
                    all.n += sums.n;
                    all.m += sums.m;
                });
                return keys ? std::tuple(all.n, all.m) : std::tuple(missing_value, missing_value);
            },
            "counter"_a, "item"_a, "at"_a)
        .def(
            "cross",
            [](const View& view, const std::vector<std::size_t>& slots, std::uint32_t buckets) {
                check(buckets > 0, "at least one bucket is needed");
                for (const std::size_t slot : slots)
                    check(slot < view.fold().slots().size() && !view.is_list(slot), "single categories are needed");
                return filled<float>({view.size()}, [&](float* out) {
                    std::vector<Hash> keys(view.size(), 1), parts(view.size());
                    for (const std::size_t slot : slots) {
                        view.parts(slot, parts.data());
                        for (std::size_t i = 0; i < keys.size(); ++i)
                            keys[i] = keys[i] && parts[i] ? combine(keys[i], parts[i]) : 0;
                    }
                    for (std::size_t i = 0; i < keys.size(); ++i)
                        out[i] = static_cast<float>(keys[i] ? static_cast<double>(keys[i] % buckets) : missing_value);
                });
            },
            "slots"_a, "buckets"_a)
        .def(
            "match",
            [](const View& view, std::size_t field, const nb::str& query, const std::string& how) {
                check_field(view.fold(), Side::item, field, {Type::text});
                const auto kind = one_of<Match>(how, std::array{"terms", "ngrams", "bm25"});
                return filled<double>({view.size()},
                                      [&](double* out) { view.match(field, text_of(query), kind, out); });
            },
            "field"_a, "query"_a, "how"_a);
}

}  // namespace

void bind_live_features(nb::module_& m) {
    bind_fold(m);
    bind_steps(m);
    bind_view(m);
    m.def(
        "row_likeness",
        [](In<float, 2> x, In<float, 2> y, const std::string& how) {
            const std::size_t d = x.shape(1);
            check(y.shape(1) == d && (y.shape(0) == 1 || y.shape(0) == x.shape(0)), "rows of one length are needed");
            const auto kind = one_of<Likeness>(how, std::array{"cosine", "dot", "distance"});
            return filled<double>({x.shape(0)}, [&](double* out) {
                for (std::size_t i = 0; i < x.shape(0); ++i)
                    out[i] = likeness(x.data() + i * d, y.data() + (y.shape(0) == 1 ? 0 : i * d), d, kind);
            });
        },
        "x"_a, "y"_a, "how"_a);
    m.def("terms_of", [](const nb::str& text) { return terms_of(text_of(text)); }, "text"_a);
    m.def(
        "words_of",
        [](const nb::str& text) {
            std::vector<std::vector<std::uint32_t>> words;
            each_word(text_of(text),
                      [&](const std::uint32_t* first, const std::uint32_t* last) { words.emplace_back(first, last); });
            return words;
        },
        "text"_a);
}

}  // namespace rankloop
