"""Interleaving and multileaving: rankers compared by the clicks on one shared list."""
