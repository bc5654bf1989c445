"""Trees of nodes: pure structure, no data."""
