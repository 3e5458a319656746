"""The state of a loop, computed from the entries of its journal."""
