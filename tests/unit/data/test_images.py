"""Pictures of one's own: classes by folder, sizes, colours, orientation, and bad files."""

from pathlib import Path

import numpy as np
from PIL import Image
import pytest

from hiermo.core.errors import UserError
from hiermo.data.reading.pictures import pixels_of
from hiermo.data.sources.images import Images

RNG = np.random.default_rng(0)
COLOURED = RNG.integers(0, 256, (4, 5, 3), dtype=np.uint8)
GREY = RNG.integers(0, 256, (4, 5), dtype=np.uint8)


def save(file, pixels, **options):
    file.parent.mkdir(parents=True, exist_ok=True)
    picture = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    picture.save(file, **options)


def load(path, **options):
    return Images(path=str(path), **options).load(Path())


@pytest.fixture
def folder(tmp_path):
    """Five pictures of each of three classes; each says in its first pixel which it is."""
    for c in ("2", "10", "1"):
        for k in range(5):
            pixels = COLOURED.copy()
            pixels[0, 0] = (int(c), k, 0)
            save(tmp_path / "set" / c / f"{k}.png", pixels)
    return tmp_path / "set"


def test_a_folder_per_class(folder):
    assert Images(path=str(folder)).find(Path()) == folder
    data = load(folder)
    assert (data.name, data.classes, data.class_names) == ("set", 3, ("1", "2", "10"))
    assert (data.train_x.shape, data.test_x.shape, data.train_x.dtype) == ((12, 3, 4, 5), (3, 3, 4, 5), np.uint8)
    for x, y in ((data.train_x, data.train_y), (data.test_x, data.test_y)):
        assert [data.class_names[c] for c in y] == [str(pixel) for pixel in x[:, 0, 0, 0]]
        np.testing.assert_array_equal(x[0, :, 1:], COLOURED.transpose(2, 0, 1)[:, 1:])
    assert data.train_x.flags.writeable


@pytest.mark.parametrize("suffix", ["PNG", "bmp", "gif", "webp", "jpg", "JPEG"])
def test_formats(tmp_path, suffix):
    pixels = np.full((8, 8), 77, np.uint8)
    for c in "ab":
        for k in range(2):
            save(tmp_path / c / f"{k}.{suffix}", pixels, **({"lossless": True} if suffix == "webp" else {}))
    x = load(tmp_path).train_x
    assert np.abs(x.astype(int) - 77).max() <= 1  # jpeg may round
    assert x.shape[1] == (3 if suffix in ("gif", "webp") else 1)  # these know no grey of their own


def test_other_files_are_passed_over(folder):
    (folder / "README.txt").touch()
    (folder / ".hidden").mkdir()
    (folder / "1" / "notes.txt").touch()
    (folder / "1" / ".thumb.png").touch()
    (folder / "empty").mkdir()
    assert load(folder).classes == 3


def test_colours(tmp_path):
    for c in "ab":
        save(tmp_path / c / "1.png", GREY)
        save(tmp_path / c / "2.png", GREY)
    assert load(tmp_path).shape == (1, 4, 5)
    save(tmp_path / "b" / "3.png", COLOURED)
    data = load(tmp_path, test_share=0.1)
    assert data.shape == (3, 4, 5)
    np.testing.assert_array_equal(data.train_x[0], np.stack([GREY] * 3))
    assert load(tmp_path, grey=True).shape == (1, 4, 5)


def test_one_worker_grey_another_coloured(tmp_path):
    for worker, pixels in (("w1", GREY), ("w2", COLOURED)):
        for c in "ab":
            save(tmp_path / worker / c / "1.png", pixels)
            save(tmp_path / worker / c / "2.png", pixels)
    assert load(tmp_path / "w*").shape == (3, 4, 5)


def palette():
    picture = Image.fromarray(COLOURED).quantize(8)
    picture.info["transparency"] = bytes(range(8))
    return picture


@pytest.mark.parametrize(
    ("picture", "channels"),
    [
        (Image.fromarray(GREY > 99), 1),
        (Image.fromarray(GREY).convert("LA"), 1),
        (Image.fromarray(COLOURED).convert("RGBA"), 3),
        (Image.fromarray(COLOURED).quantize(8), 3),
        (palette(), 3),
    ],
)
def test_modes(tmp_path, picture, channels):
    picture.save(tmp_path / "p.png")
    assert pixels_of(tmp_path / "p.png", "here").shape == (channels, 4, 5)
    assert pixels_of((tmp_path / "p.png").read_bytes(), "here", grey=True).shape == (1, 4, 5)


def test_pictures_are_turned_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # orientation: to be turned by 90 degrees clockwise
    save(tmp_path / "p.png", GREY, exif=exif)
    np.testing.assert_array_equal(pixels_of(tmp_path / "p.png", "here")[0], np.rot90(GREY, -1))


