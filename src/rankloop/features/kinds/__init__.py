"""The kinds of features, one file a kind: what it needs, its formula and its columns."""
