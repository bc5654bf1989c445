"""Writes what hiermo's workers hold to digits.npz, for the programs of the other frameworks."""

import numpy as np

import hiermo

data = hiermo.load_data("mnist-5k", workers=4)
arrays = {"test_x": data.test_x, "test_y": data.test_y}
for i, part in enumerate(data.parts):
    arrays |= {f"worker_{i}_x": data.train_x[part], f"worker_{i}_y": data.train_y[part]}
np.savez("digits.npz", **arrays)
