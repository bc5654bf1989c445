"""A package, so that its conftest is another module than the one above."""
