// Memory that grows at its end without ever being held twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace rankloop::letor {

// Bytes of our own. From 128 KB on they are pages of their own where the system has `mremap`, which moves
// pages rather than bytes: growing costs no second copy, pages not yet written take no memory, and what
// is freed goes back to the system at once. Elsewhere the C library's `realloc` does what it can.
class Memory {
public:
    Memory() = default;
    Memory(Memory&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    Memory& operator=(Memory&& other) noexcept {
        if (this != &other) {
            discard();
            data_ = std::exchange(other.data_, nullptr), bytes_ = std::exchange(other.bytes_, 0);
        }
        return *this;
    }
    ~Memory() { discard(); }

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

    void resize(std::size_t bytes) {
        if (bytes == 0) return discard();
        if (paged(bytes) == paged(bytes_)) {
            void* const moved = paged(bytes) ? remap(bytes) : std::realloc(data_, bytes);
            if (!moved) throw std::bad_alloc();
            data_ = moved, bytes_ = bytes;
            return;
        }
        Memory other;
        other.data_ = paged(bytes) ? map(bytes) : std::malloc(bytes);
        if (!other.data_) throw std::bad_alloc();
        other.bytes_ = bytes;
        if (bytes_) std::memcpy(other.data_, data_, std::min(bytes, bytes_));
        *this = std::move(other);
    }

private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;

#if defined(__linux__)
    static bool paged(std::size_t bytes) { return bytes >= std::size_t{1} << 17; }
    static void* map(std::size_t bytes) {
        void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return pages == MAP_FAILED ? nullptr : pages;
    }
    void* remap(std::size_t bytes) {
        void* const pages = ::mremap(data_, bytes_, bytes, MREMAP_MAYMOVE);
        return pages == MAP_FAILED ? nullptr : pages;
    }
    void discard() {
        if (paged(bytes_)) {
            ::munmap(data_, bytes_);
        } else {
            std::free(data_);
        }
        data_ = nullptr, bytes_ = 0;
    }
#else
    static bool paged(std::size_t) { return false; }
    static void* map(std::size_t) { return nullptr; }
    void* remap(std::size_t) { return nullptr; }
    void discard() {
        std::free(std::exchange(data_, nullptr));
        bytes_ = 0;
    }
#endif
};

// A vector of plain values in such memory; new values are not set to 0.
template <typename T>
class Growing {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    Growing() = default;
    Growing(Growing&& other) noexcept : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
    Growing& operator=(Growing&& other) noexcept {
        memory_ = std::move(other.memory_), size_ = std::exchange(other.size_, 0);
        return *this;
    }

    T* data() { return static_cast<T*>(memory_.data()); }
    const T* data() const { return static_cast<const T*>(memory_.data()); }
    std::size_t size() const { return size_; }
    std::size_t capacity() const { return memory_.bytes() / sizeof(T); }
    T& operator[](std::size_t i) { return data()[i]; }
    const T& operator[](std::size_t i) const { return data()[i]; }
    const T& back() const { return data()[size_ - 1]; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }

    void reserve(std::size_t n) {
        if (n > capacity()) memory_.resize(std::max({n, capacity() + capacity() / 2, 256 / sizeof(T)}) * sizeof(T));
    }
    void resize(std::size_t n) { reserve(n), size_ = n; }
    void clear() { size_ = 0; }
    void push(T value) {
        reserve(size_ + 1);
        data()[size_++] = value;
    }
    T* extend(std::size_t n) {
        reserve(size_ + n);
        size_ += n;
        return data() + size_ - n;
    }
    void append(const T* values, std::size_t n) {
        if (n) std::memcpy(extend(n), values, n * sizeof(T));
    }
    void fit() { memory_.resize(size_ * sizeof(T)); }  // no more memory than the values need
    Memory release() {
        fit();
        size_ = 0;
        return std::move(memory_);
    }

private:
    Memory memory_;
    std::size_t size_ = 0;
};

// A float matrix that grows by rows, and in place by columns.
struct GrowingMatrix {
    std::size_t width = 0, rows = 0;
    Growing<float> values;

    std::size_t bytes() const { return rows * width * sizeof(float); }
    const float* row(std::size_t r) const { return values.data() + r * width; }

    float* append(std::size_t n) {
        rows += n;
        return values.extend(n * width);
    }

    // Gives rows a new width and moves what they hold `shift` columns to the right.
    void reshape(std::size_t new_width, std::size_t shift) {
        values.resize(rows * new_width);
        float* const x = values.data();
        const std::size_t held = std::min(width, new_width - shift);
        for (std::size_t r = rows; r-- > 0;) {
            float* const row = x + r * new_width;
            std::memmove(row + shift, x + r * width, held * sizeof(float));
            std::fill_n(row, shift, 0.0f);
            std::fill(row + shift + held, row + new_width, 0.0f);
        }
        width = new_width;
    }

    void keep_first(std::size_t n) {
        rows = n;
        values.resize(n * width);
        values.fit();
    }
};

}  // namespace rankloop::letor
