// Binding of what the live loop reads fast.
#include "bind/arrays.hpp"

#include "serving/json_rows.hpp"

namespace rankloop {

void bind_serving(nb::module_& m) {
    m.def("json_rows", [](const nb::bytes& text, std::size_t n, std::size_t width) -> std::optional<Array<float>> {
        check(width > 0 && n <= text.size() && width <= text.size(), "more rows or columns than text");
        float* out;
        auto result = new_array<float>({n, width}, &out);
        // some microseconds: with the GIL held, as getting it back from a busy thread takes longer
        if (!read_json_rows({text.c_str(), text.size()}, n, width, out)) return std::nullopt;
        return result;
    }, "text"_a, "n"_a, "width"_a);
}

}  // namespace rankloop
