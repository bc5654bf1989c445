"""What trackers hold of a run, read back without any code of ours that wrote it."""

from collections.abc import Iterator
import json
import os
from pathlib import Path
import struct
import time
from typing import Any, NamedTuple

from pytest import MonkeyPatch

Points = dict[str, list[tuple[int, float]]]  # metric -> (iteration, value), in the order in which they were logged


class ReadBack(NamedTuple):
    points: Points
    settings: dict[str, Any]
    result: dict[str, Any]
    status: str


def keep_offline(monkeypatch: MonkeyPatch) -> None:
    """No server, no account."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in list(os.environ):
        if name.startswith("MLFLOW_") or name in ("WANDB_PROJECT", "WANDB_RUN_GROUP"):
            monkeypatch.delenv(name)


def expected(run: Path) -> Points:
    """Of the run's own metrics file; lists by their members."""
    found: Points = {}
    for line in map(json.loads, (run / "metrics.jsonl").read_text().splitlines()[1:]):
        for name, value in line.items():
            members = (
                {f"{name}/{k}": each for k, each in enumerate(value)} if isinstance(value, list) else {name: value}
            )
            for key, each in members.items():
                if key != "iteration" and each is not None:
                    found.setdefault(key, []).append((line["iteration"], each))
    return found


def in_float32(points: Points) -> Points:
    """As an event file holds them."""
    one = struct.Struct("f")
    return {name: [(t, one.unpack(one.pack(value))[0]) for t, value in each] for name, each in points.items()}


def tensorboard(run: Path) -> ReadBack:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    events = EventAccumulator(
        str(run / "tensorboard"), {"scalars": 0, "tensors": 0}, purge_orphaned_data=False
    ).Reload()
    points = {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
    content = events.summary_metadata
    start = HParamsPluginData.FromString(content["_hparams_/session_start_info"].plugin_data.content)
    settings = {name: getattr(v, v.WhichOneof("kind")) for name, v in start.session_start_info.hparams.items()}
    texts = [e.tensor_proto.string_val[0].decode() for e in events.Tensors("result/text_summary")]
    result = json.loads(texts[-1])
    end = HParamsPluginData.FromString(content["_hparams_/session_end_info"].plugin_data.content)
    code = {1: "finished", 2: "failed", 0: "interrupted"}[end.session_end_info.status]
    assert code == result.pop("status")
    return ReadBack(points, settings, result, code)


def mlflow(run: Path) -> ReadBack:
    from mlflow.tracking import MlflowClient

    with MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        client = MlflowClient(tracking_uri=(run.resolve().parent / "mlruns").as_uri())
    (experiment,) = client.search_experiments()
    runs = client.search_runs([experiment.experiment_id])
    (found,) = (each for each in runs if each.data.tags["hiermo.directory"] == str(run.resolve()))
    data, run_id = found.data, found.info.run_id
    points = {key: [(m.step, m.value) for m in client.get_metric_history(run_id, key)] for key in data.metrics}
    result = {key.removeprefix("result."): value for key, value in data.tags.items() if key.startswith("result.")}
    status = {"FINISHED": "finished", "FAILED": "failed", "KILLED": "interrupted", "RUNNING": "running"}
    return ReadBack(points, {**data.params, **data.tags}, result, status[found.info.status])


def wandb(run: Path) -> ReadBack:
    (folder,) = (run / "wandb").glob("offline-run-*")
    (path,) = folder.glob("*.wandb")
    deadline = time.monotonic() + 20  # another process writes the file, and is not waited for to the last byte
    while not any(record.WhichOneof("record_type") == "exit" for record in wandb_records(path)):
        assert time.monotonic() < deadline, f"{path} has no end"
        time.sleep(0.02)
    points: Points = {}
    settings: dict[str, Any] = {}
    summary: dict[str, Any] = {}
    code = None
    for record in wandb_records(path):
        kind = record.WhichOneof("record_type")
        if kind == "history":
            row = {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            for name, value in row.items():
                if name != "iteration" and not name.startswith("_"):
                    points.setdefault(name, []).append((row["iteration"], value))
        elif kind == "config":
            settings |= {each.key: json.loads(each.value_json) for each in record.config.update}
        elif kind == "summary":
            changed = record.summary.update
            summary |= {each.key or ".".join(each.nested_key): json.loads(each.value_json) for each in changed}
        elif kind == "exit":
            code = record.exit.exit_code
    assert code == int(summary["status"] != "finished")
    result = {key.removeprefix("result."): value for key, value in summary.items() if key.startswith("result.")}
    return ReadBack(points, settings, result, summary["status"])


def wandb_records(path: Path) -> Iterator[Any]:
    """An offline file: seven bytes, then LevelDB's log format, blocks of 32 KiB with records that may be in parts."""
    from wandb.proto.wandb_internal_pb2 import Record

    whole, at, parts = path.read_bytes(), 7, b""
    while at + 7 <= len(whole):
        if (left := 32768 - at % 32768) < 7:
            at += left
            continue
        _, size, kind = struct.unpack_from("<IHB", whole, at)
        if not kind or at + 7 + size > len(whole):  # the end, or half of what is being written
            return
        parts += whole[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield Record.FromString(parts)
            parts = b""


READERS = {"tensorboard": tensorboard, "mlflow": mlflow, "wandb": wandb}


def assert_each_point_once(run: Path, *names: str) -> None:
    """Every tracker holds what the metrics file holds, in its order, and nothing else."""
    want = expected(run)
    for name in names:
        got, wanted = READERS[name](run).points, in_float32(want) if name == "tensorboard" else want
        if name == "mlflow":  # a point that was there before a kill keeps the wall clock of then
            assert [t for t, _ in got.pop("seconds")] == [t for t, _ in wanted["seconds"]]
            wanted = {metric: points for metric, points in wanted.items() if metric != "seconds"}
        assert got == wanted, name
