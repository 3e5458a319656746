"""How many impressions experiments need: `python -m benchmarks.interleaving_power`.

Two rankers differ by 2, 5 and 10% in nDCG@10 on a simulated collection: the better one ranks by a
feature, and the other by the same feature with noise. A simulated user clicks on interleaved lists.
The table has, for each method of interleaving, the impressions after which a test at the end finds
the difference with power .8 (from the mean and the variance of 20,000 outcomes), and those of the
confidence sequences: as the service has it, tuned for 1,000, and tuned for this effect.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from rankloop.clicks.confidence_sequences import EmpiricalBernstein
from rankloop.clicks.interleaving.balanced import Balanced
from rankloop.clicks.interleaving.optimised import Optimised
from rankloop.clicks.interleaving.power import Effect, impressions_of_sequence, impressions_of_test
from rankloop.clicks.interleaving.probabilistic import Probabilistic
from rankloop.clicks.interleaving.simulation import AB, discount_clicks, play, rankings_of
from rankloop.clicks.interleaving.team_draft import TeamDraft
from rankloop.clicks.users import user_for
from rankloop.data.simulate import mslr_like
from rankloop.measures.evaluation import evaluate

METHODS = {
    "team draft": TeamDraft(),
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
    chosen = parser.parse_args()
    rng = np.random.default_rng(0)
    data = mslr_like(300, rng, n_features=5, mean_length=20.0).data
    best = data.X[:, 0].astype(np.float64)
    noise = rng.normal(size=len(best)) * best.std()
    top = evaluate(data, best, "nDCG@10")["nDCG@10"]
    print("| better by | method | mean | decided | test | sequence | for 1,000 | tuned | seconds |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for wanted in (0.02, 0.05, 0.1):
        worse = _worse(data, best, noise, top / (1 + wanted))
        rankings = rankings_of(data, [best, worse])
        user = user_for(data.y, chosen.user)
        for name, method in METHODS.items():
            start = time.perf_counter()
            played = play(method, rankings, data, user, rng, chosen.impressions)
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
    sequences = (
        EmpiricalBernstein(),
        EmpiricalBernstein(tuned_for=1000),
        None,
    )
    needed = " | ".join(f"{impressions_of_sequence(effect, s):,}" for s in sequences)
    return (
        f"| {mean:.4f} ± {error:.4f} | {(outcomes != 0).mean():.2f} | "
        f"{impressions_of_test(effect):,} | {needed} |"
    )


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


if __name__ == "__main__":
    main()
