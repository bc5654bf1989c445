"""The processes of a sweep: started, told what to do, listened to, and missed when they die."""

from contextlib import suppress
import json
import os
from queue import Empty, SimpleQueue
import signal
import subprocess
import sys
from tempfile import TemporaryFile
from threading import Thread
from types import TracebackType
from typing import Any, NamedTuple, Self

GRACE_S = 120.0  # to reach the next merge and write a checkpoint


class Message(NamedTuple):
    """What a process says; None when it is gone."""

    worker: "WorkerProcess"
    facts: dict[str, Any] | None


class WorkerProcess:
    """One of them. What it prints on standard error is kept, for when it dies."""

    def __init__(self, heard: "SimpleQueue[Message]") -> None:
        self._errors = TemporaryFile()  # noqa: SIM115 - as long as the process
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hiermo.experiment.sweep.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},  # until it is told how many are its share
            start_new_session=True,  # Ctrl-C reaches the process that a person started, and that one alone
        )
        self._heard = heard
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()

    def tell(self, **order: Any) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError, ValueError):  # its end is heard of elsewhere
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as said:
            for line in said:
                self._heard.put(Message(self, json.loads(line)))
        self.process.wait()
        self._heard.put(Message(self, None))

    def let_go(self) -> None:
        """It ends when it has nothing more to do."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def close(self) -> None:
        """After its end."""
        self._listener.join()
        self._errors.close()

    def errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip()

    def cause(self) -> str:
        """Of its death."""
        code = self.process.returncode
        if code is not None and code < 0:
            name = signal.Signals(-code).name if -code in signal.valid_signals() else str(-code)
            memory = "; the memory may have run out" if name == "SIGKILL" else ""
            return f"its process was ended by {name}{memory}"
        last = (self.errors().splitlines() or ["without a word"])[-1]
        return f"its process ended with exit code {code}: {last}"


class Workers:
    """All processes of a sweep, and what they say, in the order of its arrival."""

    def __init__(self) -> None:
        self._heard: SimpleQueue[Message] = SimpleQueue()
        self.all: list[WorkerProcess] = []

    def start(self) -> WorkerProcess:
        self.all.append(WorkerProcess(self._heard))
        return self.all[-1]

    def next(self, timeout_s: float) -> Message | None:
        try:
            return self._heard.get(timeout=timeout_s)
        except Empty:
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Those that still compute are asked to stop; where something went wrong here, they are not waited for long."""
        for worker in self.all:
            worker.let_go()
        for worker in self.all:
            try:
                worker.process.wait(GRACE_S if kind is None else 1)
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                worker.process.kill()
                worker.process.wait()
            worker.close()
