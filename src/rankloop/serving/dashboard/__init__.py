"""The page at `/`: what people look at, and what it asks the service for."""
