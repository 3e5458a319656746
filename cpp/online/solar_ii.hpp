// SOLAR-II on one query. Updating only where the loss is positive makes it recursive least squares with target 1,
// so the effect of a query is a sum over its violated pairs: the precision grows by X'A X / gamma, with A the Laplacian
// of the graph of violated pairs, and h = L w grows by X'b / gamma. So there are two phases. The first one finds out
// which pairs are violated, one after the other, because each update changes the margins of later pairs; it needs only
// decisions, so float is enough. It works with P = X S X' for short lists, with S itself (in coordinates where it
// starts as the identity) for longer ones, and in tiles, in an order of their own, for very long ones. The second phase
// applies the sum to the state at once and in double, so that errors of the first do not accumulate over queries.
#pragma once

#include "online/gaussian.hpp"
#include "online/pairs.hpp"
#include "online/solar_ii_tiles.hpp"

namespace rankloop {

constexpr std::size_t pairs_a_block = 24;

// v = P_p - P_q - sum_k Y_k (Y_kp - Y_kq), from r = first on: P e for e = e_p - e_q, with what the
// block has taken away from P so far.
RANKLOOP_CLONES inline void pair_direction(const float* P, std::size_t stride, const float* y, std::size_t taken,
                                           std::size_t n, std::size_t first, std::size_t p, std::size_t q, float* v) {
    const float *a = P + p * stride, *b = P + q * stride;
    for (std::size_t r = first; r < n; ++r) v[r] = a[r] - b[r];
    for (std::size_t k = 0; k < taken; ++k) {
        const float* const yk = y + k * n;
        const float c = yk[p] - yk[q];
        for (std::size_t r = first; r < n; ++r) v[r] -= c * yk[r];
    }
}

RANKLOOP_CLONES inline void move_scores(float* s, const float* v, float by, std::size_t first, std::size_t n) {
    for (std::size_t r = first; r < n; ++r) s[r] += by * v[r];
}

class SolarIIStep {
public:
    SolarIIStep(double gamma, Gaussian& gaussian, Influence reach) : gamma_(gamma), g_(gaussian), reach_(reach) {}

    bool operator()(const QueryRows& rows, const float*, LinearState&) {
        Levels& levels = query_.levels;
        levels.gather(rows.y, rows.m);
        n_ = query_.n = levels.judged();
        if (levels.count() < 2) return false;
        query_.gather_weights(rows);
        g_.whiten(rows.x, levels.documents.data(), n_);
        const double reach = g_.reach(n_);
        // Documents far outside of what was seen count only for a share: a precision never falls, so one outlier would
        // otherwise fix the weights for ever.
        double share = reach_.share(reach);
        if (share * reach > max_certainty * gamma_) share = max_certainty * gamma_ / reach;
        if (share < 1) g_.shrink(n_, std::sqrt(share));
        scores_.resize(n_), g_.score(n_, scores_.data());
        found_.clear(n_);
        // They differ in what they keep up to date, n x n or d x d numbers, and the tiles also in the order of pairs.
        if (n_ > long_list)
            find_in_tiles();
        else if (5 * n_ <= 8 * g_.size())
            find_in_documents();
        else
            find_in_features();
        if (!found_.any) return false;
        learn_found();
        if (!g_.is_sound()) throw std::runtime_error("its curvature is not finite");
        return true;
    }

private:
    double gamma_;
    Gaussian& g_;
    Influence reach_;
    OrderedQuery query_;
    ViolatedPairs found_;
    std::size_t n_ = 0;
    std::vector<double> scores_, factor_, product_, H_, right_;
    std::vector<float> s_, y_, v_, w_, group_, moved_, shares_, directions_;
    Lines z_, P_, S_;
    Products<float> products_;
    std::vector<std::size_t> lower_;  // of each document: the first of a lower grade
    TiledPairs tiles_;

    double weight(std::size_t p, std::size_t q) const {
        return static_cast<double>(query_.weights[p]) * query_.weights[q];
    }

    void narrow_z() { z_.assign(g_.z.begin(), g_.z.end()); }

    void find_in_documents() {
        const std::size_t d = g_.size(), stride = column_stride(n_);
        narrow_z();
        P_.assign(n_ * stride, 0.0f), y_.resize(pairs_a_block * n_), v_.resize(n_),
            s_.assign(scores_.begin(), scores_.end());
        const View<const float> z{z_.data(), d};
        products_.add(z, z.transposed(), n_, n_, d, {P_.data(), stride});
        std::size_t taken = 0;
        query_.each_pair([&](std::size_t p, std::size_t q) {
            const float margin = s_[p] - s_[q];
            if (!(margin < 1)) return;
            const double own = weight(p, q);
            pair_direction(P_.data(), stride, y_.data(), taken, n_, p, p, q, v_.data());
            // One step of recursive least squares with target 1: chi = v_p - v_q, and the update is rank one. It is
            // collected in Y, because subtracting 24 updates from P together reads P once instead of 24 times.
            const float beta = v_[p] - v_[q] + static_cast<float>(gamma_ / own);
            move_scores(s_.data(), v_.data(), (1 - margin) / beta, p, n_);
            const float scale = 1 / std::sqrt(beta);
            for (std::size_t r = 0; r < p; ++r) y_[taken * n_ + r] = 0;
            for (std::size_t r = p; r < n_; ++r) y_[taken * n_ + r] = v_[r] * scale;
            found_.add(p, q, own);
            if (++taken == pairs_a_block) {  // P -= Y'Y, for the rows and columns still needed
                const View<const float> y{y_.data() + p, n_};
                products_.subtract(y.transposed(), y, n_ - p, n_ - p, taken, {P_.data() + p * stride + p, stride});
                taken = 0;
            }
        });
    }

