"""Experiments: models compared on live traffic by interleaving."""
