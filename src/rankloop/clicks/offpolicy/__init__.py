"""Off-policy evaluation: how well a ranker would do, estimated from the logs of another one."""
