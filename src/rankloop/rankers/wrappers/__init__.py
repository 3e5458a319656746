"""Rankers that see transformed features: scaled, mapped, lifted into a kernel's space."""
