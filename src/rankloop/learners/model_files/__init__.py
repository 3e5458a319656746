"""Model files: what a learner knows as a tree of values, and the archive that holds it."""
