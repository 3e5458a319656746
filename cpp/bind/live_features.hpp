// What the bindings of live features share: texts and ids from Python, and who asks.
#pragma once

#include "bind/arrays.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "features/fold.hpp"

namespace rankloop {

using Ids = nb::typed<nb::list, nb::str>;

// Who asks, and the categories and numbers of a request.
struct PythonContext {
    features::Context context;
    std::vector<std::optional<std::string>> words;
    std::vector<double> numbers;
};

inline std::string_view text_of(const nb::handle text) {
    check(PyUnicode_Check(text.ptr()), "a text is needed");
    Py_ssize_t size;
    const char* const start = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (start == nullptr) nb::raise_python_error();
    return {start, static_cast<std::size_t>(size)};
}

inline std::vector<features::Hash> hashes_of(const Ids& ids) {
    std::vector<features::Hash> hashes;
    hashes.reserve(ids.size());
    for (const nb::handle id : ids) hashes.push_back(features::hash_text(text_of(id)));
    return hashes;
}

inline void check_time(std::int64_t at) {
    check(features::is_time(at), "a time is at most 2^53 milliseconds before or after 1970");
}

inline void check_context(const features::Fold& fold, const PythonContext& given) {
    check(given.words.size() == fold.request_words.size(), "one category for each field of a request is needed");
}

inline void show(features::Fold& fold, features::Hash ranking, const std::vector<features::Hash>& items,
                 const PythonContext& context, std::int64_t at, std::size_t first_place) {
    check(first_place >= 1 && first_place <= UINT32_MAX, "places count from 1");
    check_context(fold, context), check_time(at);
    for (std::size_t k = 0; k < context.words.size(); ++k)
        if (context.words[k]) fold.request_words[k].code(*context.words[k]);
    fold.show(ranking, items, context.context, at, first_place);
}

template <typename T>
Array<T> copy_of(const std::vector<T>& values) {
    T* out;
    auto result = new_array<T>({values.size()}, &out);
    std::copy(values.begin(), values.end(), out);
    return result;
}

}  // namespace rankloop
