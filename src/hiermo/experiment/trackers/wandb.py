"""Weights & Biases: online or offline as WANDB_MODE says, with its files in the run's folder `wandb`."""

from collections.abc import Sequence
import os
import shutil
from typing import Any

from hiermo.core.errors import UserError
from hiermo.experiment.trackers.plain import scalars
from hiermo.experiment.trackers.tracker import Point, Status, TrackedRun, Tracker

PROJECT = "hiermo"
LOCAL = ("offline", "dryrun", "disabled")
# What is sent is the recipe and the points; the machine, the code and the console are nobody's business.
SETTINGS: dict[str, Any] = {
    "console": "off",
    "silent": True,  # what it says at its end would go to standard output, which is the verb's
    "disable_git": True,
    "save_code": False,
    "disable_job_creation": True,
    "x_disable_meta": True,
    "x_disable_stats": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
    "init_timeout": 30.0,
    "finish_timeout": 120.0,  # a server that is away shall not hold the next run up for ever
}


class Wandb(Tracker):
    """Rows by cloud round, drawn over iterations; the recipe as config, the result in the summary."""

    @classmethod
    def check(cls) -> None:
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # W&B reads it when it is imported
        try:
            import wandb
        except ImportError as error:
            raise UserError(f"--log wandb needs the package {error.name}: pip install 'hiermo[wandb]'") from None
        from requests.utils import get_netrc_auth

        settings = wandb.setup().settings
        if settings.mode not in LOCAL and not (
            settings.api_key or settings.identity_token_file or get_netrc_auth(settings.base_url)
        ):
            # wandb would ask for a key, in the middle of a run
            raise UserError(
                "--log wandb: nobody is logged in: run `wandb login`, or set WANDB_MODE=offline to keep it here"
            )

    def __init__(self, run: TrackedRun, points: Sequence[Point]) -> None:
        import wandb

        known = type(wandb.setup().settings).model_fields
        asked = {name: value for name, value in SETTINGS.items() if name in known and not _said(name)}
        offline = wandb.setup().settings.mode in LOCAL
        if offline:
            # its file cannot be read, so every start writes a new one with all points
            for old in (run.path / "wandb").glob(f"offline-run-*-{run.id}"):
                shutil.rmtree(old)
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=run.id,
            name=run.name,
            group=os.environ.get("WANDB_RUN_GROUP", run.recipe) or None,
            dir=run.path,
            # a whole file replaces what was synchronised before; online, the server knows what it has
            resume=None if offline else "allow",
            reinit="create_new",
            settings=wandb.Settings(**asked),
        )
        self._run.config.update(run.settings, allow_val_change=True)  # type: ignore[no-untyped-call]
        self._run.define_metric("*", step_metric="iteration")
        for point in points:
            if point.cloud_round >= self._run.step:
                self.log(point)

    def log(self, point: Point) -> None:
        row = {"iteration": point.iteration, **point.values}
        self._run.log(row, step=point.cloud_round, commit=True)

    def close(self, status: Status, result: dict[str, Any]) -> None:
        self._run.summary.update({f"result.{name}": value for name, value in scalars(result).items()})
        self._run.summary["status"] = status
        self._run.finish(exit_code=0 if status == "finished" else 1)


def _said(setting: str) -> bool:
    """Whether the user has an opinion of his own."""
    return f"WANDB_{setting.upper()}" in os.environ
