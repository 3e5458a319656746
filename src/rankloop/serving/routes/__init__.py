"""The routes of the service: one file per route, each a declaration and a function."""
