"""Boosted trees, grown by LightGBM."""
