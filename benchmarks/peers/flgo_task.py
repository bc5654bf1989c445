"""The task as flgo wants it described: `run_flgo.py` hands this file to flgo, which copies it and imports the copy.

The names below are flgo's. WORK_FILE names the work file.
"""

from collections.abc import Iterator
import copy
import os
from pathlib import Path
from typing import Any

from models import make
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset
from work import Work

WORK = Work(Path(os.environ["WORK_FILE"]))
WORKER = {int(part[0]): i for i, part in enumerate(WORK.parts)}  # whose samples begin with which
START = make(WORK.setting.case, WORK.setting.seed)

train_data = TensorDataset(WORK.train_x, WORK.train_y)


class DataLoader:
    """flgo makes a loader per local training, which with torch's would begin anew, unshuffled and sample by sample.

    This one goes on with the batches that its client has had since the beginning.
    """

    def __init__(self, dataset: Any, batch_size: int, **_: object) -> None:
        if not hasattr(dataset, "batches"):  # a client's samples are a Subset of train_data, the same in all its rounds
            dataset.batches = WORK.batches(WORKER[dataset.indices[0]], steps=WORK.setting.tau)
        self.batches = dataset.batches

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        return iter(self.batches)


def get_model() -> nn.Module:
    """A copy, for flgo makes a new model per sum and product of models, and a copy is faster than random numbers."""
    return copy.deepcopy(START)


def data_to_device(batch_data: Any, device: torch.device) -> Any:
    return batch_data


def compute_loss(model: nn.Module, batch_data: tuple[Tensor, Tensor], device: torch.device) -> dict[str, Tensor]:
    x, y = batch_data
    return {"loss": cross_entropy(model(x), y)}


def eval(model: nn.Module, data_loader: Any, device: torch.device) -> dict[str, float]:
    return {}  # never called: the final model is evaluated by run_flgo.py
