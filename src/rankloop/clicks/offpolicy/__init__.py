"""Off-policy evaluation: how well a ranker would do, told from the logs of another one."""
