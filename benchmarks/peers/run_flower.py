"""The work on Flower (flwr) 1.41.0: its FedAvg strategy in its simulation, with ray's actors as the processes.

.venvs/flower/bin/python run_flower.py work.npz
"""

import os
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"  # both would call home, and read this when they are imported
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

# isort: split
from flower_client import app as client_app
from flwr.app import ArrayRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from models import make
from work import Work, arguments, report


def family_memory() -> float:
    """The sum of the largest resident sets of this process and all below it in MB; pages they share count for each."""
    parents, peaks = {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:  # it has ended meanwhile
            continue
        pid = int(status.parent.name)
        parents[pid], peaks[pid] = int(fields["PPid"]), int(fields.get("VmHWM", "0 kB").split()[0]) / 1024
    family = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(peaks[pid] for pid in family)


def ask_all(grid: Grid) -> dict[int, int]:
    """The steps taken so far in each process that the clients run in."""
    messages = [Message(RecordDict(), message_type="query", dst_node_id=node) for node in grid.get_node_ids()]
    replies = [reply.content["metrics"] for reply in grid.send_and_receive(messages)]
    return {int(reply["process"]): int(reply["steps"]) for reply in replies}


def main() -> None:
    given = arguments(__doc__, processes=2)
    os.environ["WORK_FILE"], os.environ["THREADS"] = str(given.work.resolve()), str(given.threads)
    work = Work(given.work)
    setting = work.setting
    model = make(setting.case, setting.seed)
    result: dict[str, Any] = {}
    server_app = ServerApp()

    @server_app.main()
    def serve(grid: Grid, context: Context) -> None:
        nodes = setting.workers
        strategy = FedAvg(
            fraction_train=1.0, fraction_evaluate=0.0, min_train_nodes=nodes, min_available_nodes=nodes
        )  # weighted by the clients' samples
        while len(list(grid.get_node_ids())) < nodes:
            sleep(0.1)
        while len(ask_all(grid)) < given.processes:  # until every process has loaded the data
            sleep(0.1)
        begun = perf_counter()
        trained = strategy.start(grid, ArrayRecord(model.state_dict()), num_rounds=setting.rounds)
        result["seconds"] = perf_counter() - begun
        model.load_state_dict(trained.arrays.to_torch_state_dict())
        result["steps"] = sum(ask_all(grid).values())
        result["memory"] = family_memory()

    resources = {"num_cpus": 1, "num_gpus": 0.0}
    run_simulation(
        server_app,
        client_app,
        num_supernodes=setting.workers,
        backend_config={"init_args": {"num_cpus": given.processes}, "client_resources": resources},
    )
    report(
        "flwr 1.41.0",
        work,
        worker_steps=result["steps"],
        seconds=result["seconds"],
        accuracy=work.accuracy(model),
        memory=result["memory"],
        note=f"FedAvg, {given.processes} ray actor(s) of {given.threads} thread(s); memory with ray's own processes",
    )


if __name__ == "__main__":
    main()
