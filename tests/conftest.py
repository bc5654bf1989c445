"""Its presence puts this folder on the path: tests say `from helpers import ...`."""
