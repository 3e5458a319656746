"""All experiments, by id."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from rankloop.experiments.papers import (
    keeprank,
    keeprank_clicks,
    multileaving,
    pdgd,
    predtron,
    slam,
    solar,
    transfer,
    xendcg,
    xendcg_trees,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.experiments.papers.declaration import Experiment

_MODULES = (
    *(slam, solar, transfer, predtron, xendcg, xendcg_trees),
    *(keeprank, keeprank_clicks, multileaving, pdgd),
)

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {experiment.id: experiment for module in _MODULES for experiment in module.EXPERIMENTS}
)
"""Every experiment."""
