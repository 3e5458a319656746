"""The page at `/`, and the data that it requests from the service."""
