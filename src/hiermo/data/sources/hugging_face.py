"""Data sets of Hugging Face: from the hub, saved by its library, or files that it reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from hiermo.core.errors import UserError
from hiermo.core.parameter import Count, Location, check_values, suggestion
from hiermo.data.dataset import Dataset
from hiermo.data.reading.hugging_face_table import Columns, Read
from hiermo.data.reading.own import Share, assembled, first, owned, places
from hiermo.data.reading.pictures import check_size

# nothing pickled is read: some versions of the library would unpickle what other formats hold
FORMATS = {".parquet": "parquet", ".arrow": "arrow", ".csv": "csv", ".json": "json", ".jsonl": "json"}
READ = (*dict.fromkeys(FORMATS.values()), "imagefolder")
SAVED = ("dataset_dict.json", "state.json")  # what save_to_disk leaves in a folder

Place = Path | str  # a str is the name of a set on the hub
Splits = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class HuggingFace:
    """`path` is a folder of `save_to_disk`, a parquet, csv or json file, a folder of such or of pictures, or hub name.

    `x` names the columns to learn from (else the one column of pictures, or all numbers), `y` that of the classes and
    `owner` whose a sample is. Pictures are resized to `size`, height and width. A `*` in the path stands for one file
    or folder per worker. Where there is no split `test`, `test_share` of the samples becomes the test part: always
    the same ones, whatever the seed of the run.
    """

    summary: ClassVar[str] = "a Hugging Face data set, from disk or from the hub; needs the extra huggingface"
    path: Location
    name: str | None = None
    split: str = "train"
    test_split: str = "test"
    x: str | tuple[str, ...] | None = None
    y: str = "label"
    owner: str | None = None
    size: tuple[Count, ...] | None = None
    test_share: Share = 0.2

    def find(self, directory: Path) -> Path | None:
        """On disk; the hub is not asked."""
        return first(self.path)

    def load(self, directory: Path) -> Dataset:
        check_values(self)
        check_size(self.size)
        if self.owner is not None and "*" in self.path:
            raise UserError("data.owner and a * in data.path both say whose a sample is; choose one")
        found = [(place, self._splits(place)) for place in self._places()]
        train = [self._read(place, splits, "split") for place, splits in found]
        test: list[Read] = []
        if self.test_split != "test" or any("test" in splits for _, splits in found):
            test = [self._read(place, splits, "test_split") for place, splits in found]
        names = {read.class_names for read in (*train, *test)}
        if len(names) > 1:  # classes that are numbered differently here and there go together by their names
            train, test = [read.by_name() for read in train], [read.by_name() for read in test]
        return assembled(
            Path(self.path).name,
            owned([read.piece for read in train], self.path),
            owned([read.piece for read in test], self.path),
            self.test_share,
            class_names=names.pop() if len(names) == 1 else (),
        )

    def _places(self) -> list[Place]:
        is_path = self.path.startswith((".", "/", "~")) or "*" in self.path or Path(self.path).suffix in FORMATS
        return [*places(self.path)] if is_path or first(self.path) else [self.path]

    def _splits(self, place: Place) -> Splits:
        library = _library()
        with _named_errors(place):
            if isinstance(place, Path) and any((place / file).is_file() for file in SAVED):
                saved = library.load_from_disk(str(place.resolve()))
                return dict(saved) if isinstance(saved, dict) else {self.split: saved}
            builder = self._builder(library, place)
            kind = type(builder).__module__.removeprefix("datasets.packaged_modules.").partition(".")[0]
            if kind not in READ:
                raise UserError(f"{place} is of the format {kind}, which is not read; {', '.join(READ)} are")
            builder.download_and_prepare()
            return dict(builder.as_dataset())

    def _builder(self, library: Any, place: Place) -> Any:
        if isinstance(place, str):
            return library.load_dataset_builder(place, self.name)
        if place.is_dir():
            return library.load_dataset_builder(str(place.resolve()), self.name)
        if place.suffix not in FORMATS:
            raise UserError(f"{place} is of a format that is not read; {', '.join(FORMATS)} are, and folders")
        return library.load_dataset_builder(FORMATS[place.suffix], data_files={self.split: str(place.resolve())})

    def _read(self, place: Place, splits: Splits, key: str) -> Read:
        split = str(getattr(self, key))
        if split not in splits:
            raise UserError(f"data.{key}: {place} has no split '{split}'{suggestion(split, splits)}")
        x = (self.x,) if isinstance(self.x, str) else self.x or ()
        with _named_errors(place):
            return Columns(x, self.y, self.owner, self.size).read(splits[split], f"{place}, split {split}")


def _library() -> Any:
    """Imported only here, for it takes a second or two."""
    try:
        return import_module("datasets")
    except ImportError as error:
        raise UserError(
            "data set hugging-face needs the package datasets, which is missing: pip install 'hiermo[huggingface]'"
        ) from error


@contextmanager
def _named_errors(place: Place) -> Iterator[None]:
    """The library raises errors of all kinds, its own and those of what it stands on; here they get a place."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        why = str(error).splitlines()[0] if str(error) else repr(error)
        if isinstance(place, Path):
            raise UserError(f"{place} cannot be read: {why}") from error
        raise UserError(
            f"data.path = '{place}' is no file or folder here, nor can it be had from the Hugging Face hub: {why}; "
            "mend the name, or fetch it where there is a network"
        ) from error
