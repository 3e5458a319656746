// Binding of what the live loop reads and seals fast.
#include <vector>

#include "bind/arrays.hpp"

#include "serving/blake2b.hpp"
#include "serving/crc32.hpp"
#include "serving/json_rows.hpp"

namespace rankloop {

namespace {

using Texts = nb::typed<nb::list, nb::bytes>;

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

// Does the work once without the GIL where it is long, and with it where getting it back takes longer.
template <typename Work>
void work_on(const std::vector<std::string_view>& texts, Work work) {
    std::size_t size = 0;
    for (const auto text : texts) size += text.size();
    std::optional<nb::gil_scoped_release> released;
    if (size > 65536) released.emplace();
    for (std::size_t i = 0; i < texts.size(); ++i) work(i, texts[i]);
}

}  // namespace

void bind_serving(nb::module_& m) {
    m.def("json_rows", [](const nb::bytes& text, std::size_t n, std::size_t width) -> std::optional<Array<float>> {
        check(width > 0 && n <= text.size() && width <= text.size(), "more rows or columns than text");
        float* out;
        auto result = new_array<float>({n, width}, &out);
        // some microseconds: with the GIL held, as getting it back from a busy thread takes longer
        if (!read_json_rows({text.c_str(), text.size()}, n, width, out)) return std::nullopt;
        return result;
    }, "text"_a, "n"_a, "width"_a);

    m.def("blake2b_of_each", [](const Texts& list) {
        const nb::tuple kept(list);  // nobody else can change it while the GIL is released
        const auto texts = texts_of(kept);
        std::vector<Blake2b::Digest> digests(texts.size());
        work_on(texts, [&](std::size_t i, std::string_view text) { digests[i] = Blake2b::of(text); });
        Texts found;
        for (const auto& digest : digests) found.append(nb::bytes(digest.data(), digest.size()));
        return found;
    }, "texts"_a);

    m.def("crc32_of_each", [](std::uint64_t first, const Texts& list) {
        const nb::tuple kept(list);  // nobody else can change it while the GIL is released
        const auto texts = texts_of(kept);
        std::vector<std::uint32_t> sums(texts.size());
        work_on(texts, [&](std::size_t i, std::string_view text) {
            const std::uint64_t position = first + i;
            sums[i] = crc32(text, crc32({reinterpret_cast<const char*>(&position), sizeof position}));
        });
        nb::typed<nb::list, nb::int_> found;
        for (const std::uint32_t sum : sums) found.append(sum);
        return found;
    }, "first"_a, "texts"_a);
}

}  // namespace rankloop
