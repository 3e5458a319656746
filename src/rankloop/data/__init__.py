"""Query-grouped data."""
