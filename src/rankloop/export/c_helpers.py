"""The C functions that an exported source may need; each source has only those that it calls."""

from __future__ import annotations

ALWAYS = (
    "#include <math.h>",
    "#include <stddef.h>",
    "#include <stdlib.h>",
)

HELPERS = {
    "to_single": """
static double to_single(double x)
{
    const double largest = 3.4028234663852886e+38;
    return (float)(x > largest ? largest : x < -largest ? -largest : x);
}""",
    "signed_log": """
static double signed_log(double x) { return copysign(log1p(fabs(x)), x); }""",
    "limited": """
static double limited(double x, double offset, double slope,
                      double low, double high, double missing)
{
    if (isnan(x)) return missing;
    x = offset + slope * x;
    return x < low ? low : x > high ? high : x;
}""",
    "query_minmax": """
static void query_minmax(const double *x, size_t n, size_t d, double *out)
{
    for (size_t j = 0; j < d; ++j) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < n; ++i) {
            if (x[i * d + j] < low) low = x[i * d + j];
            if (x[i * d + j] > high) high = x[i * d + j];
        }
        const double span = high > low ? high - low : 1;
        for (size_t i = 0; i < n; ++i) out[i * d + j] = (x[i * d + j] - low) / span;
    }
}""",
    "query_centre": """
static void query_centre(const double *x, size_t n, size_t d, double *out)
{
    for (size_t j = 0; j < d; ++j) {
        double low = INFINITY;
        for (size_t i = 0; i < n; ++i) if (x[i * d + j] < low) low = x[i * d + j];
        for (size_t i = 0; i < n; ++i) out[i * d + j] = x[i * d + j] - low;
    }
}""",
    "query_rank": """
struct placed {
    double value;
    size_t row;
};

static void sort_up(struct placed *v, size_t n)
{
    size_t gap = 1;
    while (gap < n / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (size_t i = gap; i < n; ++i) {
            const struct placed one = v[i];
            size_t k = i;
            for (; k >= gap && v[k - gap].value > one.value; k -= gap) v[k] = v[k - gap];
            v[k] = one;
        }
}

static void query_rank(const double *x, size_t n, size_t d, double *out, void *room)
{
    struct placed *const sorted = room;
    for (size_t j = 0; j < d; ++j) {
        size_t known = 0;
        for (size_t i = 0; i < n; ++i) {
            out[i * d + j] = 0;
            if (isnan(x[i * d + j])) continue;
            sorted[known].value = x[i * d + j];
            sorted[known++].row = i;
        }
        sort_up(sorted, known);
        for (size_t first = 0, end = 0; first < known; first = end) {
            while (end < known && sorted[end].value == sorted[first].value) ++end;
            for (size_t k = first; k < end; ++k)
                out[sorted[k].row * d + j] = 0.5 * (double)(first + end) / (double)n;
        }
    }
}""",
    "query_standardise": """
static void query_standardise(const double *x, size_t n, size_t d, double *out)
{
    for (size_t j = 0; j < d; ++j) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < n; ++i) mean += x[i * d + j];
        mean /= (double)n;
        for (size_t i = 0; i < n; ++i) {
            const double apart = x[i * d + j] - mean;
            square += apart * apart;
        }
        const double spread = sqrt(square / (double)n);
        for (size_t i = 0; i < n; ++i)
            out[i * d + j] = spread > 0 ? (x[i * d + j] - mean) / spread : 0;
    }
}""",
    "dot_plain": """
static double dot_plain(const double *x, const double *w, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; ++j) sum += x[j] * w[j];
    return sum;
}""",
    "dot_wide": """
static double dot_wide(const double *x, const double *w, size_t d)
{
    double sums[16] = {0}, rest = 0;
    size_t j = 0;
    for (; j + 16 <= d; j += 16) for (size_t k = 0; k < 16; ++k) sums[k] += x[j + k] * w[j + k];
    for (; j < d; ++j) rest += x[j] * w[j];
    for (size_t half = 8; half > 0; half /= 2)
        for (size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
    return sums[0] + rest;
}""",
    "dot_single": """
static double dot_single(const double *x, const double *w, size_t d)
{
    float sums[32] = {0}, rest = 0;
    size_t j = 0;
    for (; j + 32 <= d; j += 32)
        for (size_t k = 0; k < 32; ++k) sums[k] += (float)x[j + k] * (float)w[j + k];
    for (; j + 8 <= d; j += 8)
        for (size_t k = 0; k < 8; ++k) sums[k] += (float)x[j + k] * (float)w[j + k];
    for (; j < d; ++j) rest += (float)x[j] * (float)w[j];
    for (size_t half = 16; half > 0; half /= 2)
        for (size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
    const float sum = sums[0] + rest;
    if (fabsf(sum) <= 3.4028234663852886e+38f) return sum;
    double wide = 0;
    for (j = 0; j < d; ++j) wide += x[j] * w[j];
    return wide;
}""",
    "tree_leaf": """
struct split {
    double threshold;
    int feature, left, right, members, nan_left;
};

static size_t tree_leaf(const struct split *splits, const unsigned *sets, int at, const double *row)
{
    while (at >= 0) {
        const struct split *const s = splits + at;
        const double x = row[s->feature];
        int left;
        if (isnan(x)) {
            left = s->nan_left;
        } else if (s->members) {
            const unsigned *const set = sets + s->members - 1;
            left = x > -1 && x < 32.0 * set[0] && set[1 + (unsigned)x / 32] >> (unsigned)x % 32 & 1;
        } else {
            left = x <= s->threshold;
        }
        at = left ? s->left : s->right;
    }
    return (size_t)~at;
}""",
    "squared_distance": """
static double squared_distance(const double *a, const double *b, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}""",
    "chi_distance": """
static double chi_distance(const double *a, const double *b, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; ++j) {
        const double total = a[j] + b[j];
        sum += (a[j] - b[j]) * (a[j] - b[j]) / (total > 0 ? total : 1);
    }
    return sum;
}""",
}
