"""The work on fluke-fl 0.8.1: its FedAVG, all clients in one process with their models in memory.

.venvs/fluke/bin/python run_fluke.py work.npz
"""

from time import perf_counter
from typing import Any

import cpu_torchvision  # noqa: F401
from models import make
from torch.nn import CrossEntropyLoss
from work import Batches, Steps, Work, arguments, peak_memory, report

# isort: split
from fluke import FlukeENV
from fluke.algorithms.fedavg import FedAVG
from fluke.client import Client
from fluke.config import OptimizerConfigurator
from fluke.data import FastDataLoader
from fluke.server import Server


class Loader(FastDataLoader):
    """fluke counts epochs: an epoch of this loader is one round's batches. Its size remains the weight of the client.

    fluke's own loader shuffles by copying all of a client's samples every epoch; this one copies what a batch needs.
    """

    def __init__(self, batches: Batches) -> None:
        super().__init__(batches.x, batches.y, num_labels=10, batch_size=batches.batch)
        self.batches = batches
        self.n_batches = len(batches)

    def __iter__(self) -> Any:
        return iter(self.batches)


class Clock:
    """Reads the time when the first round begins and when a round ends: before fluke's `finalize`."""

    def start_round(self, round: int, global_model: Any) -> None:
        if round == 1:
            self.begun = perf_counter()

    def end_round(self, round: int) -> None:
        self.seconds = perf_counter() - self.begun


def main() -> None:
    given = arguments(__doc__)
    work = Work(given.work)
    setting = work.setting

    FlukeENV().set_seed(setting.seed)
    FlukeENV().set_eval_cfg(pre_fit=False, post_fit=False, locals=False, server=False)
    optimizer = OptimizerConfigurator({"name": "SGD", "lr": setting.eta})
    clients = [
        Client(
            index=i,
            train_set=Loader(work.batches(i)),
            test_set=None,
            optimizer_cfg=optimizer,
            loss_fn=CrossEntropyLoss(),
            local_epochs=1,
        )
        for i in range(setting.workers)
    ]
    server = Server(make(setting.case, setting.seed), test_set=None, clients=clients, weighted=True)
    algorithm = FedAVG(setting.workers, None, {}, clients=clients, server=server)
    clock, steps = Clock(), Steps()
    algorithm.attach(clock)

    algorithm.run(setting.rounds, eligible_perc=1)

    report(
        "fluke-fl 0.8.1",
        work,
        worker_steps=steps.taken,
        seconds=clock.seconds,
        accuracy=work.accuracy(server.model),
        memory=peak_memory(),
        note=f"FedAVG, one process, {given.threads} thread(s)",
    )


if __name__ == "__main__":
    main()
