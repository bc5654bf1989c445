"""The contract of an algorithm, held against ours and against ones that break it."""
