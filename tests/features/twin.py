"""Every feature in plain Python, computed from the whole history at each request.

Events are kept in lists by key, and sums are written as they are defined: the sum over events of
2^(-age / half_life), where an event's age counts from the latest time seen when it arrived.
"""

import math
import re
from collections import defaultdict

NAN = float("nan")
DAY = 86_400_000
UNITS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": DAY, "w": 7 * DAY}


class Events:
    """What was added to one key: (latest time so far, n, m)."""

    def __init__(self):
        self.all = []

    def add(self, n, m, at):
        latest = max([at, *(t for t, _, _ in self.all)])
        self.all.append((latest, n, m))

    def sums(self, options, at):
        if not self.all:
            return 0.0, 0.0
        now = max(at, self.all[-1][0])
        weights = [self._weight(options, latest, now) for latest, _, _ in self.all]
        n = math.fsum(w * n for w, (_, n, _) in zip(weights, self.all, strict=True))
        return n, math.fsum(w * m for w, (_, _, m) in zip(weights, self.all, strict=True))

    @staticmethod
    def _weight(options, latest, now):
        if "half_life" in options:
            return 2 ** (-(now - latest) / duration(options["half_life"]))
        if "window" in options:
            width = duration(options["window"]) // 7
            return 1.0 if now // width - latest // width < 7 else 0.0
        return 1.0


def duration(text):
    return int(text[:-1]) * UNITS[text[-1]]


class Counted:
    """The counter of a feature: which events add to which keys."""

    def __init__(self, options, per):
        self.options, self.per = options, [per] if isinstance(per, str) else per
        self.keys, self.total = defaultdict(Events), Events()
        kind = next(k for k in ("rate", "mean", "count", "since", "affinity") if k in options)
        by_mean = kind == "mean" or options.get("by") == "mean"
        event = options.get("to") if kind == "affinity" else options[kind]
        self.kind = "mean" if by_mean else "rate" if kind == "affinity" else kind
        self.n_event = event
        self.m_event = {"mean": event, "rate": options.get("of", "impression")}.get(self.kind)

    def add(self, event, keys, at, value=1.0, first=True, seen=1.0):
        if event not in (self.n_event, self.m_event) or (self.kind == "rate" and not first):
            return
        amount = seen if event == "examination" else 1.0
        n = (value if self.kind == "mean" else amount) if event == self.n_event else 0.0
        for key in keys:
            for events in (self.keys[key], self.total):
                events.add(n, amount if event == self.m_event else 0.0, at)


