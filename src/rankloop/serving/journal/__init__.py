"""Where entries are kept: in order, durable, each once. All stores share one interface."""
