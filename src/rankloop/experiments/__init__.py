"""Experiments: how well learners do, measured honestly."""
