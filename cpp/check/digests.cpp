// Runs the rankers' kernels on a fixed stream without Python, and prints a digest of what each has learnt: the same
// on every processor and from every compiler. tests/core/test_compilers.py builds and compares it.
#include <cstdio>
#include <cstring>

#include "linalg/kernels.hpp"
#include "linalg/svd.hpp"
#include "maps/query_maps.hpp"
#include "online/committee.hpp"
#include "online/minimax.hpp"
#include "online/mix.hpp"
#include "online/newton.hpp"
#include "online/perceptron.hpp"
#include "online/prank.hpp"
#include "online/slam.hpp"
#include "online/solar_ii_diagonal.hpp"
#include "online/solar_ii.hpp"
#include "online/solar_i_kernel.hpp"

using namespace rankloop;

namespace {

// Numbers that are the same everywhere: whole ones, divided by a power of 2.
struct Draws {
    std::uint64_t state = 88172645463325252ull;
    std::uint64_t next() {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return state;
    }
    double unit() { return static_cast<double>(next() >> 40) / (1 << 24); }
};

struct Digest {
    std::uint64_t value = 1469598103934665603ull;
    template <typename T>
    Digest& add(const std::vector<T>& values) {
        for (const T& v : values) {
            unsigned char bytes[sizeof(T)];
            std::memcpy(bytes, &v, sizeof(T));
            for (const unsigned char byte : bytes) value = (value ^ byte) * 1099511628211ull;
        }
        return *this;
    }
};

struct Stream {
    std::size_t d;
    std::vector<float> x;
    std::vector<double> y, weights, query_weights;
    std::vector<std::int64_t> offsets{0};

