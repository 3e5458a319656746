"""Several rankers that rank together."""
