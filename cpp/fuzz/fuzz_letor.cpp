// A fuzzer of the LETOR reader: mutated text, random options, block sizes and numbers of threads.
//
// Besides what the sanitizers see, it checks that
//   - a block parses the same whatever lies in the padding behind it, in a buffer that ends there;
//   - rows, ids, bad rows and the error are the same for any block size, threads and chunks read;
//   - reading in batches gives what reading at once gives;
//   - where the source fails, bad rows in front of the failure are reported first;
//   - a limit of memory is never passed, by what is counted, and met for one reason only: too many rows;
//   - a `#` inside a word never hides what follows it;
//   - rows written as text read back bit for bit;
//   - numbers are those of strtod.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>

#include "letor/reader.hpp"
#include "letor/writer.hpp"

using namespace rankloop;
using namespace rankloop::letor;

namespace {

using Random = std::mt19937_64;

std::string current;  // the input at hand, written out where it fails

void save() {
    std::ofstream("fault.bin", std::ios::binary) << current;
    std::fputs("the input is in fault.bin\n", stderr);
}

[[noreturn]] void fault(const std::string& what) {
    std::fprintf(stderr, "FAULT: %s\n", what.c_str());
    save();
    std::_Exit(1);
}

void require(bool good, const char* what) {
    if (!good) fault(what);
}

std::size_t up_to(Random& random, std::size_t most) { return random() % (most + 1); }
bool one_in(Random& random, std::size_t n) { return random() % n == 0; }

template <typename T>
const T& any_of(Random& random, const std::vector<T>& values) {
    return values[random() % values.size()];
}

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

struct Run {
    std::string id;
    std::size_t first_row;
    bool operator==(const Run&) const = default;
};

struct Result {
    std::size_t width = 0, rows = 0;
    std::vector<float> x;
    std::vector<double> labels;
    std::vector<Run> runs;
    std::vector<std::string> doc_ids;
    std::vector<BadRow> bad;
    std::int64_t n_bad = 0, lines = 0;
    std::optional<BadRow> error;
    bool memory = false, failed = false;  // the limit was met; the source failed
    bool missing_id = false;
    int base = 1;
    std::size_t most = 0;  // that a table took, as it is counted

    void add_dense(const Growing<float>& values, std::size_t n) {
        require(values.size() == n * width, "a table's columns have different lengths");
        for (const float value : values) x.push_back(value == 0 ? 0.0f : value);  // sparse rows keep no -0
    }

    // Rows that a table has before an error are not for use: a column may be beyond the width then.
    void add_sparse(const Entries& entries, std::size_t n, bool error) {
        const std::size_t first = x.size();
        x.resize(first + n * width);
        require(entries.rows() == n && entries.columns.size() == entries.size() && entries.start(n) == entries.size(),
                "sparse rows have different lengths");
        for (std::size_t r = 0; r < n; ++r) {
            for (std::size_t k = entries.start(r); k < entries.start(r + 1); ++k) {
                const auto column = static_cast<std::size_t>(entries.columns[k]);
                if (error && column == width) continue;
                require(entries.columns[k] >= 0 && column < width &&
                            (k == entries.start(r) || entries.columns[k - 1] < entries.columns[k]),
                        "columns do not rise");
                require(entries.values[k] != 0, "a 0 is kept");
                x[first + r * width + column] = entries.values[k];
            }
        }
    }

