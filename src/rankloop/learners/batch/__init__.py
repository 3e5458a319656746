"""Rankers that learn from a whole data set, round after round."""
