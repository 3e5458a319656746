"""Rankers that learn: online, query by query."""