    void add(Table&& table) {
        width = table.x.width;
        most = std::max(most, table.amount().bytes());
        const std::size_t n = table.x.rows;
        require(table.labels.size() == n, "a table's columns have different lengths");
        if (table.sparse)
            add_sparse(table.entries, n, table.error.has_value());
        else
            add_dense(table.x.values, n);
        labels.insert(labels.end(), table.labels.begin(), table.labels.end());
        for (std::size_t i = 0; i < table.runs.size(); ++i) {
            const std::string id(table.runs.ids[i]);
            const std::size_t first_row = rows + static_cast<std::size_t>(table.runs.starts[i]);
            if (runs.empty() || runs.back().id != id) runs.push_back({id, first_row});
        }
        require(table.doc_ids.size() <= n, "more document ids than rows");
        for (std::size_t i = 0; i < table.doc_ids.size(); ++i) doc_ids.emplace_back(table.doc_ids[i]);
        rows += n;
        doc_ids.resize(rows);
        for (auto& b : table.bad.first) {  // of the rows without a query id the first is told, and once a batch
            const bool lacks_id = b.message.starts_with("the row has no query id");
            if (lacks_id ? !std::exchange(missing_id, true) : bad.size() < BadRows::kept + missing_id)
                bad.push_back(std::move(b));
        }
        n_bad += table.bad.n;
        error = std::move(table.error);
    }
};

struct Setup {
    Options options;
    std::size_t block = 1 << 18, chunk = 1 << 18, enough = Reader::everything, fails_at = SIZE_MAX, held = 0;
    unsigned threads = 1;
};

Result read_all(const std::string& text, const Setup& setup) {
    std::size_t at = 0;
    const auto source = [&](char* buffer, std::size_t size) {
        const std::size_t n = std::min({size, setup.chunk, text.size() - at, setup.fails_at - at});
        if (at == setup.fails_at) throw std::runtime_error("the source fails");
        std::memcpy(buffer, text.data() + at, n);
        at += n;
        return n;
    };
    Reader reader(source, setup.options, setup.block);
    Result result;
    try {
        do {
            result.add(reader.read(setup.enough, setup.threads, setup.held));
        } while (!result.error && !reader.finished());
    } catch (const LimitError&) {
        result.memory = true;
    } catch (const std::runtime_error&) {
        result.failed = true;
    }
    result.lines = reader.lines();
    result.base = reader.base();
    return result;
}

void check_shape(const Result& r, const Options& options) {
    require(r.labels.size() == r.rows && r.x.size() == r.rows * r.width, "sizes disagree");
    require(options.doc_ids || std::ranges::all_of(r.doc_ids, &std::string::empty),
            "document ids that were not wanted");
    require(!options.n_features || r.width == static_cast<std::size_t>(options.n_features), "the width changed");
    require(r.rows == 0 || (!r.runs.empty() && r.runs[0].first_row == 0), "the first run is not at 0");
    for (std::size_t i = 1; i < r.runs.size(); ++i) {
        require(r.runs[i - 1].first_row < r.runs[i].first_row, "runs out of order");
        require(!r.runs[i].id.empty() && !r.runs[0].id.empty(), "some rows have a query id, others not");
    }
    for (const float v : r.x) require(!std::isinf(v), "an infinite feature");
    for (const double v : r.labels) require(std::isfinite(v), "a grade that is not finite");
    require(options.skip_bad || r.n_bad <= 1, "several bad rows though they are not skipped");
}

bool same_bad(const BadRow& a, const BadRow& b) { return a.line == b.line && a.message == b.message; }

void check_same(const Result& a, const Result& b) {
    require(a.error.has_value() == b.error.has_value(), "an error depends on blocks or threads");
    if (a.error) {
        require(same_bad(*a.error, *b.error), "the error or its line depends on blocks or threads");
        return;
    }
    require(a.width == b.width && a.rows == b.rows, "the shape depends on blocks or threads");
    require(same_bits(a.x, b.x), "features depend on blocks or threads");
    require(same_bits(a.labels, b.labels), "grades depend on blocks or threads");
    require(a.doc_ids == b.doc_ids, "document ids depend on blocks or threads");
    require(a.lines == b.lines && a.base == b.base, "lines or base depend on blocks or threads");
    require(a.runs == b.runs, "runs depend on blocks or threads");
    require(a.n_bad == b.n_bad && std::ranges::equal(a.bad, b.bad, same_bad), "bad rows depend on blocks or threads");
}

// Parses text in a heap buffer that ends right after the padding, so that no read goes further; in pieces
// as large as `room` allows.
void check_padding(const std::string& input, const Options& options, std::size_t hint, std::size_t room) {
    const std::string text = input.ends_with('\n') ? input : input + '\n';
    Result results[2];
    for (const char filler : {'\0', '7'}) {
        std::unique_ptr<char[]> buffer(new char[text.size() + padding]);
        std::memcpy(buffer.get(), text.data(), text.size());
        std::memset(buffer.get() + text.size(), filler, padding);
        BlockParser parser(options);
        Result& r = results[filler != 0];
        const char* const end = buffer.get() + text.size();
        const Block& block = parser.block();
        for (const char* p = buffer.get(); p < end && r.bad.empty();) {
            const char* const from = p;
            const std::size_t granted = std::max(room, block.wanted);
            p = parser.parse(p, end, hint, granted);
            require(block.bytes() <= granted + 24 + text.size(), "a piece is larger than its room");
            require(p > from || block.wanted || block.bad.n, "a piece makes no progress");
            r.rows += block.rows(), r.lines += block.lines, r.n_bad += block.bad.n;
            for (std::size_t i = 0; i < block.rows(); ++i) {  // as wide as the text's longest row
                std::vector<float> row(block.row(i), block.row(i) + block.stride);
                while (!row.empty() && row.back() == 0) row.pop_back();
                r.x.insert(r.x.end(), row.begin(), row.end());
            }
            r.labels.insert(r.labels.end(), block.labels.begin(), block.labels.end());
            for (std::size_t i = 0; i < block.runs.size(); ++i) r.runs.push_back({std::string(block.runs.ids[i]), 0});
            if (!options.skip_bad) r.bad = block.bad.first;
        }
    }
    check_same(results[0], results[1]);
}

void check_round_trip(const Result& r, const Options& read_with) {
    std::vector<std::string> ids(r.rows);
    for (std::size_t i = 0; i < r.runs.size(); ++i) {
        if (r.runs[i].id.empty()) return;
        const std::size_t end = i + 1 < r.runs.size() ? r.runs[i + 1].first_row : r.rows;
        std::fill(ids.begin() + static_cast<std::ptrdiff_t>(r.runs[i].first_row),
                  ids.begin() + static_cast<std::ptrdiff_t>(end), r.runs[i].id);
    }
    const bool docs = !r.doc_ids.empty();
    Setup setup;
    setup.options.n_features = static_cast<std::int64_t>(r.width);
    setup.options.base = r.base;
    setup.options.null_value = std::nanf("");
    setup.options.doc_ids = read_with.doc_ids;
    const std::string text =
        format_rows(r.x.data(), r.labels.data(), r.rows, r.width, ids, docs ? &r.doc_ids : nullptr, r.base, false);
    const Result back = read_all(text, setup);
    require(!back.error, "what was written does not read back");
    require(same_bits(r.x, back.x) && same_bits(r.labels, back.labels), "numbers change on a round trip");
    require(r.doc_ids == back.doc_ids, "document ids change on a round trip");
}

Options any_options(Random& random) {
    Options options;
    options.n_features = one_in(random, 2) ? 0 : static_cast<std::int64_t>(1 + up_to(random, 30));
    options.base = static_cast<int>(up_to(random, 2)) - 1;
    options.null_value = one_in(random, 2) ? 0.0f : std::nanf("");
    options.max_index = static_cast<std::int64_t>(1 + up_to(random, 400));
    options.skip_bad = one_in(random, 2);
    options.doc_ids = !one_in(random, 4);
    return options;
}

// With any limit a reader either reads what it reads without one, or says that the limit was met; never
// does a table count more than the limit.
void check_limit(const std::string& text, Setup setup, const Result& expected, Random& random) {
    setup.held = up_to(random, 1000);
    setup.options.max_bytes = static_cast<std::int64_t>(1 + up_to(random, 4 * expected.most + 40 * setup.block));
    const Result result = read_all(text, setup);
    if (!result.memory) check_same(expected, result);
    require(result.most + setup.held <= static_cast<std::size_t>(setup.options.max_bytes) || result.rows == 0,
            "a table is larger than the limit");
    setup.options.max_bytes = std::int64_t{1} << 40;
    check_same(expected, read_all(text, setup));
}

// Turning each `#` inside a word into another character changes neither which rows are good nor what they
// hold: it does not start a comment there. Aside stand query ids, where it is an error, and `1.#QNAN`.
void check_comments(const std::string& text, const Setup& setup, const Result& expected) {
    std::string other = text.ends_with('\n') ? text : text + '\n';
    bool comment = false, changed = false;
    for (std::size_t i = 0, end; i < other.size(); i = end + 1) {  // word by word, without the parser's help
        end = std::min(other.find_first_of(" \t\r\n", i), other.size());
        const std::string word = other.substr(i, end - i),
                          value = word.substr(std::min(word.find(':') + 1, word.size()));
        comment |= word.starts_with('#');
        if (!comment && !word.starts_with("qid:") && !spells_nan(value)) {
            std::replace(other.begin() + static_cast<std::ptrdiff_t>(i),
                         other.begin() + static_cast<std::ptrdiff_t>(end), '#', '?');
            changed |= word.find('#') != word.npos;
        }
        if (end < other.size() && other[end] == '\n') comment = false;
    }
    if (!changed || text.starts_with("\xEF\xBB\xBF")) return;
    const Result result = read_all(other, setup);
    require(result.error.has_value() == expected.error.has_value(), "a # inside a word changes whether a file is good");
    if (result.error) {
        require(result.error->line == expected.error->line, "a # inside a word hides a bad row");
    } else {
        require(same_bits(result.x, expected.x) && same_bits(result.labels, expected.labels),
                "a # inside a word changes a number");
    }
}

void check(const std::string& text, Random& random) {
    Setup plain;
    plain.options = any_options(random);
    check_padding(text, plain.options, up_to(random, 40), 16 + up_to(random, one_in(random, 2) ? 600 : 1 << 20));
    const Result expected = read_all(text, plain);
    check_shape(expected, plain.options);
    Setup other = plain;
    for (int i = 0; i < 3; ++i) {
        other.block = 1 + up_to(random, one_in(random, 2) ? 40 : text.size() + 1);
        other.chunk = 1 + up_to(random, one_in(random, 2) ? 10 : text.size() + 1);
        other.threads = static_cast<unsigned>(1 + up_to(random, 3));
        other.options.sparse = one_in(random, 2);
        const Result result = read_all(text, other);
        check_shape(result, other.options);
        check_same(expected, result);
    }
    Setup broken = other;
    broken.fails_at = up_to(random, text.size());
    const bool failed = read_all(text, broken).failed;
    broken.threads = 1;
    require(read_all(text, broken).failed == failed, "a failing source hides a bad row, or not, by chance");
    if (plain.options.n_features && plain.options.base >= 0) {  // batches have one width
        other.enough = up_to(random, 4000);
        check_same(expected, read_all(text, other));
        check_limit(text, other, expected, random);
        other.enough = Reader::everything;
    }
    if (!expected.error) check_round_trip(expected, plain.options);
    check_limit(text, other, expected, random);
    check_comments(text, plain, expected);
}

void check_number(Random& random) {
    std::string text(one_in(random, 3) ? (one_in(random, 2) ? "-" : "+") : "");
    const auto digits = [&](std::size_t most) {
        for (std::size_t n = up_to(random, most); n > 0; --n) text += static_cast<char>('0' + up_to(random, 9));
    };
    const auto lengths = any_of(random, std::vector<std::pair<int, int>>{{1, 6}, {7, 7}, {10, 10}, {20, 3}, {2, 25}});
    text += one_in(random, 8) ? "" : std::to_string(up_to(random, 9));
    digits(static_cast<std::size_t>(lengths.first));
    if (!one_in(random, 4)) text += '.', digits(static_cast<std::size_t>(lengths.second));
    if (one_in(random, 3)) {
        text += one_in(random, 2) ? 'e' : 'E';
        if (one_in(random, 2)) text += one_in(random, 2) ? '-' : '+';
        digits(3);
    }
    if (one_in(random, 50))
        text.insert(std::min(text.find_first_not_of("+-"), text.size()), "0." + std::string(up_to(random, 500), '0'));
    if (one_in(random, 50)) text += "e" + std::string(up_to(random, 12), '0') + "2";
    current = text;
    char* end;
    const double expected = std::strtod(text.c_str(), &end);
    std::unique_ptr<char[]> buffer(new char[text.size() + 25]());  // 24 bytes past the one that ends it
    std::memcpy(buffer.get(), text.data(), text.size());
    buffer[text.size()] = '\n';
    double value = 0;
    const char* const stop = read_decimal(buffer.get(), value);
    const bool whole = end == text.c_str() + text.size() && end != text.c_str();
    require((stop == buffer.get() + text.size()) == whole, "a number is not recognised as strtod does");
    const auto is_expected = [&] { return std::memcmp(&value, &expected, sizeof value) == 0; };
    require(!whole || is_expected(), "not strtod's value");
    buffer[text.size()] = ' ';
    if (const char* const brief = read_short_decimal(buffer.get(), value)) {
        require(whole && brief == buffer.get() + text.size(), "the short form ends elsewhere");
        require(is_expected(), "the short form has another value");
    }
}

const std::vector<std::string> seeds = {
    "",
    "\n",
    "# only a comment\n",
    "2 qid:10 1:0.03 46:0.07 #docid = GX01 inc = 1 prob = 0.2\n0 qid:10 1:0.25 3:1 #docid=GX02\n",
    "0 qid:a 1:1 2:2 3:3 4:4\n1 qid:b 1:0.000001 2:NULL\n-1 qid:a 4:1e-3 1:-5.\n",
    "0 qid:1 0:1 1:2 2:3\n0.5 qid:1 0:1.797693134862315708e+308 2:1e-45\n",
    "1 qid:1 3:1 2:2\r\n2 qid:2 1:12345678.87654321 2:0.123456789012345678901234567890\r\n",
    "1 1:1 2:2\n2 1:2\n",
    "1 qid:x #docid = a#b\n\n  \t\n+3 qid:\xc3\xa9 10:.5 11:5. 12:+1\n1 qid:x 1:1 1:2\n1 qid:1 9:inf\n1 qid:1 300:1\n",
    "1 qid:1 1:1.#INF 2:7\n1 qid:1 1:-1.#IND00 2:1.#QNAN 3:nan\n1 qid:1 2:1e39 3:1e400\n1 qid:1#2 1:5#6\n1#2 qid:1\n",
    "0 qid:1 1:0.123456 2:1234567.123456 3:7 4:-7 5:0.1 6:99 7:0.0 8:123456.7 9:1 10:2 11:3\n",
};
const std::vector<std::string> words = {"qid:",
                                        "qid:1 ",
                                        " 0:",
                                        " 1:",
                                        " 2:",
                                        " 30:",
                                        " 31:",
                                        ":",
                                        "#",
                                        "#docid = ",
                                        "docid=",
                                        "=",
                                        "NULL",
                                        "null",
                                        "nan",
                                        "inf",
                                        "e",
                                        "E-",
                                        "1e39",
                                        "1e308",
                                        "1e309",
                                        "1e-400",
                                        "1.79769e308",
                                        "1.#INF",
                                        "1.#QNAN",
                                        "-1.#IND00",
                                        " #",
                                        "a#b",
                                        "-",
                                        "+",
                                        ".",
                                        "\n",
                                        "\r\n",
                                        "\r",
                                        "\t",
                                        " ",
                                        "  ",
                                        "0",
                                        "00000000",
                                        "99999999",
                                        "12345678",
                                        "\xc3\xa9",
                                        "\xff",
                                        "\xf4\x8f\xbf\xbf",
                                        "\xed\xa0\x80",
                                        std::string(1, '\0'),
                                        "\n1 qid:2 1:1 2:2 3:3\n",
                                        "\n0 qid:1 0:0.5\n",
                                        "\n2 1:1\n",
                                        " 999:1 1000:1",
                                        "0.000001 ",
                                        "1.5 ",
                                        "3.4028236e38 "};

std::string mutated(std::string text, Random& random, const std::vector<std::string>& pool) {
    for (std::size_t n = 1 + up_to(random, 6); n > 0; --n) {
        const std::size_t at = up_to(random, text.size());
        const std::size_t length = up_to(random, std::min<std::size_t>(text.size() - at, one_in(random, 3) ? 200 : 8));
        switch (up_to(random, 6)) {
            case 0:
                text.insert(at, any_of(random, words));
                break;
            case 1:
                text.replace(at, length, any_of(random, words));
                break;
            case 2:
                text.erase(at, length);
                break;
            case 3:
                text.insert(up_to(random, text.size()), text.substr(at, length));
                break;
            case 4:
                text.insert(at, any_of(random, pool));
                break;
            case 5:
                if (at < text.size()) text[at] = static_cast<char>(random());
                break;
            default:
                if (at < text.size()) text[at] = static_cast<char>('0' + up_to(random, 9));
        }
    }
    if (text.size() > 3000) text.resize(up_to(random, 3000));
    return text;
}

void run(const std::string& text) {
    current = text;
    Random random(std::hash<std::string>{}(text));  // a saved input brings its options back
    check(text, random);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    run(std::string(reinterpret_cast<const char*>(data), size));
    return 0;
}

#ifndef LIBFUZZER
extern "C" void __sanitizer_set_death_callback(void (*)());

int main(int argc, char** argv) {
    double seconds = 60;
    std::uint64_t seed = 1;
    std::signal(SIGALRM, [](int) { fault("an input took longer than 20 seconds"); });
    __sanitizer_set_death_callback(save);
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        if (name == "--seconds") seconds = std::stod(argv[i + 1]);
        if (name == "--seed") seed = std::stoull(argv[i + 1]);
        if (name == "--replay") {
            std::ifstream file(argv[i + 1], std::ios::binary);
            run({std::istreambuf_iterator<char>(file), {}});
            std::puts("no fault");
            return 0;
        }
    }
    Random random(seed);
    std::vector<std::string> pool = seeds;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::uint64_t inputs = 0;
    for (; std::chrono::steady_clock::now() < end; ++inputs) {
        alarm(20);
        const std::string text = inputs < seeds.size() ? seeds[inputs] : mutated(any_of(random, pool), random, pool);
        run(text);
        for (int i = 0; i < 20; ++i) check_number(random);
        if (pool.size() < 500)
            pool.push_back(text);
        else if (one_in(random, 4))
            pool[seeds.size() + random() % (pool.size() - seeds.size())] = text;
    }
    std::printf("%llu inputs and %llu numbers, seed %llu: no fault\n", static_cast<unsigned long long>(inputs),
                static_cast<unsigned long long>(20 * inputs), static_cast<unsigned long long>(seed));
}
#endif
