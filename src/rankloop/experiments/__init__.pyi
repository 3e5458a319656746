"""Experiments: how well rankers do, measured honestly."""

from .compare import compare_rankers as compare_rankers
from .report import write_report as write_report

__all__: list[str]
