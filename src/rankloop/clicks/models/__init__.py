"""Click models: how users read a page and what they click, as values with one protocol."""
