"""Online rankers, one published algorithm per file."""
