// Rows that have been read: features, grades, ids, and what was wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "letor/growing.hpp"

namespace rankloop::letor {

// Texts one after the other, with the end of each.
struct Texts {
    Growing<char> bytes;
    Growing<std::int64_t> ends;

    std::size_t size() const { return ends.size(); }
    std::string_view operator[](std::size_t i) const {
        const auto begin = static_cast<std::size_t>(i ? ends[i - 1] : 0);
        return {bytes.data() + begin, static_cast<std::size_t>(ends[i]) - begin};
    }
    void add(std::string_view text) {
        bytes.append(text.data(), text.size());
        ends.push(static_cast<std::int64_t>(bytes.size()));
    }
    void pad_to(std::size_t n) {  // with empty texts
        while (ends.size() < n) ends.push(static_cast<std::int64_t>(bytes.size()));
    }
    void clear() { bytes.clear(), ends.clear(); }

    // Leaves the first n texts here and returns the others.
    Texts split(std::size_t n) {
        Texts rest;
        for (std::size_t i = n; i < size(); ++i) rest.add((*this)[i]);
        if (n < size()) {
            bytes.resize(static_cast<std::size_t>(n ? ends[n - 1] : 0));
            ends.resize(n);
        }
        bytes.fit(), ends.fit();
        return rest;
    }
};

// Consecutive rows of one query. An id is never empty, save that of rows without one.
struct Runs {
    Texts ids;
    Growing<std::int64_t> starts;  // the first row of each

    std::size_t size() const { return starts.size(); }
    bool last_is(std::string_view id) const { return size() > 0 && ids[size() - 1] == id; }
    void add(std::string_view id, std::size_t start) {
        ids.add(id);
        starts.push(static_cast<std::int64_t>(start));
    }
    void clear() { ids.clear(), starts.clear(); }
};

struct BadRow {
    std::int64_t line;
    std::string message;
};

// Bad rows: how many, and the first of them.
struct BadRows {
    static constexpr std::size_t kept = 20;
    std::vector<BadRow> first;
    std::int64_t n = 0;

    void add(BadRow row) {
        ++n;
        if (first.size() < kept) first.push_back(std::move(row));
    }
};

// The nonzeros of sparse rows.
struct Entries {
    Growing<std::int32_t> columns;
    Growing<float> values;
    Growing<std::int64_t> ends;  // of each row

    static constexpr std::size_t an_entry = sizeof(std::int32_t) + sizeof(float);
    std::size_t rows() const { return ends.size(); }
    std::size_t size() const { return values.size(); }
    std::size_t start(std::size_t row) const { return row ? static_cast<std::size_t>(ends[row - 1]) : 0; }

    void add(std::int32_t column, float value) { columns.push(column), values.push(value); }
    void end_row() { ends.push(static_cast<std::int64_t>(size())); }

    // Rows `first` to `end` of others, whose columns count from `base`.
    void append(const Entries& other, std::size_t first, std::size_t end, std::int32_t base) {
        const std::size_t from = other.start(first), to = other.start(end), shift = size() - from;
        std::int32_t* const into = columns.extend(to - from);
        for (std::size_t k = from; k < to; ++k) into[k - from] = other.columns[k] - base;
        values.append(other.values.data() + from, to - from);
        for (std::size_t r = first; r < end; ++r) ends.push(other.ends[r] + static_cast<std::int64_t>(shift));
    }

    void keep_first(std::size_t rows) {
        columns.resize(start(rows)), values.resize(start(rows)), ends.resize(rows);
        columns.fit(), values.fit(), ends.fit();
    }

    void clear() { columns.clear(), values.clear(), ends.clear(); }
};

// How much there is to hold, from which its memory follows.
struct Amount {
    std::size_t rows = 0, width = 0, runs = 0, run_bytes = 0, doc_bytes = 0, entries = 0;
    bool sparse = false;

    // The most that these rows take from here to a finished data set: the matrix, the grades, the ids as
    // they are read and as arrays of text, and what finding the queries among the runs takes meanwhile.
    // A peak measured in the tests, with rows of a single feature and long ids, is what sets these numbers.
    std::size_t bytes() const {
        constexpr std::size_t a_run = 100, a_byte_of_run_ids = 5;  // sorted and made unique in NumPy
        constexpr std::size_t a_doc_id = 64, a_byte_of_doc_ids = 2;
        const std::size_t features =
            sparse ? rows * 2 * sizeof(std::int64_t) + entries * Entries::an_entry : rows * width * sizeof(float);
        return features + rows * sizeof(double) + runs * a_run + run_bytes * a_byte_of_run_ids +
               (doc_bytes ? rows * a_doc_id + doc_bytes * a_byte_of_doc_ids : 0);
    }
};

struct Table {
    GrowingMatrix x;  // of sparse rows, only how many there are, and how wide
    Entries entries;
    bool sparse = false;
    Growing<double> labels;
    Runs runs;
    Texts doc_ids;  // up to the last row that has one
    BadRows bad;
    std::optional<BadRow> error;  // what ended the reading

    Amount amount() const {
        return {x.rows, x.width, runs.size(), runs.ids.bytes.size(), doc_ids.bytes.size(), entries.size(), sparse};
    }

    void clear_rows() {
        x.rows = 0, x.values.clear(), entries.clear();
        labels.clear(), runs.clear(), doc_ids.clear();
    }

    // Takes the rows of the last query out.
    Table split_last_query() {
        Table last;
        last.x.width = x.width, last.sparse = sparse;
        if (runs.size() == 0) return last;
        const auto first = static_cast<std::size_t>(runs.starts.back());
        const std::size_t n = x.rows - first;
        if (sparse) {
            last.entries.append(entries, first, x.rows, 0);
            last.x.rows = n;
        } else {
            std::copy_n(x.row(first), n * x.width, last.x.append(n));
        }
        last.labels.append(labels.data() + first, n);
        last.doc_ids = doc_ids.split(std::min(first, doc_ids.size()));
        last.runs.add(runs.ids[runs.size() - 1], 0);
        if (sparse)
            entries.keep_first(first), x.rows = first;
        else
            x.keep_first(first);
        labels.resize(first), labels.fit();
        runs.ids.split(runs.size() - 1);
        runs.starts.resize(runs.size() - 1), runs.starts.fit();
        return last;
    }
};

}  // namespace rankloop::letor
