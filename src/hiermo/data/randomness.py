"""Random numbers as a function of a seed and a path of names, whatever was drawn elsewhere before."""

from hashlib import sha256
import json
from operator import index

import numpy as np
from numpy.typing import NDArray


def stream(seed: int, *path: int | str) -> np.random.Generator:
    """A generator of its own for each (seed, path), the same in every process and on every machine.

    >>> bool(stream(0, "noise", 1).random() == stream(0, "noise", 1).random())
    True
    """
    # one hash of the whole: SeedSequence pads with zeros and cuts large numbers up, so that (1,) and (1, 0) would agree
    text = json.dumps([index(seed), *(step if isinstance(step, str) else index(step) for step in path)])
    entropy = int.from_bytes(sha256(text.encode()).digest(), "big")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))


def order(seed: int, *path: int | str, n: int) -> NDArray[np.int64]:
    """A permutation of 0..n-1, as the order of n raw draws.

    Raw streams are the same in all versions of numpy; `Generator.permutation` does not promise that.

    >>> order(0, "example", n=5).tolist()
    [0, 4, 1, 3, 2]
    """
    raw = np.asarray(stream(seed, *path).bit_generator.random_raw(n))
    return np.argsort(raw, kind="stable").astype(np.int64)
