"""What a measure is, how ranks and ties are decided, conventions, comparison."""
