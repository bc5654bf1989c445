"""Writes a work file for the peers, from MNIST where HIERMO_DATA names it and from `mnist-5k` elsewhere, divided IID.

    python benchmarks/peers/make_work.py --case logistic --workers 100 --edges 10 --iterations 60 --out work.npz

Runs in hiermo's own environment.
"""

import argparse
import json
import os
from pathlib import Path

import numpy as np

import hiermo


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a work file for the peers.")
    parser.add_argument("--case", choices=("logistic", "cnn"), required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--edges", type=int, required=True)
    parser.add_argument("--iterations", type=int, required=True, help="a multiple of 20, which is tau * pi")
    parser.add_argument("--eta", type=float, default=0.01)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    setting = {
        "case": given.case,
        "workers": given.workers,
        "edges": given.edges,
        "tau": 10,
        "pi": 2,
        "batch": 64,
        "iterations": given.iterations,
        "eta": given.eta,
        "seed": 1,
    }
    if given.iterations % 20:
        parser.error("--iterations must be a multiple of 20, for a run ends at a merge of the cloud")
    if given.workers % given.edges:
        parser.error("--workers must be a multiple of --edges, for all edges have as many workers")
    data = hiermo.load_data("mnist" if "HIERMO_DATA" in os.environ else "mnist-5k", workers=given.workers, seed=1)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        given.out,
        train_x=data.train_x,
        train_y=np.asarray(data.train_y, np.int64),
        test_x=data.test_x,
        test_y=np.asarray(data.test_y, np.int64),
        parts_flat=np.concatenate(data.parts).astype(np.int64),
        parts_length=np.array(data.sizes, np.int64),
        setting=json.dumps(setting),
    )


if __name__ == "__main__":
    main()
