"""The documentation site: `python -m website` builds it from docs/ and the docstrings."""
