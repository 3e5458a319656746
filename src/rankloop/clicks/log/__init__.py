"""Click logs as values, and the formats they come in."""
