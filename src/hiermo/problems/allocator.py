"""Lets the C library keep memory that was freed, instead of giving it back and asking for it again in every iteration.

By default glibc maps large arrays one by one and unmaps them when they are freed. Each of their pages is then a fault
and is zeroed by the system, every time: for a convolutional network a third of an iteration went there.
"""

import ctypes
from functools import cache
import os

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # of <malloc.h>
NEVER = -1


@cache
def keep_freed_memory() -> bool:
    """Once per process; false where the C library is another, or where MALLOC_MMAP_THRESHOLD_ says that one chose."""
    if "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    # one arena for all threads: those of other threads cannot grow beyond 64 MB
    return all(mallopt(option, value) for option, value in OPTIONS.items())


OPTIONS = {M_MMAP_THRESHOLD: 1 << 30, M_TRIM_THRESHOLD: NEVER, M_ARENA_MAX: 1}
