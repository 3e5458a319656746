"""Position bias: how much less a position is looked at than the first, estimated from logs."""
