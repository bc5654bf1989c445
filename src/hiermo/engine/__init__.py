"""Carries messages up and down the tree and lets the nodes compute."""
