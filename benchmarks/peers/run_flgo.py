"""The work on flgo 0.4.4: its three-tier algorithm, with tau steps per edge round and pi edge rounds per cloud round.

.venvs/flgo/bin/python run_flgo.py work.npz
"""

import importlib
import os
from pathlib import Path
import sys
import tempfile
from time import perf_counter
from typing import Any

import cpu_torchvision  # noqa: F401
from work import Steps, Work, arguments, peak_memory, report

# isort: split
import flgo
import flgo.algorithm.hierarchical as hierarchical
from flgo.benchmark.partition import BasicPartitioner


class Groups(BasicPartitioner):
    """Who holds what, as the work file says: a list of sample indices per worker, in a list per edge."""

    def __init__(self, groups: list[list[list[int]]]) -> None:
        self.groups = groups

    def __call__(self, data: Any) -> list[list[list[int]]]:
        return self.groups


def main() -> None:
    given = arguments(__doc__)
    os.environ["WORK_FILE"] = str(given.work.resolve())
    task_file = Path(__file__).with_name("flgo_task.py").resolve()
    sys.argv = sys.argv[:1]  # flgo reads the command line too
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # flgo writes and imports below the current directory
        sys.path.insert(0, folder)
        benchmark = flgo.gen_hierarchical_benchmark_from_file("task_of_work", str(task_file))
        work: Work = importlib.import_module(f"{benchmark}.config").WORK
        setting = work.setting
        per_edge = setting.workers // setting.edges
        parts = [part.tolist() for part in work.parts]
        groups = [parts[i : i + per_edge] for i in range(0, setting.workers, per_edge)]
        flgo.gen_task({"benchmark": {"name": benchmark}, "partitioner": Groups(groups)}, task_path="task")
        option = {
            "num_rounds": setting.rounds,
            "num_edge_rounds": setting.pi,
            "num_steps": setting.tau,
            "learning_rate": setting.eta,
            "batch_size": setting.batch,
            "optimizer": "SGD",
            "proportion": 1.0,
            "sample": "full",
            "aggregate": "other",  # by the workers' data
            "train_holdout": 0.0,
            "eval_interval": -1,
            "torch_num_threads": given.threads,
            "seed": setting.seed,
            "no_log_console": True,
        }
        server = flgo.init("task", hierarchical, option=option, scene="hierarchical")
        for edge in server.clients:
            for client in edge.clients:
                client.calculator.get_dataloader(client.train_data, batch_size=client.batch_size)  # gathers its samples
        steps = Steps()

        begun = perf_counter()
        server.run()
        seconds = perf_counter() - begun
        os.chdir("/")

    report(
        "flgo 0.4.4",
        work,
        worker_steps=steps.taken,
        seconds=seconds,
        accuracy=work.accuracy(server.model),
        memory=peak_memory(),
        note=f"three tiers, {setting.edges} edges, one process, {given.threads} thread(s)",
    )


if __name__ == "__main__":
    main()
