"""Model files: what a ranker knows as a tree of values, and the archive that holds it."""
