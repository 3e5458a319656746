// Binding of the exact assignment of documents to positions.
#include "bind/arrays.hpp"

#include "assignment/assignment.hpp"

namespace rankloop {

void bind_assignment(nb::module_& m) {
    using Doubles = In<double, 1>;
    m.def(
        "assign_positions",
        [](Doubles scores, Doubles gains, Doubles f, Doubles d, Out<std::int64_t, 1> positions, std::int64_t few) {
            const std::size_t n = scores.size();
            check(gains.size() == n && f.size() >= n && d.size() >= n && positions.size() == n,
                  "arrays of one length are needed");
            for (std::size_t i = 1; i < n; ++i) check(f.data()[i] < f.data()[i - 1], "f must decrease");
            for (const Doubles& values : {scores, gains, f, d}) {  // no sum below may overflow
                const bool small =
                    std::all_of(values.data(), values.data() + n, [](double value) { return std::abs(value) < 1e100; });
                check(small, "scores and gains must be finite and below 1e100: scale the features, or lower the rate");
            }
            nb::gil_scoped_release release;
            std::size_t since = 0;
            const auto worked = [&](std::size_t work) {
                constexpr std::size_t between_pauses = 1 << 24;
                if ((since += work) > between_pauses) pause_for_python(), since = 0;
            };
            Assignment().solve(scores.data(), gains.data(), f.data(), d.data(), n,
                               few < 0 ? Assignment::usual(n) : static_cast<std::size_t>(few), positions.data(),
                               worked);
        },
        "scores"_a, "gains"_a, "f"_a, "d"_a, "positions"_a, "few"_a = -1);
}

}  // namespace rankloop
