"""How many impressions experiments need: `python -m benchmarks.interleaving_power`.

Two rankers differ by 2, 5 and 10% in nDCG@10 on a simulated collection: the better one ranks by a
feature, and the other by the same feature with noise. A simulated user clicks on interleaved lists.
The table has, for each method of interleaving, the impressions after which a test at the end finds
the difference with power .8, and those of confidence sequences that are watched all the time:
EmpiricalBernstein with its usual tuning, SignBets, which the service has, and the impressions
after which half of the experiments with SignBets have ended. They follow from the mean and the
variance of simulated outcomes.

With --bets, sequences are compared for effects of given size instead, by simulated outcomes.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from rankloop.clicks.confidence_sequences import best_rho, mixture_bound
from rankloop.clicks.interleaving.balanced import Balanced
from rankloop.clicks.interleaving.optimised import Optimised
from rankloop.clicks.interleaving.power import Effect, impressions_of_sequence, impressions_of_test
from rankloop.clicks.interleaving.probabilistic import Probabilistic
from rankloop.clicks.interleaving.simulation import AB, discount_clicks, play, rankings_of
from rankloop.clicks.interleaving.team_draft import TeamDraft
from rankloop.clicks.sign_bets import STAKES
from rankloop.clicks.users import user_for
from rankloop.data.simulate import mslr_like
from rankloop.measures.evaluation import evaluate

METHODS = {
    "team draft": TeamDraft(),
    "team draft, all credited": TeamDraft(credit_shared=True),
    "balanced": Balanced(),
    "probabilistic": Probabilistic(),
    "optimised": Optimised(),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.interleaving_power", description=__doc__
    )
    parser.add_argument("--impressions", type=int, default=20_000)
    parser.add_argument("--user", default="navigational")
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--bets", action="store_true")
    chosen = parser.parse_args()
    if chosen.bets:
        compare_sequences()
        return
    rng = np.random.default_rng(0)
    data = mslr_like(300, rng, n_features=5, mean_length=20.0).data
    best = data.X[:, 0].astype(np.float64)
    noise = rng.normal(size=len(best)) * best.std()
    top = evaluate(data, best, "nDCG@10")["nDCG@10"]
    print("| better by | method | mean | decided | test | Bernstein | bets | half | seconds |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for wanted in (0.02, 0.05, 0.1):
        worse = _worse(data, best, noise, top / (1 + wanted))
        rankings = rankings_of(data, [best, worse])
        user = user_for(data.y, chosen.user)
        for name in chosen.methods:
            start = time.perf_counter()
            played = play(METHODS[name], rankings, data, user, rng, chosen.impressions)
            outcomes = np.array([shown.preferences(clicks)[0, 1] for shown, clicks in played])
            print(f"| {wanted:.0%} | {name} {_row(outcomes)} {time.perf_counter() - start:.0f} |")
        print(f"| {wanted:.0%} | {AB} {_ab(data, rankings, user, rng, chosen.impressions)} |")


def _worse(data, best, noise, goal):
    """Return the scores with as much noise as leads to a quality."""
    low, high = 0.0, 8.0
    for _ in range(30):
        middle = (low + high) / 2
        value = evaluate(data, best + middle * noise, "nDCG@10")["nDCG@10"]
        low, high = (middle, high) if value > goal else (low, middle)
    return best + high * noise


def _row(outcomes) -> str:
    mean, spread = outcomes.mean(), outcomes.std()
    error = spread / np.sqrt(len(outcomes))
    if mean < 2 * error:
        return f"| {mean:.4f} ± {error:.4f} | - | - | - | - | - |"
    decided = float((outcomes**2).mean())  # a variance of the same size, for graded outcomes too
    effect = Effect(float(mean) / decided, decided)
    bets = half = "-"
    if np.isin(outcomes, (-1, 0, 1)).all():
        bets = f"{impressions_of_sequence(effect):,}"
        half = f"{impressions_of_sequence(effect, power=0.5):,}"
    return (
        f"| {mean:.4f} ± {error:.4f} | {(outcomes != 0).mean():.2f} | "
        f"{impressions_of_test(effect):,} | {impressions_of_sequence(effect, lead=_bernstein):,} | "
        f"{bets} | {half} |"
    )


def _bernstein(decided: float, alpha: float, tuned_for: float = 50) -> float:
    """Return the lead at which EmpiricalBernstein excludes 0."""
    return 2 * mixture_bound(decided / 4, best_rho(tuned_for, alpha), alpha / 2)


def _ab(data, rankings, user, rng, impressions) -> str:
    values = []
    for group in (0, 1):
        queries = rng.integers(len(data), size=impressions)
        shown = [data.offsets[q] + np.asarray(rankings[q][group][:10]) for q in queries]
        offsets = np.r_[0, np.cumsum([len(rows) for rows in shown])]
        clicks = user.sample(rng, data.y[np.concatenate(shown)], offsets)
        values.append([discount_clicks(page) for page in np.split(clicks, offsets[1:-1])])
    first, second = (np.array(v) for v in values)
    gap = first.mean() - second.mean()
    error = np.sqrt(first.var() / len(first) + second.var() / len(second))
    if gap < 2 * error:
        return f"| {gap:.4f} ± {error:.4f} | 1.00 | more than {2 * impressions:,} | | | |"
    needed = 2 * (first.var() + second.var()) * (2.8016 / gap) ** 2
    return f"| {gap:.4f} ± {error:.4f} | 1.00 | {needed:,.0f} | | | |"


def compare_sequences(alpha: float = 0.05, repeats: int = 2000) -> None:
    """Print outcomes needed as a multiple of a test's: four of five experiments, mean, half.

    Every outcome is 1 or -1. The last row knows the effect and bets accordingly.
    """
    preferences = (0.02, 0.05, 0.1, 0.2, 0.4)
    tests = [impressions_of_test(Effect(p, 1.0), alpha) for p in preferences]
    print("| sequence |", *(f"{p:.0%} ({n:,}) |" for p, n in zip(preferences, tests, strict=True)))
    print("|---|" + "---:|" * len(preferences))
    rng = np.random.default_rng(0)
    walks = [
        np.cumsum(np.where(rng.random((repeats, 6 * n)) < (1 + p) / 2, 1, -1), axis=1, dtype="i4")
        for p, n in zip(preferences, tests, strict=True)
    ]
    points = np.unique(np.geomspace(1, 6 * tests[0], 600).astype(int)).astype(float)
    for name, stakes, weights in _mixtures():
        cells = []
        for p, n, walk in zip(preferences, tests, walks, strict=True):
            chosen = np.array([p]) if stakes is None else stakes
            if isinstance(weights, float):
                lead = [_bernstein(point, alpha, weights) for point in points]
            else:
                lead = _leads(points, chosen, np.ones(1) if stakes is None else weights, alpha)
            crossed = walk >= np.interp(np.arange(1, walk.shape[1] + 1), points, lead)
            end = np.where(crossed.any(axis=1), crossed.argmax(axis=1) + 1, walk.shape[1]) / n
            cells.append(f"{np.quantile(end, 0.8):.2f}, {end.mean():.2f}, {np.median(end):.2f} |")
        print(f"| {name} |", *cells, flush=True)


def _mixtures():
    """Yield names, stakes and weights; a number stands for a tuning of EmpiricalBernstein."""
    yield "EmpiricalBernstein, tuned for 50", STAKES, 50.0
    yield "EmpiricalBernstein, tuned for 1,000", STAKES, 1000.0
    yield "SignBets", STAKES, 1 / (16 * STAKES + 1 / (16 * STAKES))
    yield "equal weights", STAKES, np.ones(10)
    yield "weight of a stake like its size", STAKES, STAKES
    few = np.geomspace(0.02, 0.32, 5)
    yield "5 stakes from .02 to .32", few, np.ones(5)
    for prior in (50, 100):  # a Beta density of the share of wins, above 1/2
        dense = np.linspace(0.0005, 0.9995, 1000)
        yield f"Beta({prior}, {prior})", dense, (1 - dense**2) ** (prior - 1.0)
    yield "one stake, the preference", None, None


def _leads(points, stakes, weights, alpha):
    log_weights = np.log(weights / weights.sum() + 1e-300)

    def log_capital(lead):
        wins, losses = (points + lead) / 2, (points - lead) / 2
        each = np.outer(wins, np.log1p(stakes)) + np.outer(losses, np.log1p(-stakes))
        return np.logaddexp.reduce(log_weights + each, axis=1)

    low, high = np.zeros(len(points)), points.copy()
    for _ in range(40):
        middle = (low + high) / 2
        enough = log_capital(middle) >= np.log(2 / alpha)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(log_capital(points) >= np.log(2 / alpha), high, 2 * points)


if __name__ == "__main__":
    main()
