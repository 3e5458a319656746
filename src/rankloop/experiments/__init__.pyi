"""Experiments: how well rankers do, measured honestly."""

from rankloop.experiments.compare import compare_rankers as compare_rankers
from rankloop.experiments.report import write_report as write_report

__all__: list[str]
