"""Click models by brute force: every latent story of a page is told, weighed and counted.

A story of a page says, for each document, what happened and whether the user went on. These are
the definitions that the compiled EM must agree with.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import product


def random_pages(rng, n=60, queries=3, documents=6, longest=4):
    """Small pages with some repetition, as (query, documents, clicked)."""
    pages = []
    for _ in range(n):
        shown = rng.permutation(documents)[: rng.integers(1, longest + 1)].tolist()
        clicked = [one for one in shown if rng.random() < 0.35]
        pages.append((int(rng.integers(queries)), shown, clicked))
    return pages


class Counts:
    """Expected numbers of yes and of all, by parameter."""

    def __init__(self, prior):
        self.prior = prior
        self.sums = defaultdict(lambda: [0.0, 0.0])

    def add(self, key, yes, weight):
        self.sums[key][0] += weight * yes
        self.sums[key][1] += weight

    def means(self):
        a, b = self.prior
        return {key: (a + yes) / (a + b + seen) for key, (yes, seen) in self.sums.items()}


def em(pages, stories, start, prior, iterations):
    """Textbook EM. `stories(page, value)` yields (probability, [(parameter, outcome)...])."""
    values = dict(start)

    def value(key):
        return values.get(key, prior[0] / sum(prior))

    for _ in range(iterations):
        counts = Counts(prior)
        for page in pages:
            told = list(stories(page, value))
            whole = sum(chance for chance, _ in told)
            for chance, outcomes in told:
                for key, outcome in outcomes:
                    counts.add(key, outcome, chance / whole)
        values = counts.means()
    return values


def chain_stories(page, value, after_skip, after_click):
    """Every way a reader from the top may have produced these clicks.

    `after_skip(row)` and `after_click(row)` yield (chance, goes on, outcomes) for what may follow.
    The last row's future is not seen, so it has none.
    """
    query, shown, clicked = page

    def tell(r, chance, outcomes):
        if r == len(shown):
            yield chance, outcomes
            return
        key = ("attraction", query, shown[r])
        click = shown[r] in clicked
        chance = chance * (value(key) if click else 1 - value(key))
        outcomes = [*outcomes, (key, float(click))]
        if r + 1 == len(shown):
            yield chance, outcomes
            return
        for weight, goes_on, more in (after_click if click else after_skip)(r):
            if goes_on:
                yield from tell(r + 1, chance * weight, outcomes + more)
            elif not any(one in clicked for one in shown[r + 1 :]):
                yield chance * weight, outcomes + more

    return tell(0, 1.0, [])


def bayesian_stories(page, value, fixed_going_on=None):
    query, shown, _ = page
    go_on = value("go on") if fixed_going_on is None else fixed_going_on

    def onwards(weight, outcomes):
        yield weight * go_on, True, [*outcomes, ("go on", 1.0)]
        yield weight * (1 - go_on), False, [*outcomes, ("go on", 0.0)]

    def after_click(r):
        key = ("satisfaction", query, shown[r])
        yield value(key), False, [(key, 1.0)]
        yield from onwards(1 - value(key), [(key, 0.0)])

    return chain_stories(page, value, lambda r: onwards(1.0, []), after_click)


def dependent_stories(page, value):
    def after_click(r):
        key = ("go on", r + 1)
        yield value(key), True, [(key, 1.0)]
        yield 1 - value(key), False, [(key, 0.0)]

    return chain_stories(page, value, lambda r: [(1.0, True, [])], after_click)


def click_chain_stories(page, value):
    query, shown, _ = page

    def onwards(tau, weight, outcomes):
        yield weight * value(tau), True, [*outcomes, (tau, 1.0)]
        yield weight * (1 - value(tau)), False, [*outcomes, (tau, 0.0)]

    def after_click(r):
        key = ("attraction", query, shown[r])
        yield from onwards("tau3", value(key), [(key, 1.0)])
        yield from onwards("tau2", 1 - value(key), [(key, 0.0)])

    return chain_stories(page, value, lambda r: onwards("tau1", 1.0, []), after_click)


def trust_stories(page, value):
    """Which documents are relevant."""
    query, shown, clicked = page
    for relevant in product((0.0, 1.0), repeat=len(shown)):
        chance, outcomes = 1.0, []
        for r, (document, yes) in enumerate(zip(shown, relevant, strict=True)):
            key, bias = ("relevance", query, document), ("b a"[int(2 * yes)], r + 1)
            click = float(document in clicked)
            chance *= value(key) if yes else 1 - value(key)
            chance *= value(bias) if click else 1 - value(bias)
            outcomes += [(key, yes), (bias, click)]
        yield chance, outcomes


def browsing_em(pages, prior, iterations, by_last_click):
    """Alternating EM of PBM and UBM: attraction, then examination by the new attraction."""
    values = {}

    def value(key):
        return values.get(key, prior[0] / sum(prior))

    def rows():
        for query, shown, clicked in pages:
            last = 0
            for position, document in enumerate(shown, start=1):
                seen = (
                    ("examination", position, last) if by_last_click else ("examination", position)
                )
                yield ("attraction", query, document), seen, document in clicked
                if document in clicked:
                    last = position

    for _ in range(iterations):
        for learns_attraction in (True, False):
            counts = Counts(prior)
            for pair, context, click in rows():
                a, e = value(pair), value(context)
                target, other = (pair, e) if learns_attraction else (context, a)
                mine = value(target)
                sure = 1.0 if click else other * (1 - mine) / (1 - a * e)
                counts.add(target, float(click) / sure if sure else 0.0, sure)
            values = {**values, **counts.means()}
    return values
