"""A file that is being fetched: the bytes so far, and beside them what is known of the whole."""

from dataclasses import asdict, dataclass
import json
import os
from pathlib import Path


@dataclass(frozen=True)
class Whole:
    """Where the first byte came from, what the server called that version of the file, and its length if told."""

    url: str
    version: str
    size: int | None


class Part:
    """NAME.part and NAME.part.json beside the target; whatever kills the process, they fit each other."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f"{target.name}.part")
        self._facts = target.with_name(f"{target.name}.part.json")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.is_file() else 0

    def whole(self) -> Whole | None:
        """What is known; nothing where the facts are missing or damaged."""
        try:
            facts = json.loads(self._facts.read_text(encoding="utf-8"))
            known = Whole(str(facts["url"]), str(facts["version"]), facts["size"])
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None
        return known if known.size is None or isinstance(known.size, int) else None

    def begin(self, whole: Whole) -> None:
        """Starts anew; old bytes go before new facts come, so that they are never taken for bytes of this file."""
        self.forget()
        self._facts.write_text(json.dumps(asdict(whole)), encoding="utf-8")

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)
        self._facts.unlink(missing_ok=True)

    def finish(self) -> None:
        """The file gets its name."""
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())
        self.path.replace(self.target)
        self._facts.unlink(missing_ok=True)
