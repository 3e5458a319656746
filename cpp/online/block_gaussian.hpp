// A Gaussian over weights of which the last ones belong to the categories of long lists (wide columns): a full precision
// of the first weights, by its root, and a variance for each of the others.
//
// A row has one or a few of the wide columns, so that correlations between them are weak; a full precision of a
// thousand of them would take 8 MB, and 60 ms a query. Here a query costs what it would with the wide columns that
// its documents have, and O(1) memory a column: the precision that a query adds is kept in full for the first columns,
// and on its diagonal for the wide ones. Within the query nothing is left out.
#pragma once

#include "online/gaussian.hpp"
#include "online/local_rows.hpp"

namespace rankloop {

class BlockGaussian final : public Gaussian {
public:
    // `root` is full x full, and there is one of `variances` for each of the other d - full weights; all are changed in
    // place.
    BlockGaussian(double* root, std::size_t full, double* variances, double* w, std::size_t d)
        : Gaussian(w, d),
          u_(root),
          full_(full),
          variances_(variances),
          all_(w),
          appender_(products_) {}

    // Looks at the columns that the query has: `rows`, `z` and the weights are those of the first columns and of these.
    void whiten(const LocalRows* x, const std::uint32_t* documents, std::size_t n) override {
        x_ = x;
        first_wide_ = static_cast<std::size_t>(std::lower_bound(x->columns.begin(), x->columns.end(), full_) -
                                               x->columns.begin());
        d_ = full_ + (x->d() - first_wide_);
        local_.assign(all_, all_ + full_);
        for (std::size_t k = 0; k < d_ - full_; ++k) local_.push_back(all_[wide(k)]);
        w_ = local_.data();
        rows.assign(n * d_, 0.0);
        for (std::size_t p = 0; p < n; ++p) {
            x->each(documents[p], [&](std::uint32_t place, float value) {
                const std::size_t j = place < first_wide_ ? x->columns[place] : full_ + (place - first_wide_);
                rows[p * d_ + j] = value;
            });
        }
        for (std::size_t p = n; p-- > 0;) {
            for (std::size_t j = 0; j < d_; ++j) rows[p * d_ + j] -= rows[j];
        }
        z = rows;
        times_root(z.data(), n);
    }

    void append(double* a, std::size_t n) override {
        take_first(a, n);
        appender_.append(u_, full_, dense_.data(), n);
        for (std::size_t k = 0; k < d_ - full_; ++k) {
            double sum = 0;
            for (std::size_t p = 0; p < n; ++p) sum += a[p * d_ + full_ + k] * a[p * d_ + full_ + k];
            double& variance = variances_[wide(k) - full_];
            if (sum > 0) variance = 1 / (1 / variance + sum);
        }
    }

    bool is_sound() const override {
        for (std::size_t j = 0; j < full_; ++j) {
            if (!(u_[j * full_ + j] > 0)) return false;
        }
        for (std::size_t k = 0; k < d_ - full_; ++k) {
            if (!(variances_[wide(k) - full_] > 0)) return false;
        }
        return all_finite(u_, full_ * full_) && all_finite(local_.data(), d_);
    }

    void leave(LinearState& here) override {
        std::copy_n(local_.data(), full_, all_);
        for (std::size_t k = 0; k < d_ - full_; ++k) all_[wide(k)] = local_[full_ + k];
        for (std::size_t c = 0; c < x_->d(); ++c) here.w[c] = all_[x_->columns[c]];
    }

private:
    double* u_;
    std::size_t full_, first_wide_ = 0;
    double *variances_, *all_;
    RowAppender appender_;
    const LocalRows* x_ = nullptr;
    std::vector<double> local_, dense_;

    std::size_t wide(std::size_t k) const { return x_->columns[first_wide_ + k]; }

    void take_first(const double* a, std::size_t n) {
        dense_.resize(n * full_);
        for (std::size_t p = 0; p < n; ++p) std::copy_n(a + p * d_, full_, dense_.data() + p * full_);
    }

    void times_root(double* to, std::size_t n) override {
        take_first(to, n);
        if (full_) solve_right(u_, full_, dense_.data(), n, products_);
        for (std::size_t p = 0; p < n; ++p) {
            double* const row = to + p * d_;
            std::copy_n(dense_.data() + p * full_, full_, row);
            for (std::size_t k = 0; k < d_ - full_; ++k) row[full_ + k] *= std::sqrt(variances_[wide(k) - full_]);
        }
    }

    void root_times(double* v) override {
        if (full_) solve_upper(u_, full_, v);
        for (std::size_t k = 0; k < d_ - full_; ++k) v[full_ + k] *= std::sqrt(variances_[wide(k) - full_]);
    }
};

}  // namespace rankloop
