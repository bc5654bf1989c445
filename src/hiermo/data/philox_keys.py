"""What `numpy.random.Philox(SeedSequence(entropy))` makes its key of, for many entropies at once.

numpy makes them one by one, which takes longer than drawing the numbers. The mixing of `SeedSequence` is documented and
promised to stay; a test compares every key with numpy's own.
"""

from math import prod

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

WORDS, POOL = 8, 4  # of 32 bits: an entropy of 256 bits, and numpy's pool
MASK = 0xFFFFFFFF
LEFT, RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
SHIFT = np.uint32(16)


def _constants(first: int, factor: int, *shape: int) -> Words:
    """What values are xored with, one after the other, and then multiplied by: `[2, *shape, 1]`."""
    found = [first]
    for _ in range(prod(shape)):
        found.append(found[-1] * factor & MASK)
    pairs = np.array([found[:-1], found[1:]], np.uint32)
    return pairs.reshape(2, *shape, 1)


INIT, FACTOR = 0x43B0D7E5, 0x931E8875
ALL = _constants(INIT, FACTOR, POOL + POOL * (POOL - 1) + (WORDS - POOL) * POOL)
FIRST, SECOND, THIRD = np.split(ALL, [POOL, POOL * POOL], axis=1)
LAST = _constants(0x8B51F9DD, 0x58F38DED, POOL)
OTHERS = [[target for target in range(POOL) if target != source] for source in range(POOL)]


def philox_keys(entropy: Words) -> NDArray[np.uint64]:
    """Keys `[k, 2]` of entropies `[k, 8]`, lowest word first; the highest word must not be zero."""
    words = np.ascontiguousarray(entropy.T)
    pool = _hashed(words[:POOL], FIRST)
    for source, others in enumerate(OTHERS):
        each = len(others)
        pool[others] = _mixed(pool[others], _hashed(pool[source], SECOND[:, source * each : (source + 1) * each]))
    for k, word in enumerate(words[POOL:]):
        pool = _mixed(pool, _hashed(word, THIRD[:, k * POOL : (k + 1) * POOL]))
    low_and_high = _hashed(pool, LAST).astype(np.uint64).reshape(2, 2, -1)
    keys: NDArray[np.uint64] = (low_and_high[:, 0] | low_and_high[:, 1] << np.uint64(32)).T
    return keys


def _hashed(value: Words, constants: Words) -> Words:
    """Of one row, or of rows; a row for each of the constants."""
    value = (value ^ constants[0]) * constants[1]
    found: Words = value ^ (value >> SHIFT)
    return found


def _mixed(x: Words, y: Words) -> Words:
    value = LEFT * x - RIGHT * y
    found: Words = value ^ (value >> SHIFT)
    return found
