"""Random delays as a function of (seed, node, t), for a million nodes at once.

Every node has a key that is hashed from (seed, what is drawn, node); the hash of key and t are 64 random bits, out of
which a source makes its number. Nothing is remembered, so nothing depends on what was drawn before.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiermo.clock.sources import Constant, Source
from hiermo.data.randomness import digest

Bits = NDArray[np.uint64]
Numbers = NDArray[np.float64]

STRIDE = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: multiples of it are far from each other
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # of the mixing of splitmix64
CHUNK = 1 << 14  # nodes whose numbers stay in cache
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
        group = self.group if nodes is None else self.group[nodes]
        keys = self._keys if nodes is None else self._keys[nodes]
        return self._drawn(keys, group, t)

    def in_turn(self, t: int, nodes: Any = None) -> Numbers:
        """The same; quicker where every t is asked for one after the other and nodes are few."""
        if self.constant or self.n > AHEAD // 4:
            return self.at(t, nodes)
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
        found = np.empty(len(keys))
        single = self.sources[group[0]] if len(group) and (group == group[0]).all() else None

        def some(begin: int) -> None:
            part = slice(begin, begin + CHUNK)
            bits = bits_at(keys[part], t[part] if isinstance(t, np.ndarray) else t)
            if single is not None:
                found[part] = single.drawn(bits)
                return
            for k in np.unique(group[part]):
                mine = group[part] == k
                found[part][mine] = self.sources[k].drawn(bits[mine])

        begins = range(0, len(keys), CHUNK)
        if len(begins) < 8:
            for begin in begins:
                some(begin)
        else:  # which thread draws a number cannot change it
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                for _ in pool.map(some, begins):
                    pass
        return found