def test_sizes(folder):
    save(folder / "2" / "big.png", np.full((8, 10, 3), 9, np.uint8))
    with pytest.raises(UserError) as caught:
        load(folder)
    one, other = folder / "1" / "0.png", folder / "2" / "big.png"
    assert str(caught.value) == (
        f"{one} is 4 x 5 pixels and {other} is 8 x 10; all must be of one size: set data.size = [4, 5], for instance"
    )
    data = load(folder, size=(4, 5), test_share=0.1)
    assert data.shape == (3, 4, 5)
    assert (data.train_x == 9).all((1, 2, 3)).sum() == 1
    with pytest.raises(UserError, match=r"data.size must be \[height, width\], not \[4\]"):
        load(folder, size=(4,))
    with pytest.raises(UserError, match=r"Images: size must be at least 1, not 0"):
        load(folder, size=(0, 4))


@pytest.fixture
def workers(tmp_path):
    for worker, classes in (("w2", "ab"), ("w10", "bc")):
        for c in classes:
            for k in range(4):
                save(tmp_path / worker / c / f"{k}.png", np.full((2, 2), int(worker[1:]), np.uint8))
    return tmp_path


def test_a_folder_per_worker(workers):
    data = load(workers / "w*", test_share=0.25)
    assert data.class_names == ("a", "b", "c")
    assert sorted(set(zip(data.owners, data.train_x[:, 0, 0, 0], strict=True))) == [(0, 2), (1, 10)]
    assert sorted(set(zip(data.owners, data.train_y, strict=True))) == [(0, 0), (0, 1), (1, 1), (1, 2)]
    assert np.bincount(data.test_owners).tolist() == [2, 2]


def test_a_test_folder(workers):
    save(workers / "test" / "b" / "1.png", np.full((2, 2), 77, np.uint8))
    data = load(workers / "w2", test=str(workers / "test"))
    assert (data.test_x[:, 0, 0, 0].tolist(), data.test_y.tolist(), len(data.train_y)) == ([77], [1], 8)


def test_sizes_of_two_workers(workers):
    save(workers / "w3" / "a" / "1.png", GREY)
    with pytest.raises(
        UserError, match=r"w2/a/0.png is 2 x 2 pixels and .*w3/a/1.png is 4 x 5; .*data.size = \[2, 2\]"
    ):
        load(workers / "w*")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("bad.png", b"", "bad.png cannot be read as a picture: cannot identify"),
        ("bad.jpg", b"hello", "bad.jpg cannot be read as a picture: cannot identify"),
        ("bad.png", None, "bad.png cannot be read as a picture: .*; remove it or save it again"),
    ],
)
def test_a_bad_picture_is_named(folder, name, content, words):
    whole = (folder / "1" / "0.png").read_bytes()
    (folder / "1" / name).write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(UserError, match=words):
        load(folder)


def test_any_damaged_byte_is_refused_or_decoded(tmp_path):
    """No traceback, whichever byte is turned over."""
    save(tmp_path / "p.png", COLOURED, exif=Image.Exif())
    content = (tmp_path / "p.png").read_bytes()
    refused = 0
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 0xFF
        try:
            pixels_of(bytes(damaged), "here")
        except UserError:
            refused += 1
    assert refused > len(content) / 2


def test_deep_pictures_are_refused(tmp_path):
    save(tmp_path / "p.png", Image.fromarray(GREY.astype(np.uint16) * 256))
    with pytest.raises(UserError, match=r"here cannot be read as a picture: it has more than 8 bits per pixel"):
        pixels_of(tmp_path / "p.png", "here")


def test_enormous_pictures_are_refused(tmp_path, monkeypatch):
    save(tmp_path / "p.png", COLOURED)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 15)  # 20 is above it, but not so far that Pillow itself refuses
    with pytest.raises(UserError, match=r"here cannot be read as a picture: .*decompression bomb"):
        pixels_of(tmp_path / "p.png", "here")


def test_folders_that_are_none(folder):
    with pytest.raises(UserError, match=r"data.path = '.*nowhere': nothing is there"):
        load(folder / "nowhere")
    with pytest.raises(UserError, match=r"0.png is not a folder; pictures are in <path>/<class>/"):
        load(folder / "1" / "0.png")
    with pytest.raises(UserError, match=r"1 has no folders; put the pictures of each class into one"):
        load(folder / "1")
    with pytest.raises(UserError, match=r"set has 1, but no picture .*; is data.path one level too high\?"):
        load(folder.parent)
    (folder / "2" / "notes.txt").touch()
    for file in (folder / "2").glob("*.png"):
        file.unlink()
    with pytest.raises(UserError, match=r"2 has notes.txt, but no picture \(.png, .*\)$"):
        load(folder)


def test_only_empty_folders(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(UserError, match=r"has no pictures \(.png, .*\) in the folders of its classes"):
        load(tmp_path)