    Stream(std::size_t queries, std::size_t longest, std::size_t d) : d(d) {
        Draws draws;
        for (std::size_t q = 0; q < queries; ++q) {
            const std::size_t m = 1 + draws.next() % longest;
            for (std::size_t i = 0; i < m; ++i) {
                for (std::size_t j = 0; j < d; ++j) x.push_back(static_cast<float>(draws.unit() * (j % 3 ? 1 : 50)));
                y.push_back(static_cast<double>(draws.next() % 6) - 1);
                weights.push_back(static_cast<double>(draws.next() % 4) / 2);
            }
            query_weights.push_back(static_cast<double>(1 + draws.next() % 3) / 2);
            offsets.push_back(static_cast<std::int64_t>(y.size()));
        }
    }
};

std::vector<double> identity(std::size_t d) {
    std::vector<double> root(d * d);
    for (std::size_t j = 0; j < d; ++j) root[j * d + j] = 1;
    return root;
}

// What a ranker learns from a stream, with and without weights.
template <typename Run>
void learn(const char* name, const Stream& stream, const Run& run) {
    for (const bool weighted : {false, true}) {
        std::vector<double> w(stream.d), sum(stream.d), sizes(4);
        std::vector<float> scores(stream.y.size());
        const Batch batch{stream.x.data(),
                          stream.y.data(),
                          stream.offsets.data(),
                          stream.offsets.size() - 1,
                          weighted ? stream.weights.data() : nullptr,
                          weighted ? stream.query_weights.data() : nullptr};
        LinearState state{w.data(), stream.d, sum.data(), 0, 0};
        Digest digest;
        run(batch, state, sizes, scores, digest);
        std::printf("%s%s %zu %016llx\n", name, weighted ? " weighted" : "", stream.d,
                    static_cast<unsigned long long>(digest.add(w).add(sum).add(sizes).add(scores).value));
    }
}

template <typename Step>
void go(const Batch& batch, LinearState& state, Influence influence, std::vector<float>& scores, Step step) {
    learn_queries(batch, state, influence, scores.data(), step, 2, [] {});
}

void all_rankers(const Stream& s) {
    const Rate rate{0.1, 0.3};
    const std::size_t d = s.d;
    learn("slam", s, [&](auto& b, auto& st, auto& z, auto& sc, auto&) {
        go(b, st, {z.data(), 10}, sc, SlamStep(SlamWeights::ndcg, 10, 1, rate));
    });
    learn("slam-ap", s, [&](auto& b, auto& st, auto&, auto& sc, auto&) {
        go(b, st, {}, sc, SlamStep(SlamWeights::ap, SIZE_MAX, 1, rate));
    });
    learn("minimax", s,
          [&](auto& b, auto& st, auto& z, auto& sc, auto&) { go(b, st, {z.data(), 10}, sc, MinimaxStep(rate)); });
    learn("perceptron", s, [&](auto& b, auto& st, auto&, auto& sc, auto&) { go(b, st, {}, sc, PerceptronStep(rate)); });
    learn("listnet", s, [&](auto& b, auto& st, auto&, auto& sc, auto&) {
        go(b, st, {}, sc, SoftmaxStep(Targets::grades, 0, {0.001, 0}));
    });
    learn("xendcg", s, [&](auto& b, auto& st, auto&, auto& sc, auto&) {
        go(b, st, {}, sc, SoftmaxStep(Targets::gains, 0.5, {0.001, 0}));
    });
    learn("pairwise", s,
          [&](auto& b, auto& st, auto&, auto& sc, auto&) { go(b, st, {}, sc, PairStep<Mistake>(Mistake{})); });
    learn("solar-i", s,
          [&](auto& b, auto& st, auto&, auto& sc, auto&) { go(b, st, {}, sc, PairStep<PassiveAggressive>({10.0f})); });
    learn("prank", s, [&](auto& b, auto& st, auto&, auto& sc, auto& digest) {
        std::vector<double> thresholds(64);
        std::int64_t count = 0;
        go(b, st, {}, sc, PRankStep(thresholds.data(), count));
        digest.add(thresholds);
    });
    learn("committee", s, [&](auto& b, auto& st, auto& z, auto& sc, auto& digest) {
        std::vector<double> current(d), members(5 * d), lasted(5);
        Committee committee{current.data(), members.data(), lasted.data(), 5, d, 0};
        go(b, st, {}, sc, CommitteeStep<>(committee, {z.data(), 10}));
        digest.add(current).add(members).add(lasted);
    });
    learn("solar-ii", s, [&](auto& b, auto& st, auto& z, auto& sc, auto& digest) {
        std::vector<double> root = identity(d);
        FullGaussian gaussian(root.data(), st.w, d);
        go(b, st, {}, sc, SolarIIStep(100, gaussian, {z.data(), 10}));
        digest.add(root);
    });
    learn("solar-diagonal", s, [&](auto& b, auto& st, auto&, auto& sc, auto& digest) {
        std::vector<double> variance(d, 1.0);
        go(b, st, {}, sc, DiagonalSolarStep(100, variance.data()));
        digest.add(variance);
    });
    learn("newton", s, [&](auto& b, auto& st, auto& z, auto& sc, auto& digest) {
        std::vector<double> root = identity(d);
        FullGaussian gaussian(root.data(), st.w, d);
        go(b, st, {}, sc, NewtonStep(Targets::gains, 1, 0.5, 3, gaussian, {z.data(), 10}, {z.data() + 2, 10}));
        digest.add(root);
    });
}

void arithmetic() {
    Draws draws;
    std::vector<double> found;
    for (int i = 0; i < 20000; ++i) {
        const double u = draws.unit(), x = 1400 * u - 700;
        found.insert(found.end(),
                     {math::exp(x), math::exp2(x), math::log(u), math::log2(1 + 1000 * u), math::log1p(u),
                      math::tanh(x / 100), math::pow(u, 0.3), math::sin_cos(x).sin, math::sin_cos(1e7 * u).cos});
    }
    std::printf("functions %016llx\n", static_cast<unsigned long long>(Digest().add(found).value));
    const Stream s(8, 30, 21);
    const std::size_t n = s.y.size();
    std::vector<float> rbf(n * n), chi(n * n), ranks(s.x.size());
    rbf_rows(s.x.data(), n, s.x.data(), n, s.d, 0.1f, rbf.data());
    chi_rows(s.x.data(), n, s.x.data(), n, s.d, 0.01f, chi.data());
    QueryRanks()(s.x.data(), n, s.d, {ranks.data(), s.d});
    std::vector<double> a(s.x.begin(), s.x.begin() + 6 * 21), left = identity(6), weights(3), losses{1.0, 1.5, 2.25};
    rotate_rows(a.data(), 6, 21, left.data());
    mixing_weights(losses.data(), 3, 7, false, weights.data());
    std::printf("kernels %016llx\n", static_cast<unsigned long long>(
                                         Digest().add(rbf).add(chi).add(ranks).add(a).add(left).add(weights).value));
}

}  // namespace

int main() {
    arithmetic();
    for (const std::size_t d : {5, 46, 70}) all_rankers(Stream(12, d == 46 ? 150 : 60, d));
}
