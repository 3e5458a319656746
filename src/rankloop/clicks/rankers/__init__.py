"""Rankers for clicks: they choose what to show, and learn from what is clicked."""

# It tells `Prepared` what to make of a ranker for clicks, so it must be imported with any of them.
from rankloop.clicks.rankers import described as described
from rankloop.clicks.rankers import prepared as prepared
