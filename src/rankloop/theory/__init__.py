"""Margins, the loss bounds of the papers, and the adversary of the lower bound."""
