"""Which periods are best within a given time."""
