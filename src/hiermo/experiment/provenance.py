"""With what a run was made: versions, commit, machine."""

from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
import os
from pathlib import Path
import platform
import subprocess
from typing import Any

import psutil

from hiermo._version import __version__

LIBRARIES = ("torch", "numpy", "safetensors", "array-api-compat")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def provenance(seed: int, gradients: str, threads: int, device: str) -> dict[str, Any]:
    """One start of a run."""
    return {
        "started": now(),
        "hiermo": __version__,
        "git": own_git_state(),
        "python": platform.python_version(),
        "libraries": {name: library_version(name) for name in LIBRARIES},
        "platform": platform.platform(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "process": this_process(),
        "gradients": gradients,
        "threads": threads,
        "device": device,
        "seed": seed,
    }


def this_process() -> dict[str, Any]:
    """Which process trains; by this others can tell whether it still does, without touching the run."""
    return {"host": platform.node(), "pid": os.getpid(), "since": psutil.Process().create_time()}


def is_alive(process: dict[str, Any]) -> bool | None:
    """Whether it is still there; None where it is another machine's, or what is said of it makes no sense."""
    try:
        if process["host"] != platform.node():
            return None
        return bool(abs(psutil.Process(int(process["pid"])).create_time() - float(process["since"])) < 2)
    except psutil.NoSuchProcess:
        return False
    except (KeyError, TypeError, ValueError, psutil.Error):
        return None


def library_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@cache
def own_git_state() -> dict[str, Any] | None:
    """As it is when first asked: that is the code that was loaded, and a sweep has hundreds of runs."""
    return git_state(Path(__file__).parent)


def git_state(folder: Path) -> dict[str, Any] | None:
    """The commit of a checkout that this package is run from, and whether it has changes; None for an installed one."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", str(Path(__file__).resolve()))
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None


def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
