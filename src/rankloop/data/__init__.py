"""Data gathered by query: readers, writers, scaling, splits, simulators."""
