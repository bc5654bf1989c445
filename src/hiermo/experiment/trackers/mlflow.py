"""MLflow: the server that MLFLOW_TRACKING_URI names, else the folder `mlruns` beside the run."""

from collections import Counter
from collections.abc import Sequence
import os
from typing import Any

from filelock import FileLock

from hiermo.core.errors import UserError
from hiermo.experiment.trackers.plain import scalars
from hiermo.experiment.trackers.tracker import Point, Status, TrackedRun, Tracker

# unless the user says otherwise
ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",  # without SQLAlchemy, which mlflow-skinny does not bring, there is no other
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # standard output is the verb's
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # seven take minutes, and the run waits
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
}
EXPERIMENT = "hiermo"
ID = "hiermo.id"
STATUS: dict[Status, str] = {"finished": "FINISHED", "failed": "FAILED", "interrupted": "KILLED"}
MOST_METRICS, MOST_SETTINGS = 1000, 100  # in one request


class MLflow(Tracker):
    """Metrics by iteration, the recipe as parameters, the result as tags."""

    @classmethod
    def check(cls) -> None:
        for name, value in ENVIRONMENT.items():  # MLflow reads some of them when it is imported
            os.environ.setdefault(name, value)
        try:
            import mlflow  # noqa: F401
        except ImportError as error:
            raise UserError(f"--log mlflow needs the package {error.name}: pip install 'hiermo[mlflow]'") from None

    def __init__(self, run: TrackedRun, points: Sequence[Point]) -> None:
        from mlflow.tracking import MlflowClient, is_tracking_uri_set

        if is_tracking_uri_set():  # type: ignore[no-untyped-call] # by the environment, or by a program around us
            self._client = MlflowClient()
            self._run = self._found_or_made(run)
        else:
            store = run.path.parent / "mlruns"
            store.mkdir(exist_ok=True)
            with FileLock(store / ".lock"):  # two runs that begin at once would make the experiment twice
                self._client = MlflowClient(tracking_uri=store.as_uri())
                self._run = self._found_or_made(run)
        self._log_settings(run.settings)
        self._there = self._counted()
        self._send([metric for point in points for metric in self._missing(point)])

    def log(self, point: Point) -> None:
        self._send(self._missing(point))

    def close(self, status: Status, result: dict[str, Any]) -> None:
        from mlflow.entities import RunTag

        tags = [RunTag(f"result.{name}", str(value)) for name, value in scalars(result).items()]
        for k in range(0, len(tags), MOST_SETTINGS):
            self._client.log_batch(self._run, tags=tags[k : k + MOST_SETTINGS])
        self._client.set_terminated(self._run, status=STATUS[status])

    def _found_or_made(self, run: TrackedRun) -> str:
        """By a tag of ours: a kill between making a run and noting its id would leave one that nobody finds again."""
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        experiment = self._client.get_experiment_by_name(name)
        home = self._client.create_experiment(name) if experiment is None else experiment.experiment_id
        found = self._client.search_runs([home], f"tags.`{ID}` = '{run.id}'", max_results=1)
        if found:
            self._client.update_run(found[0].info.run_id, status="RUNNING")
            return str(found[0].info.run_id)
        tags = {ID: run.id, "hiermo.recipe": run.recipe, "hiermo.directory": str(run.path)}
        return str(self._client.create_run(home, run_name=run.name, tags=tags).info.run_id)

    def _log_settings(self, settings: dict[str, Any]) -> None:
        """A parameter cannot be changed: what a longer horizon changes becomes a tag."""
        from mlflow.entities import Param, RunTag

        known = self._client.get_run(self._run).data.params
        new = [Param(name, str(value)) for name, value in settings.items() if name not in known]
        for k in range(0, len(new), MOST_SETTINGS):
            self._client.log_batch(self._run, params=new[k : k + MOST_SETTINGS])
        changed = {name: str(value) for name, value in settings.items() if known.get(name, str(value)) != str(value)}
        self._client.log_batch(self._run, tags=[RunTag(name, value) for name, value in changed.items()])

    def _counted(self) -> Counter[tuple[str, int]]:
        """How often each metric is there at each step, of earlier starts."""
        names = self._client.get_run(self._run).data.metrics
        histories = [self._client.get_metric_history(self._run, name) for name in names]
        return Counter((point.key, point.step) for history in histories for point in history)

    def _missing(self, point: Point) -> list[Any]:
        """A kill may have left points that are computed again, one even in part; several may have the same step."""
        from mlflow.entities import Metric

        metrics = []
        for name, value in point.values.items():
            if self._there[name, point.iteration]:
                self._there[name, point.iteration] -= 1
            else:
                metrics.append(Metric(name, value, round(point.time_s * 1000), point.iteration))
        return metrics

    def _send(self, metrics: list[Any]) -> None:
        for k in range(0, len(metrics), MOST_METRICS):
            self._client.log_batch(self._run, metrics=metrics[k : k + MOST_METRICS])
