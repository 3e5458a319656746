"""Who may do what, how often, and what stays secret."""
