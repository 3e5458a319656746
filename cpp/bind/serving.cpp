// Binding of what the live loop reads and seals fast.
#include <vector>

#include "bind/arrays.hpp"

#include "serving/blake2b.hpp"
#include "serving/crc32.hpp"
#include "serving/json_rows.hpp"
#include "serving/rank_json.hpp"

namespace rankloop {

namespace {

using Texts = nb::typed<nb::list, nb::bytes>;
using Words = nb::typed<nb::list, nb::str>;

// The texts of a tuple of bytes; they live as long as it does.
std::vector<std::string_view> texts_of(const nb::tuple& list) {
    std::vector<std::string_view> texts;
    texts.reserve(list.size());
    for (const nb::handle item : list) {
        check(PyBytes_Check(item.ptr()), "a list of bytes is needed");
        texts.emplace_back(PyBytes_AS_STRING(item.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(item.ptr())));
    }
    return texts;
}

std::string_view word_of(const nb::handle item) {
    check(PyUnicode_Check(item.ptr()), "a list of texts is needed");
    Py_ssize_t size;
    const char* const text = PyUnicode_AsUTF8AndSize(item.ptr(), &size);
    if (text == nullptr) nb::raise_python_error();
    return {text, static_cast<std::size_t>(size)};
}

// Does the work once without the GIL where it is long, and with it where getting it back takes longer.
template <typename Work>
void work_on(const std::vector<std::string_view>& texts, Work work) {
    std::size_t size = 0;
    for (const auto text : texts) size += text.size();
    std::optional<nb::gil_scoped_release> released;
    if (size > 65536) released.emplace();
    work();
}

std::vector<Blake2bDigest> blake2b_of_each(const std::vector<std::string_view>& texts) {
    std::vector<Blake2bDigest> digests(texts.size());
    for (std::size_t first = 0; first < texts.size(); first += 4) {
        const std::size_t n = std::min<std::size_t>(texts.size() - first, 4);
        if (n == 1) {
            digests[first] = blake2b(texts[first]);
            continue;
        }
        std::string_view four[4];
        Blake2bDigest found[4];
        std::copy_n(&texts[first], n, four);
        blake2b_of_four(four, found);
        std::copy_n(found, n, &digests[first]);
    }
    return digests;
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
        "blake2b_of_each",
        [](const Texts& list) {
            const nb::tuple kept(list);  // nobody else can change it while the GIL is released
            const auto texts = texts_of(kept);
            std::vector<Blake2bDigest> digests;
            work_on(texts, [&] { digests = blake2b_of_each(texts); });
            Texts found;
            for (const auto& digest : digests) found.append(nb::bytes(digest.data(), digest.size()));
            return found;
        },
        "texts"_a);

    // Folds words into a digest: each time that of the digest so far, a position of 8 bytes and the word.
    m.def(
        "blake2b_chain",
        [](const nb::bytes& chain, std::uint64_t first, const Words& words) {
            std::string text(chain.c_str(), chain.size());
            Blake2bDigest digest;
            for (const nb::handle word : words) {
                text.append(reinterpret_cast<const char*>(&first), sizeof first);
                text += word_of(word);
                digest = blake2b(text);
                text.assign(digest.data(), digest.size());
                ++first;
            }
            return nb::bytes(text.data(), text.size());
        },
        "chain"_a, "first"_a, "words"_a);

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

    m.def(
        "crc32_of_each",
        [](std::uint64_t first, const Texts& list) {
            const nb::tuple kept(list);  // nobody else can change it while the GIL is released
            const auto texts = texts_of(kept);
            std::vector<std::uint32_t> sums(texts.size());
            work_on(texts, [&] {
                for (std::size_t i = 0; i < texts.size(); ++i) {
                    const std::uint64_t position = first + i;
                    sums[i] = crc32(texts[i], crc32({reinterpret_cast<const char*>(&position), sizeof position}));
                }
            });
            nb::typed<nb::list, nb::int_> found;
            for (const std::uint32_t sum : sums) found.append(sum);
            return found;
        },
        "first"_a, "texts"_a);
}

}  // namespace rankloop
