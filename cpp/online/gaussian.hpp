// A Gaussian over weights, N(w, S), as the second-order rankers use it: its mean w, and a root T of its covariance,
// S = T T', through which they look at documents.
//
// The state is a root of the precision S^-1, never S itself. Queries only ever add to the precision, and a root that
// grows by orthogonal reflections stays a root of something positive definite. A covariance would be made smaller by
// subtraction, and in a long stream rounding can make it indefinite.
#pragma once

#include "linalg/triangular.hpp"
#include "online/influence.hpp"
#include "online/loop.hpp"

namespace rankloop {

// No query makes a direction more certain by more than this factor of the precision. A double has 16 digits: so much is
// lost of the other directions that about 8 of them stay right.
constexpr double max_certainty = 1e8;

// The sum of term(x_ij, j) of each row, in the order of j; eight rows at a time, since a sum alone waits for itself.
template <typename Term>
inline void row_sums(const double* x, std::size_t n, std::size_t d, const Term& term, double* out) {
    constexpr std::size_t together = 8;
    for (std::size_t first = 0; first < n; first += together) {
        const std::size_t some = std::min(together, n - first);
        const double* from[together];
        double sums[together] = {};
        for (std::size_t r = 0; r < together; ++r) from[r] = x + (first + std::min(r, some - 1)) * d;
        for (std::size_t j = 0; j < d; ++j) {
            for (std::size_t r = 0; r < together; ++r) sums[r] += term(from[r][j], j);
        }
        std::copy_n(sums, some, out + first);
    }
}

class Gaussian {
public:
    Gaussian(double* w, std::size_t d) : w_(w), d_(d) {}
    virtual ~Gaussian() = default;
    Gaussian(const Gaussian&) = delete;
    Gaussian& operator=(const Gaussian&) = delete;

    std::size_t size() const { return d_; }
    Products<double>& products() { return products_; }

    // Fills `rows` with the judged documents of a query (n x d), less the first of them, and z = rows T. Their products
    // are those of the covariance, z_i . z_j = x_i S x_j, so that in z the precision is the identity. Only differences
    // inside a query matter to a ranking; taking the first document off keeps large common values from costing digits.
    void whiten(const float* x, const std::uint32_t* documents, std::size_t n) {
        rows.resize(n * d_);
        const float* const origin = x + documents[0] * d_;
        for (std::size_t p = 0; p < n; ++p) {
            const float* const row = x + documents[p] * d_;
            for (std::size_t j = 0; j < d_; ++j) rows[p * d_ + j] = static_cast<double>(row[j]) - origin[j];
        }
        z = rows;
        times_root(z.data(), n);
    }

    // The same of sparse rows, of the columns that they have, for the Gaussian that takes them.
    virtual void whiten(const LocalRows*, const std::uint32_t*, std::size_t) {
        throw std::logic_error("sparse rows need wide columns");
    }

    // After the last change of a query on sparse rows: the weights go back to where they belong.
    virtual void leave(LinearState&) {}

    // The largest |z_i|^2.
    double reach(std::size_t n) const {
        std::vector<double> lengths(n);
        row_sums(z.data(), n, d_, [](double value, std::size_t) { return value * value; }, lengths.data());
        return *std::max_element(lengths.begin(), lengths.end());
    }

    // Brings all documents of the query nearer to its first one, by this factor.
    void shrink(std::size_t n, double by) {
        for (std::size_t i = 0; i < n * d_; ++i) rows[i] *= by, z[i] *= by;
    }

    // out = rows . w
    void score(std::size_t n, double* out) const {
        row_sums(rows.data(), n, d_, [this](double value, std::size_t j) { return value * w_[j]; }, out);
    }

    // w += S rows' a
    void move_by_documents(std::size_t n, const double* a) {
        move_.assign(d_, 0.0);
        for (std::size_t p = 0; p < n; ++p) {
            for (std::size_t j = 0; j < d_; ++j) move_[j] += a[p] * z[p * d_ + j];
        }
        move_by(move_.data());
    }

    // w += T v; v is overwritten.
    void move_by(double* v) {
        root_times(v);
        for (std::size_t j = 0; j < d_; ++j) w_[j] += v[j];
    }

    // The precision grows by A'A, where A is n x d; A is overwritten.
    virtual void append(double* a, std::size_t n) = 0;

    // Whether it offers `multiply`: in coordinates where the precision is the identity, the new precision is C'C. This
    // is cheaper than `append` for long lists, where C has been computed anyway.
    virtual bool multiplies() const { return false; }
    virtual void multiply(const double*) {}

    // Whether all of it is finite; the caller refuses a query after which it is not.
    virtual bool is_sound() const = 0;

    std::vector<double> rows, z;

protected:
    double* w_;
    std::size_t d_;
    Products<double> products_;

    virtual void times_root(double* z, std::size_t n) = 0;  // rows of z become z T
    virtual void root_times(double* v) = 0;                 // v becomes T v

private:
    std::vector<double> move_;
};

// All of the covariance, by the upper triangular root U of the precision: T = U^-1. New knowledge enters by orthogonal
// reflections or by a factor above the identity.
class FullGaussian final : public Gaussian {
public:
    FullGaussian(double* root, double* w, std::size_t d) : Gaussian(w, d), u_(root), appender_(products_) {}

    void append(double* a, std::size_t n) override { appender_.append(u_, d_, a, n); }
    bool multiplies() const override { return true; }
    void multiply(const double* c) override { multiply_factors(c, u_, d_, scratch_, products_); }

    bool is_sound() const override {
        for (std::size_t j = 0; j < d_; ++j) {
            if (!(u_[j * d_ + j] > 0) || !all_finite(u_ + j * d_ + j, d_ - j)) return false;
        }
        return true;
    }

private:
    double* u_;
    RowAppender appender_;
    std::vector<double> scratch_;

    void times_root(double* rows, std::size_t n) override { solve_right(u_, d_, rows, n, products_); }
    void root_times(double* v) override { solve_upper(u_, d_, v); }
};

}  // namespace rankloop
