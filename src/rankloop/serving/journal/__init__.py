"""Where entries are kept: in order, durable, each once. One interface, one suite of tests."""
