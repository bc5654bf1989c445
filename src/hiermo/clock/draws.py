"""Random delays as a function of (seed, node, t), for a million nodes at once.

Every node has a key that is hashed from (seed, what is drawn, node); the hash of key and t are 64 random bits, out of
which a source makes its number. Nothing is remembered, so nothing depends on what was drawn before.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.clock.sources import ENTRIES, LOW, SHIFT, Constant, Source, flat_source
from hiermo.clock.sources import FIRST as FIRST_PLACE
from hiermo.data.randomness import digest

Bits = NDArray[np.uint64]
Numbers = NDArray[np.float64]

STRIDE = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: multiples of it are far from each other
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # of the mixing of splitmix64
MANY = 1 << 16  # numbers that compiled code draws in one task; fewer are drawn by numpy
FEW = 64  # nodes for which many t at once cost no more than one
AHEAD = 1 << 14  # numbers that are drawn at once for nodes that are few


def keys_of(seed: int, what: str, nodes: Any) -> Bits:
    """A key for each node."""
    start = np.uint64(int.from_bytes(digest(seed, "delays", what)[:8], "big"))
    return mixed(start + (np.asarray(nodes).astype(np.uint64) + np.uint64(1)) * STRIDE)


def bits_at(keys: Bits, t: Any) -> Bits:
    """64 random bits for each node, at t.

    >>> keys = keys_of(0, "example", [0, 1])
    >>> bool((bits_at(keys, 5) == bits_at(keys, 5)).all()), bool((bits_at(keys, 5) == bits_at(keys, 6)).any())
    (True, False)
    """
    return mixed(keys + np.asarray(t).astype(np.uint64) * STRIDE)


def uniform_at(keys: Bits, t: Any) -> Numbers:
    """Numbers in [0, 1)."""
    return (bits_at(keys, t) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def mixed(x: Bits) -> Bits:
    """The finaliser of splitmix64: every bit of x changes half of the bits of the result; writes over x."""
    x ^= x >> np.uint64(30)
    x *= FIRST
    x ^= x >> np.uint64(27)
    x *= SECOND
    x ^= x >> np.uint64(31)
    return x


class Draws:
    """One kind of delay of n nodes, each from a source of its own or of its class."""

    def __init__(self, sources: Sequence[Source], group: Any, seed: int, what: str) -> None:
        """`group[i]` says which of the sources is node i's."""
        self.sources, self.group = tuple(sources), np.asarray(group)
        self.n = len(self.group)
        self.means: Numbers = np.array([source.mean for source in self.sources])[self.group]
        self.constant = all(isinstance(self.sources[k], Constant) for k in np.unique(self.group))
        self._keys = np.empty(0, np.uint64) if self.constant else keys_of(seed, what, np.arange(self.n))
        self._block: tuple[int, Numbers] = (0, np.empty((0, self.n)))

    def at(self, t: int, nodes: Any = None) -> Numbers:
        """The delays of some nodes, None for all of them, at t."""
        if self.constant:
            return self.means if nodes is None else self.means[nodes]
        if self.n <= FEW:
            return self.in_turn(t, nodes)
        group = self.group if nodes is None else self.group[nodes]
        keys = self._keys if nodes is None else self._keys[nodes]
        return self._drawn(keys, group, t)

    def in_turn(self, t: int, nodes: Any = None) -> Numbers:
        """The same; quicker where every t is asked for one after the other and nodes are few."""
        if self.constant or self.n > AHEAD // 4:
            return self.at(t, nodes)  # never of few nodes, which would come back here
        first, block = self._block
        if not first <= t < first + len(block):
            rows = np.arange(t, t + AHEAD // self.n)
            keys = np.broadcast_to(self._keys, (len(rows), self.n)).reshape(-1)
            group = np.broadcast_to(self.group, (len(rows), self.n)).reshape(-1)
            drawn = self._drawn(keys, group, np.repeat(rows, self.n)).reshape(len(rows), self.n)
            self._block = first, block = t, drawn
        row: Numbers = block[t - first]
        return row if nodes is None else row[nodes]

    def _drawn(self, keys: Bits, group: Any, t: Any) -> Numbers:
        if len(keys) >= MANY:
            return self._compiled(keys, group, t)
        bits, found = bits_at(keys, t), np.empty(len(keys))
        for k in np.unique(group):
            mine = group == k
            found[mine] = self.sources[k].drawn(bits[mine])
        return found

    def _compiled(self, keys: Bits, group: Any, t: int) -> Numbers:
        """The same numbers, on all threads; which of them draws a number cannot change it."""
        draw = _loop()
        flat, found = self._flat, np.empty(len(keys))
        keys, group = np.ascontiguousarray(keys), np.ascontiguousarray(group, np.int64)
        added = int(np.int64(np.uint64(t * int(STRIDE) % 2**64)))
        about = [array.ctypes.data for array in flat]

        def some(part: range) -> None:
            begin = 8 * part.start
            draw(
                keys.ctypes.data + begin, group.ctypes.data + begin, len(part), added, *about, found.ctypes.data + begin
            )

        parts = [range(k, min(k + MANY, len(keys))) for k in range(0, len(keys), MANY)]
        with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as pool:
            for _ in pool.map(some, parts):
                pass
        return found

    @cached_property
    def _flat(self) -> tuple[Any, ...]:
        """All sources, as compiled code reads them."""
        samples, values, offsets, counts, factors, turned = [], [], [0], [], [], []
        for source in self.sources:
            flat = flat_source(source)
            samples.append(flat.samples)
            values.append(flat.values)
            offsets.append(offsets[-1] + len(flat.values))
            counts.append(len(flat.values))
            factors.append(flat.factor)
            turned.append(flat.turned)
        whole = [np.array(each, np.int64) for each in (samples, offsets[:-1], counts)]
        return *whole, np.array(factors, float), np.array(turned, np.int64), np.concatenate(values)


@cache
def _loop() -> Any:
    from hiermo.kernels.drawn import function  # not before it is needed: the compiler is large

    return function(int(FIRST_PLACE), LOW, ENTRIES, int(SHIFT))
