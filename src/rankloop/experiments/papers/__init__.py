"""Every table and figure of the five papers, declared with its published values.

>>> "solar-table2" in EXPERIMENTS
True
"""

from rankloop.experiments.papers.catalogue import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