class Twin:
    """The same interface as FeatureState, for histories of a test."""

    def __init__(self, fields, features, examination):
        self.fields, self.features, self.examination = fields, features, examination
        self.items, self.users, self.rankings = {}, {}, {}
        self.codes = defaultdict(list)
        self.counters = {}
        for name, options in features.items():
            if "affinity" in options:
                self.counters[name, "own"] = Counted(options, ["user"])
                self.counters[name] = Counted(options, ["user", options["affinity"]])
            elif {"rate", "mean", "count", "since"} & set(options):
                self.counters[name] = Counted(options, options.get("per", "item"))

    # ---- the history

    def change_items(self, kind, changes, at):
        for change in changes:
            known = getattr(self, kind)
            if change.mode == "delete":
                known.pop(change.id, None)
                continue
            old = known.get(change.id, {}) if change.mode == "patch" else {}
            known[change.id] = {**old, **change.fields}
            for field in ("brand", "genres", "country"):
                self.note(f"{kind[:-1]}.{field}", change.fields.get(field))

    def note(self, name, value):
        for word in words_of(value):
            if word not in self.codes[name]:
                self.codes[name].append(word)

    def show(self, ranking, items, request, at, first_place):
        self.note("request.device", request.fields.get("device"))
        shown = self.rankings.setdefault(ranking, (request, set(), set()))
        for place, item in enumerate(items, first_place):
            if item not in shown[1]:
                shown[1].add(item)
                seen = self.examination[min(place, len(self.examination)) - 1]
                for counted in self.counters.values():
                    keys = self.keys(counted, item, shown[0])
                    counted.add("impression", keys, at)
                    counted.add("examination", keys, at, seen=seen)

    def observe(self, item, event, value, at, ranking, request):
        if event == "impression":
            return
        shown = self.rankings.get(ranking)
        first = shown is None or (item, event) not in shown[2]
        if shown:
            shown[2].add((item, event))
        context = shown[0] if shown else request
        for counted in self.counters.values():
            counted.add(event, self.keys(counted, item, context), at, value, first)

    def forget(self, gone):
        for counted in self.counters.values():
            for key in [key for key in counted.keys if set(key) & set(gone)]:
                del counted.keys[key]
        for user in gone:
            self.users.pop(user, None)
        for name, (request, *_) in list(self.rankings.items()):
            if {request.user, request.session, request.query} & set(gone):
                del self.rankings[name]

    # ---- values

    def value(self, ref, item, request):
        side, name = ref.split(".")
        owner = {
            "item": self.items.get(item, {}),
            "user": self.users.get(request.user, {}) if request else {},
            "request": request.fields if request else {},
        }[side]
        return owner.get(name)

    def keys(self, counted, item, request):
        keys = [()]
        for part in counted.per:
            if part == "item":
                values = [item]
            elif part in ("user", "session", "request.query"):
                value = getattr(request, part.split(".")[-1]) if request else None
                values = [] if value is None else [value]
            else:
                values = words_of(self.value(part, item, request))
            keys = [(*key, value) for key in keys for value in values]
        return keys

    def matrix(self, items, request, at, given):
        self.at, self.request, self.shown, self.given = at, request, items, given
        rows = []
        for row, item in enumerate(items):
            columns = []
            for name, options in self.features.items():
                value = self.feature(name, options, row, item)
                columns += value if isinstance(value, list) else [value]
            rows.append([NAN if v is None else float(v) for v in columns])
        return rows

    def feature(self, name, options, row, item):
        kind = next(k for k in options if hasattr(self, f"kind_{k}"))
        return getattr(self, f"kind_{kind}")(name, options, row, item)

    def kind_given(self, name, options, row, item):
        return self.given[row][0]

    def kind_number(self, name, options, row, item):
        return self.value(options["number"], item, self.request)

    def kind_boolean(self, name, options, row, item):
        return self.value(options["boolean"], item, self.request)

    def kind_category(self, name, options, row, item):
        word = self.value(options["category"], item, self.request)
        codes = self.codes[options["category"]]
        if word not in codes:
            return NAN
        code = codes.index(word)
        return code if code < options.get("limit", 1000) else ANY

    def kind_categories(self, name, options, row, item):
        words = self.value(options["categories"], item, self.request)
        limit = options["limit"]
        if words is None:
            return [NAN] * (limit + options["buckets"])
        codes = [self.codes[options["categories"]].index(word) for word in words]
        flags = [float(k in codes) for k in range(limit)]
        if all(code < limit for code in codes):
            return flags + [0.0] * options["buckets"]
        return flags + [ANY] * options["buckets"]

    def kind_age(self, name, options, row, item):
        date = self.value(options["age"], item, self.request)
        return None if date is None else (self.at - date) / DAY

    def kind_words(self, name, options, row, item):
        text = self.value(options["words"], item, self.request)
        return None if text is None else len(tokens(text))

    def kind_size(self, name, options, row, item):
        words = self.value(options["size"], item, self.request)
        return None if words is None else len(words)

    def kind_vector(self, name, options, row, item):
        vector = self.value(options["vector"], item, self.request)
        return [NAN, NAN] if vector is None else list(vector)

    def kind_cosine(self, name, options, row, item):
        x, y = (self.value(ref, item, self.request) for ref in options["cosine"])
        if x is None or y is None or math.hypot(*x) == 0 or math.hypot(*y) == 0:
            return NAN
        return sum(a * b for a, b in zip(x, y, strict=True)) / (math.hypot(*x) * math.hypot(*y))

    def kind_dot(self, name, options, row, item):
        x, y = (self.value(ref, item, self.request) for ref in options["dot"])
        return NAN if x is None or y is None else sum(a * b for a, b in zip(x, y, strict=True))

    def kind_distance(self, name, options, row, item):
        x, y = (self.value(ref, item, self.request) for ref in options["distance"])
        return NAN if x is None or y is None else math.dist(x, y)

    def kind_match(self, name, options, row, item):
        query, text = self.request.text.get("query"), self.value("item.title", item, None)
        if query is None or text is None or not tokens(query):
            return NAN
        asked = set(tokens(query))
        how = options.get("by", "bm25")
        if how == "terms":
            return len(asked & set(tokens(text))) / len(asked)
        if how == "ngrams":
            return len(trigrams(query) & trigrams(text)) / len(trigrams(query))
        texts = [tokens(i["title"]) for i in self.items.values() if i.get("title") is not None]
        mean = sum(map(len, texts)) / len(texts)
        score = 0.0
        for term in asked:
            df = sum(term in other for other in texts)
            idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
            tf = tokens(text).count(term)
            if tf:
                score += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len(tokens(text)) / mean))
        return score

    def sums(self, name, item):
        counted = self.counters[name]
        keys = self.keys(counted, item, self.request)
        empty = Events()
        return [counted.keys.get(key, empty).sums(counted.options, self.at) for key in keys]

    def usual(self, name):
        n, m = self.counters[name].total.sums(self.counters[name].options, self.at)
        return n / m if m > 0 else NAN

    def shrink(self, name, options, item, prior):
        usual = self.usual(name)
        values = [ratio(n, m, prior, usual) for n, m in self.sums(name, item)]
        return sum(values) / len(values) if values else NAN

    def kind_rate(self, name, options, row, item):
        return self.shrink(name, options, item, options.get("prior", 10))

    def kind_mean(self, name, options, row, item):
        return self.shrink(name, options, item, options.get("prior", 5))

    def kind_count(self, name, options, row, item):
        values = [n for n, _ in self.sums(name, item)]
        return sum(values) / len(values) if values else NAN

    def kind_since(self, name, options, row, item):
        counted = self.counters[name]
        last = [
            max(t for t, _, _ in counted.keys[key].all)
            for key in self.keys(counted, item, self.request)
            if key in counted.keys
        ]
        return math.log1p(max(0, self.at - last[0]) / 1000) if last else NAN

    def kind_affinity(self, name, options, row, item):
        prior = options.get("prior", 5)
        own = self.sums((name, "own"), item)
        values = self.sums(name, item)
        if not own or not values:
            return NAN
        rate = ratio(*own[0], prior, self.usual((name, "own")))
        return sum(ratio(n, m, prior, rate) - rate for n, m in values) / len(values)

    def kind_clock(self, name, options, row, item):
        local = self.at + options.get("offset", 0) * 3_600_000
        return local % DAY / 3_600_000 if options["clock"] == "hour" else (local // DAY + 3) % 7

    def kind_cross(self, name, options, row, item):
        known = [self.value(part, item, self.request) for part in options["cross"]]
        return NAN if None in known else ANY

    def kind_relative(self, name, options, row, item):
        prices = [self.value("item.price", i, self.request) for i in self.shown]
        known, price = sorted(p for p in prices if p is not None), prices[row]
        if price is None:
            return NAN
        if options["by"] == "rank":
            return sum(p < price for p in known) / max(len(known) - 1, 1)
        if options["by"] == "share":
            return price / (max(map(abs, known)) or 1)
        return price - known[(len(known) - 1) // 2]

    def kind_diversity(self, name, options, row, item):
        brands = [self.value("item.brand", i, self.request) for i in self.shown]
        others = [b for k, b in enumerate(brands[: options["top"]]) if k != row]
        if brands[row] is None or not others:
            return NAN
        return sum(b != brands[row] for b in others) / len(others)


ANY = -12345.0
"""A code that follows from a hash: only that it is there is compared here."""


def ratio(n, m, prior, usual):
    if prior == 0:
        return n / m if m > 0 else NAN
    return (n + prior * usual) / (m + prior)


def words_of(value):
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def tokens(text):
    return re.findall(r"[a-z0-9]+", text.lower())


def trigrams(text):
    line = "".join(f" {word}" for word in tokens(text)) + " "
    return {line[i : i + 3] for i in range(len(line) - 2)}
