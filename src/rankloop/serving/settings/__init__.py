"""Settings of a service and of its loops."""
