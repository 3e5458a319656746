"""Online learners, one published algorithm per file."""
