"""One published online algorithm a file."""
