"""Learning to rank that never stops learning."""
