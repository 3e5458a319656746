// Binding of the digests and checksums of the journal's entries, of many at a time.
#include <cstdio>
#include <string_view>
#include <vector>

#include "bind/arrays.hpp"

#include "serving/blake2b.hpp"
#include "serving/crc32.hpp"

namespace rankloop {

namespace {

using Texts = nb::typed<nb::list, nb::bytes>;

struct Views {
    std::vector<std::string_view> texts;
    std::size_t bytes = 0;
};

// The list must not change while the interpreter is released; its texts live as long as it does.
Views views_of(const Texts& list) {
    Views found;
    found.texts.reserve(list.size());
    for (const nb::handle item : list) {
        check(PyBytes_Check(item.ptr()), "a list of bytes is needed");
        char* text;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(item.ptr(), &text, &size) != 0) nb::raise_python_error();
        found.texts.emplace_back(text, static_cast<std::size_t>(size));
        found.bytes += static_cast<std::size_t>(size);
    }
    return found;
}

constexpr std::size_t digest_size = 16;

}  // namespace

void bind_journal(nb::module_& m) {
    m.def(
        "digests",
        [](const Texts& texts) {
            const Views views = views_of(texts);
            std::vector<char> out(digest_size * views.texts.size());
            {
                const Released release(views.bytes);
                blake2b(views.texts, digest_size, out.data());
            }
            Texts found{nb::list()};
            for (std::size_t i = 0; i < out.size(); i += digest_size) found.append(nb::bytes(&out[i], digest_size));
            return found;
        },
        "texts"_a);

    // Of each text after the words "POSITION TIME": positions follow each other from `first` on.
    m.def(
        "checksums",
        [](std::int64_t first, const nb::typed<nb::list, std::int64_t>& times, const Texts& texts) {
            const Views views = views_of(texts);
            check(times.size() == views.texts.size(), "one time a text is needed");
            std::vector<std::int64_t> at;
            at.reserve(times.size());
            for (const nb::handle time : times) {
                at.push_back(PyLong_AsLongLong(time.ptr()));
                if (at.back() == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
            }
            std::vector<std::uint32_t> out;
            out.reserve(at.size());
            {
                const Released release(views.bytes);
                char words[48];
                for (std::size_t i = 0; i < at.size(); ++i) {
                    const int n = std::snprintf(words, sizeof words, "%lld %lld",
                                                static_cast<long long>(first) + static_cast<long long>(i),
                                                static_cast<long long>(at[i]));
                    out.push_back(Crc32::of(views.texts[i], Crc32::of({words, static_cast<std::size_t>(n)})));
                }
            }
            nb::typed<nb::list, std::int64_t> found{nb::list()};
            for (const std::uint32_t sum : out) found.append(sum);
            return found;
        },
        "first"_a, "times"_a, "texts"_a);
}

}  // namespace rankloop
