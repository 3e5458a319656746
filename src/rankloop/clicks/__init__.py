"""Click models: what users do with a ranking."""
