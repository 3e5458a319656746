"""Readers and writers of all formats."""
