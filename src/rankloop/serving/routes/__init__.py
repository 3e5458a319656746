"""What the service answers: one file a route, each a declaration and a function."""
