"""Ensembles: several rankers that rank together."""
