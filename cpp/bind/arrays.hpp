// Arrays that come from Python and go back, and the checks they pass before any pointer is used.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>

namespace rankloop {

namespace nb = nanobind;
using namespace nb::literals;

template <typename T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

// An array that a kernel fills. It must be exactly that array: a caller who passes another type or a strided view gets
// an error. Otherwise nanobind would hand over a converted copy, and what the kernel writes would be lost silently.
template <typename T, int N>
class Out : public nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu> {
public:
    using Base = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
    Out() = default;
    explicit Out(Base&& array) : Base(std::move(array)) {}
};

// Lets Python see an interrupt: the only way out of a long call.
inline void pause_for_python() {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Lets other threads of Python run during long work. A busy thread gives the interpreter back late, so that
// for some microseconds of work it is kept: a service scores short lists by many calls while it stores others.
class Released {
public:
    explicit Released(std::size_t values) {
        if (values > enough) released_.emplace();
    }

private:
    static constexpr std::size_t enough = 1 << 14;
    std::optional<nb::gil_scoped_release> released_;
};

inline void check(bool fits, const char* message) {
    if (!fits) throw nb::value_error(message);
}

template <typename Array>
void check_size(const Array& values, std::size_t n, const char* message) {
    check(values.size() == n, message);
}

// Offsets start at 0, never fall and end at the number of rows; anything else would read beyond an array.
inline void check_offsets(const In<std::int64_t, 1>& offsets, std::size_t rows) {
    const std::int64_t* const o = offsets.data();
    const std::size_t n = offsets.size();
    check(n > 0 && o[0] == 0 && o[n - 1] == static_cast<std::int64_t>(rows) && std::is_sorted(o, o + n),
          "offsets do not fit the rows");
}

// NaN is in no order: a sort, or a loop over equal values, would run beyond its array or for ever.
template <typename Array>
void check_no_nan(const Array& values, const char* message) {
    bool any = false;
    for (std::size_t i = 0; i < values.size(); ++i) any |= std::isnan(values.data()[i]);
    check(!any, message);
}

// What NumPy calls a type: its code, and how the generated stubs write an array of it.
template <typename T>
struct Dtype;
template <>
struct Dtype<float> {
    static constexpr const char* code = "f4";
    static constexpr auto array = nb::detail::const_name("numpy.typing.NDArray[numpy.float32]");
};
template <>
struct Dtype<double> {
    static constexpr const char* code = "f8";
    static constexpr auto array = nb::detail::const_name("numpy.typing.NDArray[numpy.float64]");
};
template <>
struct Dtype<std::uint8_t> {
    static constexpr const char* code = "u1";
    static constexpr auto array = nb::detail::const_name("numpy.typing.NDArray[numpy.uint8]");
};
template <>
struct Dtype<std::int32_t> {
    static constexpr const char* code = "i4";
    static constexpr auto array = nb::detail::const_name("numpy.typing.NDArray[numpy.int32]");
};
template <>
struct Dtype<std::int64_t> {
    static constexpr const char* code = "i8";
    static constexpr auto array = nb::detail::const_name("numpy.typing.NDArray[numpy.int64]");
};

// An array that belongs to Python; unlike nb::object, it tells the stubs its type.
template <typename T>
class Array : public nb::object {
public:
    static constexpr auto Name = Dtype<T>::array;
    explicit Array(nb::object&& array) : nb::object(std::move(array)) {}
};

// An array of our own that Python will free. NumPy makes it: for a short one, that is the fastest.
template <typename T>
Array<T> new_array(std::initializer_list<std::size_t> shape, T** data) {
    std::size_t n = 1;
    for (const std::size_t k : shape) {
        if (k != 0 && n > SIZE_MAX / sizeof(T) / k) throw std::bad_alloc();
        n *= k;
    }
    static const nb::handle empty = nb::object(nb::module_::import_("numpy").attr("empty")).release();
    static const nb::handle type = nb::object(nb::module_::import_("numpy").attr("dtype")(Dtype<T>::code)).release();
    const nb::object sizes = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
    if (!sizes.is_valid()) nb::raise_python_error();
    Py_ssize_t at = 0;
    for (const std::size_t k : shape) {
        // The function, as the macro does not exist in the stable interface, by which wheels fit later versions.
        if (PyTuple_SetItem(sizes.ptr(), at++, nb::int_(k).release().ptr()) != 0) nb::raise_python_error();
    }
    nb::object array = empty(sizes, type);
    *data = nb::cast<nb::ndarray<T, nb::c_contig, nb::device::cpu>>(array).data();
    return Array<T>(std::move(array));
}

}  // namespace rankloop

// As for any array, but without the permission to convert.
template <typename T, int N>
struct nanobind::detail::type_caster<rankloop::Out<T, N>> {
    using Base = make_caster<typename rankloop::Out<T, N>::Base>;
    using Exact = rankloop::Out<T, N>;
    NB_TYPE_CASTER(Exact, Base::Name)

    bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
        Base array;
        const auto exact = static_cast<std::uint8_t>(flags & ~static_cast<std::uint8_t>(cast_flags::convert));
        if (!array.from_python(source, exact, cleanup)) return false;
        value = Exact(std::move(array.value));
        return true;
    }
};
