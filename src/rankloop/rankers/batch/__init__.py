"""Rankers that are fitted to a whole data set, in several rounds."""
