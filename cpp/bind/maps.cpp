// Binding of the maps of features inside queries.
#include "bind/arrays.hpp"

#include "maps/query_maps.hpp"

namespace rankloop {

namespace {

// Calls map(rows, m, d, output) for each query; results go to the columns of `out` from `column` on.
template <typename Map>
void map_queries(const In<float, 2>& x, const In<std::int64_t, 1>& offsets, const Out<float, 2>& out,
                 std::int64_t column, Map map) {
    const std::size_t d = x.shape(1);
    check(out.shape(0) == x.shape(0) && column >= 0 && static_cast<std::size_t>(column) + d <= out.shape(1),
          "results do not fit where they should go");
    check_offsets(offsets, x.shape(0));
    const Released release(x.size());
    for (std::size_t q = 0; q + 1 < offsets.size(); ++q) {
        const auto first = static_cast<std::size_t>(offsets.data()[q]),
                   end = static_cast<std::size_t>(offsets.data()[q + 1]);
        if (end > first)
            map(x.data() + first * d, end - first, d,
                MapOutput{out.data() + first * out.shape(1) + column, out.shape(1)});
    }
}

}  // namespace

void bind_maps(nb::module_& m) {
    m.def(
        "query_minmax",
        [](In<float, 2> x, In<std::int64_t, 1> offsets, Out<float, 2> out, std::int64_t column) {
            map_queries(x, offsets, out, column, minmax_query);
        },
        "x"_a, "offsets"_a, "out"_a, "column"_a);
    m.def(
        "query_centre",
        [](In<float, 2> x, In<std::int64_t, 1> offsets, Out<float, 2> out, std::int64_t column) {
            map_queries(x, offsets, out, column, centre_query);
        },
        "x"_a, "offsets"_a, "out"_a, "column"_a);
    m.def(
        "query_ranks",
        [](In<float, 2> x, In<std::int64_t, 1> offsets, Out<float, 2> out, std::int64_t column) {
            map_queries(x, offsets, out, column, QueryRanks());
        },
        "x"_a, "offsets"_a, "out"_a, "column"_a);
}

}  // namespace rankloop
