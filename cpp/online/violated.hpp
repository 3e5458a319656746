// The violated pairs of some documents as a graph: its Laplacian A is what they add to the precision (X'A X), b what
// they add to precision times mean (X'b).
#pragma once

#include <algorithm>
#include <vector>

#include "linalg/triangular.hpp"

namespace rankloop {

class ViolatedPairs {
public:
    std::vector<double> laplacian, pull;  // A (n x n, its upper half) and b
    bool any = false;

    void clear(std::size_t n) {
        n_ = n, any = false;
        laplacian.assign(n * n, 0.0), pull.assign(n, 0.0);
    }

    void add(std::size_t p, std::size_t q, double weight) {  // p < q
        laplacian[p * n_ + p] += weight, laplacian[q * n_ + q] += weight, laplacian[p * n_ + q] -= weight;
        pull[p] += weight, pull[q] -= weight;
        any = true;
    }

    // Those of some documents, whose places here are given and rise.
    void add(const ViolatedPairs& some, const std::size_t* places) {
        for (std::size_t p = 0; p < some.n_; ++p) {
            pull[places[p]] += some.pull[p];
            for (std::size_t q = p; q < some.n_; ++q)
                laplacian[places[p] * n_ + places[q]] += some.laplacian[p * some.n_ + q];
        }
        any |= some.any;
    }

    void divide(double by) {
        for (double& a : laplacian) a /= by;
        for (double& b : pull) b /= by;
    }

    // In place: the laplacian becomes E' (upper triangular; its last pivots are 0), E E' = A, and pull t with E t = b.
    void factor(Products<double>& products) {
        double most = 0;
        for (std::size_t i = 0; i < n_; ++i) most = std::max(most, laplacian[i * n_ + i]);
        cholesky(laplacian.data(), n_, products, 1e-9 * most, true);
        for (std::size_t i = 0; i < n_; ++i) {
            double* const row = laplacian.data() + i * n_;
            std::fill_n(row, i, 0.0);
            pull[i] = row[i] > 0 ? pull[i] / row[i] : 0;
            for (std::size_t j = i + 1; j < n_; ++j) pull[j] -= pull[i] * row[j];
        }
    }

private:
    std::size_t n_ = 0;
};

}  // namespace rankloop
