"""Helpers that every package may use: exact arithmetic, names, processors, estimators."""
