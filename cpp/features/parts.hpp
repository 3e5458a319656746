// Write a state to bytes, and read it back.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rankloop::features {

class Writer {
public:
    template <typename T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    }
    template <typename T>
    void put_all(const std::vector<T>& values) {
        put<std::uint64_t>(values.size());
        if (!values.empty()) out_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    }
    void put_text(std::string_view text) {
        put<std::uint64_t>(text.size());
        out_.append(text);
    }
    std::string take() { return std::move(out_); }

private:
    std::string out_;
};

// A part that was cut or changed is refused by its size; nothing is read beyond its end.
class Reader {
public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}

    template <typename T>
    T get() {
        T value;
        std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
        return value;
    }
    template <typename T>
    std::vector<T> get_all() {
        const auto n = get<std::uint64_t>();
        if (n > bytes_.size() / sizeof(T)) damaged();
        std::vector<T> values(n);
        const auto part = take(n * sizeof(T));
        if (n) std::memcpy(values.data(), part.data(), part.size());
        return values;
    }
    std::string_view get_text() { return take(get<std::uint64_t>()); }
    void finish() const {
        if (!bytes_.empty()) damaged();
    }
    [[noreturn]] static void damaged() { throw std::invalid_argument("a part of the feature state is damaged"); }

private:
    std::string_view take(std::uint64_t n) {
        if (n > bytes_.size()) damaged();
        const auto part = bytes_.substr(0, n);
        bytes_.remove_prefix(n);
        return part;
    }

    std::string_view bytes_;
};

}  // namespace rankloop::features
