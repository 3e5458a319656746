"""Experiments: how well learners do, measured honestly."""

from rankloop.experiments.compare import compare_learners as compare_learners
from rankloop.experiments.report import write_report as write_report

__all__: list[str]
