"""Data sets, where they come from, and which worker holds what; numpy only."""
