"""How long the data sets take to load: the first time, when some are decoded, and from then on, each in a new process.

HIERMO_DATA must name a directory with the data sets; its folder `decoded` is not touched, for each set is linked into a
directory of its own. Prints a table:

    python benchmarks/load_times.py
"""

from pathlib import Path
import subprocess
import sys
import tempfile

from hiermo.data.directory import data_directory

NAMES = ("mnist", "fashion-mnist", "cifar10", "uci-har", "tiny-imagenet")
CODE = """
from pathlib import Path
from time import perf_counter
from hiermo.data.sources import SOURCES
source = SOURCES.get({name!r})()
begun = perf_counter()
dataset = source.load(Path({directory!r}))
print(f"{{perf_counter() - begun:.3f}} {{len(dataset.train_y)}} {{len(dataset.test_y)}}")
"""


def main() -> None:
    home = data_directory()
    lines = ["| data set | samples | first | again |", "|---|---|---|---|"]
    for name in NAMES:
        if not (home / name).is_dir():
            continue
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, name).symlink_to((home / name).resolve(), target_is_directory=True)
            times = []
            for _ in range(4):
                code = CODE.format(name=name, directory=folder)
                done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
                seconds, train, test = done.stdout.split()
                times.append(float(seconds))
        again = sorted(times[1:])
        lines.append(f"| {name} | {train} + {test} | {times[0]:.2f} s | {again[1]:.3f} s |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
