// Binding of the LETOR reader: a source of bytes in, arrays and lists out.
#include "bind/arrays.hpp"

#include <cerrno>
#include <fcntl.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <system_error>
#include <unistd.h>

#include "letor/reader.hpp"
#include "letor/writer.hpp"

namespace rankloop {

inline letor::Reader::Source from_descriptor(int descriptor) {
    return [descriptor](char* buffer, std::size_t size) {
        for (;;) {
            const auto n = ::read(descriptor, buffer, size);
            if (n >= 0) return static_cast<std::size_t>(n);
            if (errno != EINTR) throw std::system_error(errno, std::generic_category());
        }
    };
}

// A Python stream's `readinto`, called with the GIL held.
inline letor::Reader::Source from_stream(nb::object readinto) {
    return [readinto](char* buffer, std::size_t size) {
        nb::gil_scoped_acquire acquire;
        auto view = nb::steal(PyMemoryView_FromMemory(buffer, static_cast<Py_ssize_t>(size), PyBUF_WRITE));
        const auto n = nb::cast<std::size_t>(readinto(view));
        view.attr("release")();
        return n;
    };
}

template <typename T>
nb::object take_vector(std::vector<T>&& values) {
    auto* const kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

inline nb::object take_matrix(letor::GrowingMatrix& x) {
    const std::size_t rows = x.rows, width = x.width;
    float* const data = x.release();
    nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return nb::cast(nb::ndarray<nb::numpy, float, nb::ndim<2>>(data, {rows, width}, owner));
}

inline nb::tuple as_tuple(const letor::BadRow& bad) { return nb::make_tuple(bad.line, bad.message); }

inline nb::dict take_table(letor::Table&& table) {
    nb::list run_ids, doc_ids, bad;
    std::vector<std::int64_t> run_starts, run_lines;
    for (const auto& run : table.runs) {
        run_ids.append(run.has_id ? nb::object(nb::str(run.id.data(), run.id.size())) : nb::none());
        run_starts.push_back(run.first_row);
        run_lines.push_back(run.line);
    }
    if (!table.doc_ids.empty()) {
        std::size_t begin = 0;
        for (const std::size_t end : table.doc_ends) {
            doc_ids.append(nb::str(table.doc_ids.data() + begin, end - begin));
            begin = end;
        }
    }
    for (const auto& row : table.bad) bad.append(as_tuple(row));
    nb::dict result;
    result["X"] = take_matrix(table.x);
    result["y"] = take_vector(std::move(table.labels));
    result["run_ids"] = run_ids;
    result["run_starts"] = take_vector(std::move(run_starts));
    result["run_lines"] = take_vector(std::move(run_lines));
    result["doc_ids"] = table.doc_ids.empty() ? nb::none() : nb::object(doc_ids);
    result["bad"] = bad;
    result["n_bad"] = table.n_bad;
    result["error"] = table.error ? nb::object(as_tuple(*table.error)) : nb::none();
    return result;
}

void bind_letor(nb::module_& m) {
    nb::class_<letor::Reader>(m, "LetorReader")
        .def(
            "__init__",
            [](letor::Reader* self, nb::object source, std::int64_t n_features, int base, float null_value,
               std::int64_t max_index, std::int64_t max_bytes, bool skip_bad, bool doc_ids, std::size_t block_bytes) {
                const letor::Options options{n_features, base, null_value, max_index, max_bytes, skip_bad, doc_ids};
                new (self) letor::Reader(nb::isinstance<nb::int_>(source) ? from_descriptor(nb::cast<int>(source))
                                                                          : from_stream(source),
                                         options, block_bytes);
            },
            "source"_a, nb::kw_only(), "n_features"_a, "base"_a, "null_value"_a, "max_index"_a, "max_bytes"_a,
            "skip_bad"_a, "doc_ids"_a, "block_bytes"_a)
        .def(
            "read",
            [](letor::Reader& self, std::size_t enough, unsigned threads) {
                letor::Table table;
                {
                    nb::gil_scoped_release release;
                    table = self.read(enough, threads);
                }
                return take_table(std::move(table));
            },
            "enough"_a, "threads"_a)
        .def("fix_width", &letor::Reader::fix_width)
        .def_prop_ro("base", &letor::Reader::base)
        .def_prop_ro("finished", &letor::Reader::finished)
        .def_prop_ro("lines", &letor::Reader::lines)
        .def_prop_ro("bytes_read", &letor::Reader::bytes_read);
    m.def(
        "format_letor",
        [](nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu> x,
           nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu> y,
           std::vector<std::string> query_ids, std::optional<std::vector<std::string>> doc_ids, int base, bool sparse) {
            const std::string text = letor::format_rows(x.data(), y.data(), x.shape(0), x.shape(1), query_ids,
                                                        doc_ids ? &*doc_ids : nullptr, base, sparse);
            return nb::bytes(text.data(), text.size());
        },
        "x"_a, "y"_a, "query_ids"_a, "doc_ids"_a.none(), "base"_a, "sparse"_a);
}

}  // namespace rankloop
