"""The work on FedML 0.9.6: FedAvg of its single-process simulation, with all that would call home taken out.

.venvs/fedml/bin/python run_fedml.py work.npz
"""

import copy
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import cpu_torchvision  # noqa: F401
from models import make
import no_network  # noqa: F401
import torch
from work import Steps, Work, arguments, peak_memory, report

# isort: split
from fedml.ml.trainer.my_model_trainer_classification import ModelTrainerCLS
from fedml.simulation.sp.fedavg import fedavg_api


class Silence:
    """Stands in for `fedml.mlops`: what is called on it does nothing, and what is read from it is silent too."""

    def __getattr__(self, name: str) -> "Silence":
        return self

    def __call__(self, *_: object, **__: object) -> None:
        return None


class Trainer(ModelTrainerCLS):
    """FedML's trainer, which hands out copies.

    FedML's own hands out the tensors that it trains. The "global" model of the first round is those, so that every
    client of that round starts where the one before it ended, which is not FedAvg and not the work of the others.
    """

    def get_model_params(self) -> dict[str, torch.Tensor]:
        return copy.deepcopy(super().get_model_params())


class OnlyTraining(fedavg_api.FedAvgAPI):
    """Leaves out the test on all clients, which FedML makes after its first and its last round at least."""

    def _local_test_on_all_clients(self, round_idx: int) -> None:
        pass


def main() -> None:
    given = arguments(__doc__)
    work = Work(given.work)
    setting = work.setting
    fedavg_api.mlops = Silence()
    fedavg_api.create_model_trainer = Trainer

    workers = range(setting.workers)
    loaders = {i: work.batches(i) for i in workers}  # FedML counts epochs: one pass over these is a round's batches
    sizes = {i: len(loaders[i].y) for i in workers}
    options = SimpleNamespace(
        dataset="mnist",
        federated_optimizer="FedAvg",
        client_num_in_total=setting.workers,
        client_num_per_round=setting.workers,
        comm_round=setting.rounds,
        epochs=1,
        batch_size=setting.batch,
        client_optimizer="sgd",
        learning_rate=setting.eta,
        weight_decay=0.0,
        frequency_of_the_test=setting.rounds,
        enable_wandb=False,
    )
    nobody: dict[int, Any] = dict.fromkeys(workers)
    dataset = [sum(sizes.values()), len(work.test_y), None, None, sizes, loaders, nobody, 10]
    model = make(setting.case, setting.seed)
    simulation = OnlyTraining(options, torch.device("cpu"), dataset, model)
    steps = Steps()

    begun = perf_counter()
    simulation.train()
    seconds = perf_counter() - begun

    report(
        "fedml 0.9.6",
        work,
        worker_steps=steps.taken,
        seconds=seconds,
        accuracy=work.accuracy(model),
        memory=peak_memory(),
        note=f"FedAvg, one process, {given.threads} thread(s)",
    )


if __name__ == "__main__":
    main()
