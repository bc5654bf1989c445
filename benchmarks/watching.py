"""What `hiermo watch` takes of a core, with one page open: on 102 runs that are done, and while one of them grows.

python benchmarks/watching.py
"""

import json
from pathlib import Path
import re
import shutil
import subprocess
import sys
from tempfile import TemporaryDirectory
import time
from urllib.request import Request, urlopen

import psutil

RUNS, WATCHED_S, ASKED_S = 102, 30.0, 1.5
QUICK = ["-s", "model=logistic", "-s", "algorithm=HierMo", "-s", "evaluate.test=100"]


def share(process: psutil.Process, address: str, growing: Path | None) -> float:
    """CPU seconds per second, while a page asks for news as often as it does."""
    begun, before, tag = time.monotonic(), sum(process.cpu_times()[:2]), ""
    while time.monotonic() - begun < WATCHED_S:
        if growing is not None:
            header, *lines = growing.read_text().splitlines()
            last = json.loads(lines[-1])
            new = json.dumps({**last, "cloud_round": last["cloud_round"] + 1, "iteration": last["iteration"] + 20})
            growing.write_text("\n".join([header, *lines, new]) + "\n")
        try:
            with urlopen(Request(f"{address}data.json", headers={"If-None-Match": tag})) as answer:
                answer.read()
                tag = answer.headers["ETag"]
        except OSError as error:
            if getattr(error, "code", None) != 304:
                raise
        time.sleep(ASKED_S)
    return (sum(process.cpu_times()[:2]) - before) / (time.monotonic() - begun)


def main() -> None:
    with TemporaryDirectory() as folder:
        store = Path(folder)
        hiermo = [sys.executable, "-m", "hiermo"]
        subprocess.run([*hiermo, "run", "quick/digits", *QUICK, "--out", store / "0"], check=True, capture_output=True)
        for k in range(1, RUNS):
            shutil.copytree(store / "0", store / str(k))
        command = [*hiermo, "watch", store, "--no-browser"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
            address = re.search(r"http://\S+", watching.stdout.readline())[0]
            process = psutil.Process(watching.pid)
            with urlopen(address) as page:
                page.read()
            quiet, growing = (share(process, address, each) for each in (None, store / "7" / "metrics.jsonl"))
            watching.terminate()
    sys.stdout.write(f"{RUNS} runs: {100 * quiet:.1f} % of a core; with one that grows {100 * growing:.1f} %\n")


if __name__ == "__main__":
    main()
