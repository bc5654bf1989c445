"""Normalisation and augmentation against one image at a time."""

import numpy as np
import pytest
import torch

import hiermo
from hiermo import Dataset, Partitioned, Supervised, UserError
from hiermo.problems.inputs import Inputs

RNG = np.random.default_rng(0)
IMAGES = torch.from_numpy(RNG.integers(0, 256, (40, 3, 8, 6), np.uint8))
SIGNALS = torch.from_numpy(RNG.normal(3, 2, (40, 9, 16)).astype(np.float32))
FEATURES = torch.from_numpy(RNG.normal(-1, [1, 5, 0], (40, 3)).astype(np.float32))
SINGLE = 1e-5  # float32 sums of thousands of numbers near one


@pytest.mark.parametrize(("x", "axes"), [(IMAGES, (0, 2, 3)), (SIGNALS, (0, 2))])
def test_normalised_samples_have_mean_zero_and_deviation_one_per_channel(x, axes):
    seen = Inputs(x, torch.float32, normalise=True).scaled(x).numpy()
    assert seen.dtype == np.float32
    np.testing.assert_allclose(seen.mean(axes), 0, atol=SINGLE)
    np.testing.assert_allclose(seen.std(axes), 1, atol=SINGLE)


def test_plain_vectors_are_normalised_per_feature_and_a_constant_one_is_only_centred():
    seen = Inputs(FEATURES, torch.float64, normalise=True).scaled(FEATURES).numpy()
    np.testing.assert_allclose(seen[:, :2].std(0), 1, atol=SINGLE)
    assert (seen[:, 2] == 0).all()


def test_mean_and_deviation_are_those_of_all_samples_over_255():
    about = Inputs(IMAGES, torch.float32, normalise=True).about()
    x = IMAGES.numpy() / 255
    assert about["divided_by"] == 255
    np.testing.assert_allclose(about["mean"], x.mean((0, 2, 3)), rtol=1e-12)  # float64
    np.testing.assert_allclose(about["deviation"], x.std((0, 2, 3)), rtol=1e-12)


def test_without_options_pixels_are_divided_by_255_and_numbers_left_alone():
    assert torch.equal(Inputs(IMAGES, torch.float32).scaled(IMAGES), IMAGES.float() / 255)
    assert torch.equal(Inputs(SIGNALS, torch.float32).scaled(SIGNALS), SIGNALS)
    assert Inputs(IMAGES, torch.float32).about() == {"divided_by": 255}


def by_hand(image, down, right, mirrored, crop):
    """The window at (down, right) of the image with a margin of zeros, mirrored or not."""
    channels, height, width = image.shape
    wide = np.zeros((channels, height + 2 * crop, width + 2 * crop), image.dtype)
    wide[:, crop : crop + height, crop : crop + width] = image
    window = wide[:, down : down + height, right : right + width]
    return window[:, :, ::-1] if mirrored else window


@pytest.mark.parametrize(("crop", "flip"), [(2, False), (0, True), (3, True)])
def test_each_image_is_shifted_and_mirrored_as_drawn(crop, flip):
    inputs = Inputs(IMAGES, torch.float32, crop=crop, flip=flip)
    draws = inputs.draw(7, [0, 5], t=3, batch=20)
    found = inputs.augmented(IMAGES, draws).numpy()
    for k, image in enumerate(IMAGES.numpy()):
        expected = by_hand(image, int(draws.down[k]), int(draws.right[k]), bool(draws.mirrored[k]), crop)
        assert (found[k] == expected).all()
    assert found.dtype == np.uint8
    assert draws.down.max() == draws.right.max() == 2 * crop and draws.down.min() == 0  # 40 draws reach both ends
    assert draws.mirrored.any() == flip and not draws.mirrored.all()


def test_draws_are_a_function_of_seed_worker_and_iteration():
    inputs = Inputs(IMAGES, torch.float32, crop=2, flip=True)

    def drawn(seed, workers, t):
        draws = inputs.draw(seed, workers, t, batch=16)
        return torch.stack([draws.down, draws.right, draws.mirrored])

    both = drawn(1, [3, 4], 9)
    assert torch.equal(both, torch.cat([drawn(1, [3], 9), drawn(1, [4], 9)], dim=1))
    for other in (drawn(2, [3, 4], 9), drawn(1, [4, 3], 9), drawn(1, [3, 4], 10)):
        assert not torch.equal(both, other)


def test_draws_are_even():
    """Chi-squared with 4 degrees of freedom over 4000 draws of 0..4: below 18.5 but once in a thousand."""
    inputs = Inputs(IMAGES, torch.float32, crop=2, flip=True)
    draws = inputs.draw(0, range(40), t=1, batch=100)
    for shifts in (draws.down, draws.right):
        counts = np.bincount(shifts, minlength=5)
        assert ((counts - 800) ** 2 / 800).sum() < 18.5
    assert abs(int(draws.mirrored.sum()) - 2000) < 4 * 1000**0.5


@pytest.mark.parametrize("options", [{"crop": 1}, {"flip": True}])
def test_only_images_are_augmented(options):
    with pytest.raises(UserError, match=r"input\.(crop|flip) is for images"):
        Inputs(SIGNALS, torch.float32, **options)


def test_a_shift_out_of_sight_is_refused():
    with pytest.raises(UserError, match=r"input\.crop = 6 would shift images of \[3, 8, 6\] out of sight"):
        Inputs(IMAGES, torch.float32, crop=6)


def divided(n=64):
    x, y = RNG.integers(0, 256, (n, 1, 8, 8), np.uint8), np.arange(n) % 4
    dataset = Dataset("squares", x, y, x[:16], y[:16], classes=4)
    return Partitioned(dataset, tuple(np.arange(n).reshape(4, -1)))


@pytest.mark.parametrize("model", ["logistic", "cnn"])  # the batched and the one-by-one path
def test_training_is_the_same_whoever_computes_and_evaluation_sees_plain_images(model):
    data = divided()
    options = {"channels": (4, 8), "hidden": (16,)} if model == "cnn" else {}
    make = hiermo.make_model(model, data, **options)
    kinds = {
        "plain": Supervised(make, data, batch=16),
        "two": Supervised(make, data, batch=16, crop=2, flip=True, threads=2),
        "one": Supervised(make, data, batch=16, crop=2, flip=True, threads=1),
    }
    x = kinds["plain"].initial(0) + 0.01
    four = torch.stack([x] * 4)
    gradients = {name: problem.grad(0, 5, range(4), four) for name, problem in kinds.items()}
    assert torch.equal(gradients["one"], gradients["two"])
    assert not torch.allclose(gradients["one"], gradients["plain"])
    alone = kinds["one"].grad(0, 5, [2], four[:1])
    assert torch.equal(alone[0], gradients["one"][2])
    assert kinds["one"].evaluate(x) == kinds["plain"].evaluate(x)


def test_the_whole_gradient_is_that_of_plain_images():
    data = divided()
    make = hiermo.make_model("logistic", data)
    plain, moved = Supervised(make, data, batch=16), Supervised(make, data, batch=16, crop=2, flip=True)
    x = torch.stack([plain.initial(0)] * 4)
    assert torch.equal(plain.full_grad(range(4), x), moved.full_grad(range(4), x))