    // Coordinates in which the covariance is the identity: z, or where there are fewer documents than features the rows
    // of R', R'R = Z Z'.
    void find_in_tiles() {
        const std::size_t d = g_.size();
        std::size_t width = d;
        if (n_ < d) {
            const View<const double> z{g_.z.data(), d};
            product_.assign(n_ * n_, 0.0);
            g_.products().add(z, z.transposed(), n_, n_, d, {product_.data(), n_}, Shape::upper);
            double most = 0;
            for (std::size_t p = 0; p < n_; ++p) most = std::max(most, product_[p * n_ + p]);
            cholesky(product_.data(), n_, g_.products(), 1e-12 * most, true);
            width = n_, z_.assign(n_ * n_, 0.0f);
            for (std::size_t j = 0; j < n_; ++j) {
                for (std::size_t p = j; p < n_; ++p) z_[p * n_ + j] = static_cast<float>(product_[j * n_ + p]);
            }
        } else {
            narrow_z();
        }
        const Levels& levels = query_.levels;
        lower_.resize(n_);
        for (std::size_t level = 0; level < levels.count(); ++level) {
            for (std::size_t p = levels.starts[level]; p < levels.starts[level + 1]; ++p)
                lower_[p] = levels.starts[level + 1];
        }
        tiles_.find(z_.data(), n_, width, scores_.data(), lower_, query_.weights.data(), gamma_, g_.products(), found_);
    }

    // Long lists: S (d x d) where it began as the identity. One document against a few of lower grades at a time: their
    // products with S are all that the pairs between them need.
    void find_in_features() {
        const std::size_t d = g_.size();
        narrow_z();
        S_.assign(d * d, 0.0f), w_.assign(d, 0.0f);
        for (std::size_t j = 0; j < d; ++j) S_[j * d + j] = 1;
        const Levels& levels = query_.levels;
        for (std::size_t level = 0; level + 1 < levels.count(); ++level) {
            const std::size_t lower = levels.starts[level + 1];
            for (std::size_t p = levels.starts[level]; p < lower; ++p) {
                for (std::size_t q = lower; q < n_; q += pairs_a_block)
                    find_in_group(p, q, std::min(pairs_a_block, n_ - q));
            }
        }
    }

    // Document p against the k documents from q on. Rows of `group`: z of p and of the others; P = group S group'.
    void find_in_group(std::size_t p, std::size_t q, std::size_t k) {
        const std::size_t d = g_.size(), n = k + 1;
        group_.resize(n * d), moved_.assign(n * d, 0.0f), P_.assign(n * n, 0.0f), y_.assign(k * n, 0.0f), v_.resize(n),
            s_.resize(n);
        std::copy_n(z_.data() + p * d, d, group_.data());
        std::copy_n(z_.data() + q * d, k * d, group_.data() + d);
        for (std::size_t r = 0; r < n; ++r)
            s_[r] = static_cast<float>(scores_[r ? q + r - 1 : p]) + dot(group_.data() + r * d, w_.data(), d);
        bool any = false;
        for (std::size_t r = 1; r < n && !any; ++r) any = s_[0] - s_[r] < 1;
        if (!any) return;
        const View<const float> group{group_.data(), d}, moved{moved_.data(), d};
        products_.add(group, {S_.data(), d}, n, d, d, {moved_.data(), d});
        products_.add(moved, group.transposed(), n, n, d, {P_.data(), n});
        std::size_t taken = 0;
        right_.assign(n, 0.0);        // what each document moves the weights by, in all
        shares_.assign(k * n, 0.0f);  // of each moved document in the rows of Y
        for (std::size_t r = 1; r < n; ++r) {
            const float margin = s_[0] - s_[r];
            if (!(margin < 1)) continue;
            const double own = weight(p, q + r - 1);
            // e = e_0 - e_r less what the rows of Y so far have taken: v = P e, and shares of it
            float* const share = shares_.data() + taken * n;
            share[0] = 1, share[r] = -1;
            for (std::size_t i = 0; i < n; ++i) v_[i] = P_[i] - P_[r * n + i];
            for (std::size_t t = 0; t < taken; ++t) {
                const float* const y = y_.data() + t * n;
                const float c = y[0] - y[r];
                for (std::size_t i = 0; i < n; ++i) v_[i] -= c * y[i], share[i] -= c * shares_[t * n + i];
            }
            const float beta = v_[0] - v_[r] + static_cast<float>(gamma_ / own), by = (1 - margin) / beta,
                        scale = 1 / std::sqrt(beta);
            for (std::size_t i = 0; i < n; ++i) {
                s_[i] += by * v_[i], right_[i] += by * share[i];
                y_[taken * n + i] = v_[i] * scale, share[i] *= scale;
            }
            found_.add(p, q + r - 1, own);
            ++taken;
        }
        if (!taken) return;
        for (std::size_t r = 0; r < n; ++r) {
            for (std::size_t j = 0; j < d; ++j) w_[j] += static_cast<float>(right_[r]) * moved_[r * d + j];
        }
        // S -= D'D, D = shares * moved
        directions_.assign(taken * d, 0.0f);
        products_.add({shares_.data(), n}, moved, taken, d, n, {directions_.data(), d});
        const View<const float> directions{directions_.data(), d};
        products_.subtract(directions.transposed(), directions, d, d, taken, {S_.data(), d});
    }

