"""The problems of the paper, one family per file."""
