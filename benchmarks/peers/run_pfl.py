"""The work on pfl 0.6.0: its FederatedAveraging with PyTorch, the users divided between two processes.

.venvs/pfl/bin/python run_pfl.py work.npz
"""

from collections.abc import Iterator
from dataclasses import replace
import os
import sys
from time import perf_counter
from typing import Any

from models import make
import torch
from torch import Tensor, distributed, nn
from torch.nn.functional import cross_entropy
from work import Batches, Steps, Work, arguments, peak_memory, report


class Model(nn.Module):
    """A model as pfl wants it, which has its loss and its metrics with it."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        return cross_entropy(self.body(x), y)

    def metrics(self, x: Tensor, y: Tensor) -> dict[str, Any]:
        return {}  # never called, but pfl insists


def main() -> None:
    given = arguments(__doc__, processes=2)
    if given.processes > 1 and "TORCHELASTIC_RUN_ID" not in os.environ:
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={given.processes}"]
        os.execv(sys.executable, [sys.executable, *launcher, *sys.argv])

    # pfl joins the processes when it is imported, so it is imported only in those that train
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.aggregate.weighting import WeightByDatapoints
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.data.sampling import MinimizeReuseUserSampler
    from pfl.hyperparam.base import NNEvalHyperParams, NNTrainHyperParams
    from pfl.model.pytorch import PyTorchModel

    class User(Dataset):
        """A user's samples, in the batches of the work: pfl's own are the same ones in the same order every round."""

        def __init__(self, batches: Batches) -> None:
            super().__init__((batches.x, batches.y))
            self.batches = batches

        def iter(self, batch_size: int | None) -> Iterator[tuple[Tensor, Tensor]]:
            return iter(self.batches)

    class OnlyTraining(FederatedAveraging):
        """pfl evaluates every user before and after the first round, whatever the frequency; here it does not."""

        def get_next_central_contexts(self, *args: Any, **options: Any) -> Any:
            contexts, model, metrics = super().get_next_central_contexts(*args, **options)
            if contexts is not None:
                contexts = tuple(replace(context, do_evaluation=False) for context in contexts)
            return contexts, model, metrics

    work = Work(given.work)
    setting = work.setting
    if setting.workers % given.processes:
        sys.exit(f"pfl deals the users in turns: {setting.workers} do not divide among {given.processes} processes")
    rank = int(os.environ.get("RANK", "0"))
    mine = {i: User(work.batches(i)) for i in range(rank, setting.workers, given.processes)}
    users = FederatedDataset(mine.__getitem__, MinimizeReuseUserSampler(list(range(setting.workers))))
    body = make(setting.case, setting.seed)
    module = Model(body)
    central = torch.optim.SGD(module.parameters(), lr=1.0)  # adds the mean of the changes to the model
    model = PyTorchModel(module, torch.optim.SGD, central)
    backend = SimulatedBackend(users, users, postprocessors=[WeightByDatapoints()])
    steps = Steps(besides=central)

    if given.processes > 1:
        distributed.barrier()
    begun = perf_counter()
    OnlyTraining().run(
        NNAlgorithmParams(
            central_num_iterations=setting.rounds,
            evaluation_frequency=setting.rounds,
            train_cohort_size=setting.workers,
            val_cohort_size=0,
        ),
        backend,
        model,
        NNTrainHyperParams(
            local_batch_size=setting.batch,
            local_num_epochs=None,
            local_num_steps=setting.steps,
            local_learning_rate=setting.eta,
        ),
        NNEvalHyperParams(local_batch_size=None),
        send_metrics_to_platform=False,
    )
    seconds = perf_counter() - begun

    total = torch.tensor([steps.taken, peak_memory()], dtype=torch.float64)
    if given.processes > 1:
        distributed.all_reduce(total)
    if rank == 0:
        report(
            "pfl 0.6.0",
            work,
            worker_steps=int(total[0]),
            seconds=seconds,
            accuracy=work.accuracy(body),
            memory=float(total[1]),
            note=f"FederatedAveraging, {given.processes} process(es) of {given.threads} thread(s)",
        )
    if given.processes > 1:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
