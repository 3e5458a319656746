// Binding of the LETOR reader: a source of bytes in, arrays and lists out.
#include "bind/sparse.hpp"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <system_error>
#include <unistd.h>

#include "letor/gather.hpp"
#include "letor/reader.hpp"
#include "letor/writer.hpp"

namespace rankloop {

inline letor::Reader::Source from_descriptor(int descriptor) {
    return [descriptor](char* buffer, std::size_t size) {
        for (;;) {
            const auto n = ::read(descriptor, buffer, size);
            if (n >= 0) return static_cast<std::size_t>(n);
            if (errno != EINTR) throw std::system_error(errno, std::generic_category());
            pause_for_python();
        }
    };
}

// A Python stream's `readinto`, called with the GIL held.
inline letor::Reader::Source from_stream(nb::object readinto) {
    return [readinto](char* buffer, std::size_t size) {
        nb::gil_scoped_acquire acquire;
        auto view = nb::steal(PyMemoryView_FromMemory(buffer, static_cast<Py_ssize_t>(size), PyBUF_WRITE));
        const nb::object read = readinto(view);
        view.attr("release")();
        std::size_t n = 0;
        if (!nb::try_cast(read, n) || n > size) throw nb::value_error("readinto did not return how many bytes it read");
        return n;
    };
}

// An array of what has grown; Python will free it.
template <typename T, typename Held, typename... Shape>
nb::object take_array(letor::Growing<Held>&& values, Shape... shape) {
    static_assert(sizeof(T) == sizeof(Held));
    auto* const kept = new letor::Memory(values.release());
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<letor::Memory*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<sizeof...(Shape)>>(kept->data(), {shape...}, owner));
}

inline nb::tuple take_texts(letor::Texts&& texts) {
    const std::size_t bytes = texts.bytes.size(), n = texts.size();
    nb::object text = take_array<std::uint8_t>(std::move(texts.bytes), bytes);
    return nb::make_tuple(text, take_array<std::int64_t>(std::move(texts.ends), n));
}

// Ids of runs: numbers where all are plain whole numbers, else texts, or None where rows have none.
inline nb::object take_run_ids(letor::Texts&& ids) {
    if (ids.size() > 0 && ids[0].empty()) return nb::none();
    letor::Growing<std::int64_t> numbers;
    std::int64_t value;
    for (std::size_t i = 0; i < ids.size() && letor::plain_number(ids[i], value); ++i) numbers.push(value);
    const std::size_t n = numbers.size();
    if (n == ids.size()) return take_array<std::int64_t>(std::move(numbers), n);
    return take_texts(std::move(ids));
}

inline nb::tuple as_tuple(const letor::BadRow& bad) { return nb::make_tuple(bad.line, bad.message); }

// A dict, which the stubs call by the name of its Python type.
class Rows : public nb::dict {
public:
    static constexpr auto Name = nb::detail::const_name("rankloop.data.io.letor_rows.LetorRows");
};

inline Rows take_table(letor::Table&& table) {
    const std::size_t rows = table.x.rows, width = table.x.width, runs = table.runs.size(),
                      cost = table.amount().bytes();
    nb::list bad;
    for (const auto& row : table.bad.first) bad.append(as_tuple(row));
    Rows result;
    if (table.sparse) {
        const std::size_t entries = table.entries.size();
        result["X"] = nb::make_tuple(take_array<std::int64_t>(std::move(table.entries.ends), rows),
                                     take_array<std::int32_t>(std::move(table.entries.columns), entries),
                                     take_array<float>(std::move(table.entries.values), entries), width);
    } else {
        result["X"] = take_array<float>(std::move(table.x.values), rows, width);
    }
    result["y"] = take_array<double>(std::move(table.labels), rows);
    result["run_ids"] = take_run_ids(std::move(table.runs.ids));
    result["run_starts"] = take_array<std::int64_t>(std::move(table.runs.starts), runs);
    if (table.doc_ids.size() > 0) {
        table.doc_ids.pad_to(rows);
        result["doc_ids"] = take_texts(std::move(table.doc_ids));
    } else {
        result["doc_ids"] = nb::none();
    }
    result["bad"] = bad;
    result["n_bad"] = table.bad.n;
    result["error"] = table.error ? nb::object(as_tuple(*table.error)) : nb::none();
    result["cost"] = cost;
    return result;
}

// A reader, and whether a thread is using it.
struct GuardedReader {
    letor::Reader reader;
    std::atomic<bool> busy = false;

    letor::Table read(std::size_t enough, unsigned threads, std::size_t held) {
        check(!busy.exchange(true), "another thread is reading with this reader");
        struct Leave {
            std::atomic<bool>& busy;
            ~Leave() { busy = false; }
        } leave{busy};
        nb::gil_scoped_release release;
        return reader.read(enough, threads, held, pause_for_python);
    }
};