    // Learns from all violated pairs at once, in double.
    void learn_found() {
        const std::size_t d = g_.size();
        found_.divide(gamma_);
        if (n_ <= d || !g_.multiplies())
            learn_rows(d);
        else
            learn_matrix(d);
    }

    // A = E E', so the precision grows by the rows of E'X. The mean moves by S X'a, (I + A P) a = b - A s; with
    // M = I + E'P E that is a = E M^-1 (t - E's), where E t = b.
    void learn_rows(std::size_t d) {
        found_.factor(g_.products());
        const std::vector<double>&E = found_.laplacian, &t = found_.pull;
        const View<const double> up{E.data(), n_};
        product_.assign(n_ * d, 0.0);  // E'Z
        g_.products().add(up, {g_.z.data(), d}, n_, d, n_, {product_.data(), d});
        H_.assign(n_ * n_, 0.0);
        const View<const double> ez{product_.data(), d};
        g_.products().add(ez, ez.transposed(), n_, n_, d, {H_.data(), n_}, Shape::upper);
        right_.resize(n_);
        for (std::size_t i = 0; i < n_; ++i) {
            H_[i * n_ + i] += 1;
            right_[i] = t[i];
            for (std::size_t j = i; j < n_; ++j) right_[i] -= E[i * n_ + j] * scores_[j];
        }
        if (!cholesky(H_.data(), n_, g_.products())) throw std::runtime_error("its curvature is not finite");
        solve_lower(H_.data(), n_, right_.data());
        solve_upper(H_.data(), n_, right_.data());
        factor_.assign(n_, 0.0);  // a = E (that)
        for (std::size_t i = 0; i < n_; ++i) {
            for (std::size_t j = i; j < n_; ++j) factor_[j] += E[i * n_ + j] * right_[i];
        }
        g_.move_by_documents(n_, factor_.data());
        product_.assign(n_ * d, 0.0);  // E'X
        g_.products().add(up, {g_.rows.data(), d}, n_, d, n_, {product_.data(), d});
        g_.append(product_.data(), n_);
    }

    // Where the precision is the identity it grows to H = I + Z'A Z = C'C; the mean moves by H^-1 Z'(b - A s).
    void learn_matrix(std::size_t d) {
        std::vector<double>& A = found_.laplacian;
        for (std::size_t i = 0; i < n_; ++i) {
            for (std::size_t j = 0; j < i; ++j) A[i * n_ + j] = A[j * n_ + i];
        }
        product_.assign(n_ * d, 0.0);
        const View<const double> z{g_.z.data(), d};
        g_.products().add({A.data(), n_}, z, n_, d, n_, {product_.data(), d});
        H_.assign(d * d, 0.0);
        g_.products().add(z.transposed(), {product_.data(), d}, d, d, n_, {H_.data(), d}, Shape::upper);
        right_.assign(d, 0.0);
        for (std::size_t p = 0; p < n_; ++p) {
            for (std::size_t j = 0; j < d; ++j)
                right_[j] += found_.pull[p] * g_.z[p * d + j] - scores_[p] * product_[p * d + j];
        }
        for (std::size_t j = 0; j < d; ++j) H_[j * d + j] = 1 + std::max(H_[j * d + j], 0.0);
        if (!cholesky(H_.data(), d, g_.products())) throw std::runtime_error("its curvature is not finite");
        for (std::size_t i = 0; i < d; ++i) std::fill_n(H_.data() + i * d, i, 0.0);
        solve_lower(H_.data(), d, right_.data());
        solve_upper(H_.data(), d, right_.data());
        g_.move_by(right_.data());
        g_.multiply(H_.data());
    }
};

}  // namespace rankloop
