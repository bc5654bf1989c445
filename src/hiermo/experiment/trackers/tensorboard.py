"""TensorBoard: an event file in the run's folder `tensorboard`, which `tensorboard --logdir` finds from above.

tensorboardX's own writer hands events to a thread through a queue of ten: if that thread dies of a full disk, the run
would wait for it for ever. So the records are written here, one after the other.
"""

from collections.abc import Sequence
import json
from secrets import token_hex
from time import time
from typing import Any

from tensorboardX import summary
from tensorboardX.proto.api_pb2 import Status as Code
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData, SessionEndInfo
from tensorboardX.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboardX.record_writer import RecordWriter

from hiermo.experiment.trackers.tracker import Point, Status, TrackedRun, Tracker

FOLDER = "tensorboard"
CODES: dict[Status, str] = {
    "finished": "STATUS_SUCCESS",
    "failed": "STATUS_FAILURE",
    "interrupted": "STATUS_UNKNOWN",
}
COMPARED = ("accuracy", "loss", "simulated_seconds", "bytes")  # the columns of the page on hyper-parameters


class TensorBoard(Tracker):
    """Scalars, and the recipe as hyper-parameters.

    An event file cannot be cut, so every start writes a new one with all points, and then removes those before it.
    """

    def __init__(self, run: TrackedRun, points: Sequence[Point]) -> None:
        folder = run.path / FOLDER
        folder.mkdir(exist_ok=True)
        old = list(folder.glob("events.out.tfevents.*"))
        self._file = RecordWriter(str(folder / f"events.out.tfevents.{time():.0f}.{token_hex(4)}"))
        self._file.write(Event(wall_time=time(), file_version="brain.Event:2").SerializeToString())
        columns = [name for name in COMPARED if not points or name in points[-1].values]
        experiment, start, _ = summary.hparams(run.settings, dict.fromkeys(columns, 0))
        for each in (experiment, start):
            self._write(each)
        for point in points:
            self._add(point)
        self._file.flush()
        for path in old:
            path.unlink()

    def log(self, point: Point) -> None:
        self._add(point)
        self._file.flush()

    def close(self, status: Status, result: dict[str, Any]) -> None:
        self._write(summary.text("result", "\n".join(f"    {line}" for line in _lines({"status": status, **result}))))
        self._write(_session_end(status))
        self._file.flush()
        self._file.close()

    def _add(self, point: Point) -> None:
        values = [Summary.Value(tag=name, simple_value=value) for name, value in point.values.items()]
        self._write(Summary(value=values), point.iteration, point.time_s)

    def _write(self, what: Any, step: int = 0, time_s: float | None = None) -> None:
        event = Event(wall_time=time() if time_s is None else time_s, step=step, summary=what)
        self._file.write(event.SerializeToString())


def _lines(result: dict[str, Any]) -> list[str]:
    return json.dumps(result, indent=2).splitlines()  # indented by four, this is code in Markdown


def _session_end(status: Status) -> Summary:
    end = SessionEndInfo(status=Code.Value(CODES[status]), end_time_secs=time())
    content = HParamsPluginData(session_end_info=end, version=0).SerializeToString()
    plugin = SummaryMetadata.PluginData(plugin_name="hparams", content=content)
    tag = "_hparams_/session_end_info"
    return Summary(value=[Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=plugin))])
