"""Its presence puts this folder on the path: tests say `from helpers import ...`."""

from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # a slow machine is no failure
settings.load_profile("any machine")
