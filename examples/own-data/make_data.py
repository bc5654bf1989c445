"""Writes the data of these examples into the folder made/, from sets that scikit-learn and hiermo carry: no download.

python make_data.py
"""

import csv
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits, load_wine

from hiermo import load_data

MADE = Path(__file__).parent / "made"


def arrays() -> None:
    """1797 handwritten digits of 8 x 8 pixels, in one .npz file."""
    digits = load_digits()
    np.savez_compressed(MADE / "digits.npz", x=_pixels(digits.images), y=digits.target)


def pictures() -> None:
    """60 of each MNIST digit, as pictures/<digit>/<number>.png."""
    digits = load_data("mnist-5k", workers=1).dataset
    for digit in range(10):
        folder = MADE / "pictures" / str(digit)
        folder.mkdir(parents=True, exist_ok=True)
        for k, pixels in enumerate(digits.train_x[digits.train_y == digit][:60]):
            Image.fromarray(pixels[0]).save(folder / f"{k}.png")


def file_per_worker() -> None:
    """178 wines of three growers, as four traders keep them: from the weakest wines (wines1.csv) to the strongest."""
    wine = load_wine()
    by_strength = np.argsort(wine.data[:, 0], kind="stable")
    for k, rows in enumerate(np.array_split(by_strength, 4), start=1):
        with (MADE / f"wines{k}.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow([*wine.feature_names, "grower"])
            table.writerows([*wine.data[row], f"grower {wine.target[row] + 1}"] for row in rows)


def hugging_face() -> None:
    """The small digits once more, as a parquet file with pictures in it."""
    from datasets import ClassLabel, Dataset, Features
    from datasets import Image as Picture

    digits = load_digits()
    columns = {"image": [_png(pixels) for pixels in _pixels(digits.images)], "label": digits.target}
    features = Features(image=Picture(), label=ClassLabel(names=[f"digit {c}" for c in range(10)]))
    Dataset.from_dict(columns, features).to_parquet(MADE / "digits.parquet")


def _pixels(images):
    """Sixteen shades of grey, as bytes."""
    return (images * 255 / 16).astype(np.uint8)


def _png(pixels):
    content = BytesIO()
    Image.fromarray(pixels).save(content, "png")
    return {"bytes": content.getvalue(), "path": None}


if __name__ == "__main__":
    MADE.mkdir(exist_ok=True)
    arrays()
    pictures()
    file_per_worker()
    if find_spec("datasets"):  # pip install 'hiermo[huggingface]'
        hugging_face()
