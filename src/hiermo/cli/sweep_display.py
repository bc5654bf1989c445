"""One display for all runs of a sweep: done, running, failed, the time left; and a line for each that is running."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hiermo.core.units import duration

if TYPE_CHECKING:
    from hiermo.experiment.sweep.sweep import Sweep

ROWS = 8  # runs that are shown; a batch has more


def display(now: "Sweep") -> Group:
    """As it is shown and shown again while it goes on."""
    done = len(now.finished) + len(now.failed)
    share = (done + sum(t / of for t, of, _ in now.running.values() if of)) / now.total
    words = Text(f"{done} of {now.total} runs", style="bold")
    words.append(f"  {len(now.running)} running", style="default")
    if now.failed:
        words.append(f"  {len(now.failed)} failed", style="red")
    words.append(f"  about {duration(now.left_s)} left" if done < now.total else "", style="default")
    head = Table.grid(padding=(0, 1))
    head.add_row(ProgressBar(total=1.0, completed=share, width=24), words)
    rows = Table.grid(padding=(0, 1))
    for path, (t, of, accuracy) in list(now.running.items())[:ROWS]:
        measured = Text("" if accuracy is None else f"acc {accuracy:.3f}")
        bar = ProgressBar(total=of, completed=t, width=12)
        rows.add_row(Text(" "), bar, Text(f"{t}/{of}", justify="right"), measured, Text(Path(path).name))
    more = len(now.running) - ROWS
    return Group(head, rows, *([Text(f"  and {more} more beside them", style="dim")] if more > 0 else []))
