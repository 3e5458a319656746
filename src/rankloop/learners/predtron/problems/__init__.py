"""The problems of the paper, one family a file."""