inline letor::Options checked(const letor::Options& options) {
    constexpr std::int64_t most = 99'999'999;  // an index has eight digits at most
    check(options.base >= -1 && options.base <= 1, "base must be -1, 0 or 1");
    check(options.n_features >= 0 && options.n_features <= most, "n_features is negative or too large");
    check(options.max_index >= 1 && options.max_index <= most, "max_index is not positive or too large");
    check(options.max_bytes >= 0, "max_bytes is negative");
    return options;
}

// Texts `first` to `end` of those that stand one after the other in UTF-8, text i ending at ends[i].
inline nb::typed<nb::list, nb::str> split_text(const In<std::uint8_t, 1>& text, const In<std::int64_t, 1>& ends,
                                               std::size_t first, std::size_t end) {
    check(first <= end && end <= ends.size(), "there are not so many texts");
    nb::list result;
    for (std::int64_t begin = first ? ends.data()[first - 1] : 0; first < end; ++first) {
        const std::int64_t stop = ends.data()[first];
        check(0 <= begin && begin <= stop && static_cast<std::size_t>(stop) <= text.size(),
              "the ends do not fit the text");
        const auto word = nb::steal(PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(text.data()) + begin,
                                                         static_cast<Py_ssize_t>(stop - begin), nullptr));
        if (!word.is_valid()) throw nb::python_error();
        result.append(word);
        begin = stop;
    }
    return result;
}

void bind_letor(nb::module_& m) {
    nb::class_<GuardedReader>(m, "LetorReader")
        .def(
            "__init__",
            [](GuardedReader* self, nb::object source, std::int64_t n_features, int base, float null_value,
               std::int64_t max_index, std::int64_t max_bytes, bool skip_bad, bool doc_ids, bool sparse,
               std::size_t block_bytes) {
                const letor::Options options{n_features, base,     null_value, max_index,
                                             max_bytes,  skip_bad, doc_ids,    sparse};
                check(block_bytes <= std::size_t{1} << 30, "block_bytes is too large");
                new (self) GuardedReader{letor::Reader(
                    nb::isinstance<nb::int_>(source) ? from_descriptor(nb::cast<int>(source)) : from_stream(source),
                    checked(options), block_bytes)};
            },
            "source"_a, nb::kw_only(), "n_features"_a, "base"_a, "null_value"_a, "max_index"_a, "max_bytes"_a,
            "skip_bad"_a, "doc_ids"_a, "sparse"_a, "block_bytes"_a)
        .def(
            "read",
            [](GuardedReader& self, std::optional<std::size_t> enough, unsigned threads, std::size_t held) {
                check(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
                return take_table(self.read(enough.value_or(letor::Reader::everything), threads, held));
            },
            "enough"_a.none(), "threads"_a, "held"_a = 0)
        .def("fix_width", [](GuardedReader& self) { self.reader.fix_width(); })
        .def_prop_ro("base", [](const GuardedReader& self) { return self.reader.base(); })
        .def_prop_ro("finished", [](const GuardedReader& self) { return self.reader.finished(); })
        .def_prop_ro("lines", [](const GuardedReader& self) { return self.reader.lines(); })
        .def_prop_ro("bytes_read", [](const GuardedReader& self) { return self.reader.bytes_read(); })
        .def_prop_ro("met_limit", [](const GuardedReader& self) { return self.reader.met_limit(); })
        .def_prop_ro("open_id", [](const GuardedReader& self) { return self.reader.open_id(); })
        .def_prop_ro("open_rows", [](const GuardedReader& self) { return self.reader.open_rows(); });
    m.def("split_text", &split_text, "text"_a, "ends"_a, "first"_a, "end"_a);
    m.def(
        "gather_rows",
        [](Out<float, 2> x, In<std::int64_t, 1> rows) {
            check_size(rows, x.shape(0), "rows must have one entry a row");
            nb::gil_scoped_release release;
            check(letor::gather_rows(x.data(), x.shape(0), x.shape(1), rows.data()), "rows must name each row once");
        },
        "x"_a.noconvert(), "rows"_a);
    m.def(
        "format_letor",
        [](AnyRows x, In<double, 1> y, std::vector<std::string> query_ids,
           std::optional<std::vector<std::string>> doc_ids, int base, bool sparse) {
            const auto check_rows = [&](std::size_t n) {
                check_size(y, n, "y must have one value a row");
                check(query_ids.size() == n, "query_ids must have one id a row");
                check(!doc_ids || doc_ids->size() == n, "doc_ids must have one id a row");
            };
            const auto* const docs = doc_ids ? &*doc_ids : nullptr;
            std::string text;
            if (const auto* const some = std::get_if<SparseIn>(&x)) {
                const Csr rows = some->rows();
                check_rows(rows.n);
                text = letor::format_rows(rows, y.data(), query_ids, docs, base);
            } else {
                const auto& dense = std::get<In<float, 2>>(x);
                check_rows(dense.shape(0));
                text = letor::format_rows(dense.data(), y.data(), dense.shape(0), dense.shape(1), query_ids, docs, base,
                                          sparse);
            }
            return nb::bytes(text.data(), text.size());
        },
        "x"_a, "y"_a, "query_ids"_a, "doc_ids"_a.none(), "base"_a, nb::kw_only(), "sparse"_a);
}

}  // namespace rankloop
