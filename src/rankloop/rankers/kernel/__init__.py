"""Rankers that compare documents by a kernel."""
