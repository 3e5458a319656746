"""What a memory budget costs: kernel rankers that may hold on to only so many documents.

Writes a picture and the numbers to `out/` in the current folder; takes some seconds.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import rankloop as rl
from rankloop.plotting.figures import save_figure
from rankloop.rankers.kernel.budget import REMOVALS

OUT = Path("out")
BUDGETS = (25, 50, 100, 200, 400, 800)
RANKER = "kernel-slam:kernel=rbf(0.2),budget={},removal={}"


def rings(n_queries: int, rng: np.random.Generator) -> rl.QueryDataset:
    """Simulate queries whose best documents lie near the middle, which no line can tell."""
    X = rng.uniform(-1, 1, (10 * n_queries, 3)).astype(np.float32)
    y = np.digitize(-np.linalg.norm(X, axis=1) + rng.normal(0, 0.1, len(X)), [-0.8, -0.5])
    return rl.QueryDataset.from_arrays(X, y.astype(float), group=[10] * n_queries)


def main() -> None:
    """Stream queries through each budget and each way of keeping it."""
    OUT.mkdir(exist_ok=True)
    data = rings(300, np.random.default_rng(0))
    rankers = {"linear": rl.Slam(), "no budget": rl.make_ranker(RANKER.format("none", "random"))}
    for removal in REMOVALS:
        for budget in BUDGETS:
            rankers[f"{removal} {budget}"] = rl.make_ranker(RANKER.format(budget, removal))
    reached = {s.ranker: s.mean for s in rl.stream(data, rankers, "nDCG@10")}
    (OUT / "budget_curve.json").write_text(json.dumps(reached, indent=2) + "\n")

    print(f"nDCG@10 of kernel SLAM, measured before learning; linear {reached['linear']:.4f}, ")
    print(f"no budget {reached['no budget']:.4f}, and with so many documents:\n")
    print(f"{'':12}" + "".join(f"{budget:>8}" for budget in BUDGETS))
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for removal in REMOVALS:
        values = [reached[f"{removal} {budget}"] for budget in BUDGETS]
        print(f"{removal:12}" + "".join(f"{value:8.4f}" for value in values))
        axes.plot(BUDGETS, values, marker="o", markersize=4, label=removal)
    for name, style in (("no budget", "--"), ("linear", ":")):
        axes.axhline(reached[name], linestyle=style, color="grey", linewidth=1, label=name)
    axes.set_xscale("log")
    axes.set_xticks(BUDGETS, [str(budget) for budget in BUDGETS])
    axes.minorticks_off()
    axes.set_xlabel("documents held")
    axes.set_title("nDCG@10 of kernel SLAM, measured before learning", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=8)
    save_figure(figure, OUT / "budget_curve.png")
    print(f"\nThe curve: {OUT / 'budget_curve.png'}")


if __name__ == "__main__":
    main()
