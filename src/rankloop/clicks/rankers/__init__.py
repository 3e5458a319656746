"""Rankers for clicks: they choose what to show, and learn from what is clicked."""
