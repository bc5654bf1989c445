"""Random numbers as a function of a seed and a path of names, whatever was drawn elsewhere before."""

from collections.abc import Sequence
from hashlib import sha256
import json
from operator import index

import numpy as np
from numpy.typing import NDArray

from hiermo.data.philox_keys import WORDS, philox_keys


def stream(seed: int, *path: int | str) -> np.random.Generator:
    """A generator of its own for each (seed, path), the same in every process and on every machine.

    >>> bool(stream(0, "noise", 1).random() == stream(0, "noise", 1).random())
    True
    """
    # one hash of the whole: SeedSequence pads with zeros and cuts large numbers up, so that (1,) and (1, 0) would agree
    entropy = int.from_bytes(digest(seed, *path), "big")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))


def digest(seed: int, *path: int | str) -> bytes:
    """32 bytes of their own for each (seed, path)."""
    text = json.dumps([index(seed), *(step if isinstance(step, str) else index(step) for step in path)])
    return sha256(text.encode()).digest()


def order(seed: int, *path: int | str, n: int) -> NDArray[np.int64]:
    """A permutation of 0..n-1, as the order of n raw draws.

    Raw streams are the same in all versions of numpy; `Generator.permutation` does not promise that.

    >>> order(0, "example", n=5).tolist()
    [0, 4, 1, 3, 2]
    """
    raw = np.asarray(stream(seed, *path).bit_generator.random_raw(n))
    return np.argsort(raw, kind="stable").astype(np.int64)


def orders(seed: int, name: str, paths: Sequence[tuple[int, int]], n: int) -> NDArray[np.int64]:
    """`order(seed, name, *path, n=n)` of many paths, `[len(paths), n]`, faster than one by one."""
    digests = b"".join(digest(seed, name, *path) for path in paths)
    words = np.frombuffer(digests, ">u4").reshape(-1, WORDS)[:, ::-1].astype(np.uint32)  # the lowest first
    raw = np.empty((len(paths), n), np.uint64)
    generator = np.random.Philox(0)
    state = generator.state | {"buffer": np.zeros(4, np.uint64), "buffer_pos": 4}
    for k, (key, top) in enumerate(zip(philox_keys(words), words[:, -1], strict=True)):
        if top:
            state["state"] = {"counter": np.zeros(4, np.uint64), "key": key}
            generator.state = state
            raw[k] = generator.random_raw(n)
        else:  # a number of fewer words, one in four thousand million, is mixed otherwise
            raw[k] = stream(seed, name, *paths[k]).bit_generator.random_raw(n)
    return _sorted_places(raw)


def _sorted_places(raw: NDArray[np.uint64]) -> NDArray[np.int64]:
    """`argsort(raw, axis=1, kind="stable")`, by sorting numbers whose lowest bits say where they stood.

    Numbers that are the same but for those bits, next to never, are left to `argsort`.
    """
    bits = np.uint64(max(1, raw.shape[1] - 1).bit_length())
    low = np.uint64((1 << int(bits)) - 1)
    placed = (raw & ~low) | np.arange(raw.shape[1], dtype=np.uint64)
    placed.sort(axis=1)
    high = placed >> bits
    if (high[:, 1:] == high[:, :-1]).any():
        return np.argsort(raw, axis=1, kind="stable").astype(np.int64, copy=False)
    return (placed & low).astype(np.int64)
