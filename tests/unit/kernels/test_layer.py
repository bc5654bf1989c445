"""The compiled layer of small models, against torch in double precision."""

from typing import Any, NamedTuple

from bits import distance, same_bits
import pytest
import torch
from torch.nn.functional import cross_entropy

from hiermo.kernels.layer import Layer, Places
from hiermo.kernels.products import Shape
from hiermo.problems.losses import LOSSES

LANES = 16  # numbers side by side, each a sum of its own
HALF = 2.0**-24  # one rounding of a single number, relative
M, N = 3, 40  # workers, samples
EDGE = 7.0  # around where results are to be

SHAPES = [
    Shape(1, 2, 2, False),
    Shape(5, 3, 3, True),
    Shape(5, 13, 2, False),
    Shape(16, 2, 17, False),
    Shape(16, 40, 64, True),
    Shape(31, 13, 17, True),
    Shape(31, 40, 3, False),
    Shape(784, 10, 64, True),
    Shape(784, 3, 17, False),
    Shape(48, 1, 16, False),
]
FEW = [Shape(5, 3, 3, True), Shape(31, 13, 17, False)]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
each_loss = pytest.mark.parametrize("loss", LOSSES)
biased = pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])


class Samples(NamedTuple):
    rows: Any  # [N, features]
    labels: Any
    chosen: Any  # [M * batch]
    scale: float

    def seen(self, worker):
        """A worker's batch, in double precision."""
        own = self.chosen.view(M, -1)[worker]
        return self.rows[own].double() * self.scale, self.labels[own]


def samples(shape):
    """Some rows are chosen twice."""
    pixels = torch.randint(0, 256, (N, shape.features), dtype=torch.uint8)
    rows, scale = (pixels, 1 / 255) if shape.pixels else (torch.randn(N, shape.features), 0.7)
    return Samples(rows, torch.randint(0, shape.outputs, (N,)), torch.randint(0, N, (M * shape.batch,)), scale)


def places(shape, bias):
    """Neither part begins at the beginning, and the bias lies first."""
    return Places(2 + shape.outputs, 1) if bias else Places(3, None)


def taken_apart(x, shape, where):
    """Weights [M, outputs, features] and biases [M, outputs], or None, of models [M, d]."""
    size = shape.outputs * shape.features
    weight = x[:, where.weight : where.weight + size].view(-1, shape.outputs, shape.features)
    return weight, None if where.bias is None else x[:, where.bias : where.bias + shape.outputs]


def models(shape):
    d = shape.outputs * (shape.features + 1) + 5
    return torch.randn(M, d) / shape.features**0.5


def gradients(shape, loss, given, x, where):
    """Of the kernel; what is no weight and no bias must be left alone."""
    result = torch.full_like(x, EDGE)
    rows, labels, chosen, scale = given
    Layer(shape, loss).gradients(rows, labels, chosen, x, result, where, scale)
    rest = result.clone()
    for part in taken_apart(rest, shape, where):
        if part is not None:
            part.fill_(EDGE)
    assert bool((rest == EDGE).all())
    return result


def expected_gradients(loss, shape, given, x, where):
    """Of torch, in double precision."""
    found = torch.full_like(x, EDGE, dtype=torch.float64)
    for worker in range(M):
        own = x[worker : worker + 1].double().requires_grad_()
        (weight,), bias = taken_apart(own, shape, where)
        seen, labels = given.seen(worker)
        outputs = seen @ weight.t() + (0 if bias is None else bias)
        (slope,) = torch.autograd.grad(LOSSES[loss](outputs, labels).mean(), own)
        for into, part in zip(taken_apart(found, shape, where), taken_apart(slope, shape, where), strict=True):
            if into is not None:
                into[worker] = part[0]
    return found


def padded(*shape):
    """Room of which workers have a part each, and the whole of it."""
    size = torch.Size(shape[1:]).numel()
    room = torch.full((shape[0], size + 9), EDGE)
    return room[:, 2 : 2 + size].view(shape), room


@each_shape
@biased
def test_outputs(shape, bias):
    given, x, where = samples(shape), models(shape), places(shape, bias)
    weight, added = taken_apart(x, shape, where)
    into, room = padded(M, shape.outputs, shape.batch)
    column = None if added is None else added.unsqueeze(2)
    Layer(shape, "mse").outputs(given.rows, given.chosen, weight, column, given.scale, into)
    # lanes add up their share of the products, then each other; scale and bias, and that scale is rounded itself
    roundings = -(-shape.features // LANES) + 4 + 3
    for worker in range(M):
        seen, _ = given.seen(worker)
        own, plus = weight[worker].double(), 0 if added is None else added[worker].double()[:, None]
        sizes = own.abs() @ seen.abs().t() + abs(plus)
        assert bool(((own @ seen.t() + plus - into[worker]).abs() <= roundings * HALF * sizes).all())
    into.fill_(EDGE)
    assert bool((room == EDGE).all())


@each_shape
def test_slopes(shape):
    given = samples(shape)
    slope, _ = padded(M, shape.outputs, shape.batch)
    slope.copy_(torch.randn(slope.shape))
    into, room = padded(M, shape.outputs, shape.features)
    Layer(shape, "mse").slopes(given.rows, given.chosen, slope, given.scale, into)
    roundings = shape.batch + 2  # a sum over the batch; scale, which is rounded itself
    for worker in range(M):
        seen, _ = given.seen(worker)
        own = slope[worker].double()
        assert bool(((own @ seen - into[worker]).abs() <= roundings * HALF * (own.abs() @ seen.abs())).all())
    into.fill_(EDGE)
    assert bool((room == EDGE).all())


@each_shape
@each_loss
@biased
def test_gradients(shape, loss, bias):
    given, x, where = samples(shape), models(shape), places(shape, bias)
    before = x.clone()
    found, expected = gradients(shape, loss, given, x, where), expected_gradients(loss, shape, given, x, where)
    assert torch.equal(x, before)
    for one, other in zip(taken_apart(found, shape, where), taken_apart(expected, shape, where), strict=True):
        if one is None:
            continue
        # up to 784 roundings of 6e-8 that go either way; a term or factor that is wrong shows at 1e-3. Where there is
        # one output its probability is 1, and its slope nothing but zero
        if (loss, shape.outputs) == ("cross_entropy", 1):
            assert not one.any() and not other.any()
        else:
            assert distance(one, other) < 2e-6


@pytest.mark.parametrize("shape", FEW, ids=str)
@each_loss
def test_a_worker_has_the_same_bits_alone(shape, loss):
    given, x, where = samples(shape), models(shape), places(shape, True)
    together = gradients(shape, loss, given, x, where)
    for worker in range(M):
        own = given._replace(chosen=given.chosen.view(M, -1)[worker].clone())
        assert same_bits(gradients(shape, loss, own, x[worker : worker + 1].clone(), where)[0], together[worker])


@pytest.mark.parametrize("shape", FEW, ids=str)
@each_loss
def test_bits_do_not_depend_on_the_place_in_memory(shape, loss):
    given, x, where = samples(shape), models(shape), places(shape, True)
    expected = gradients(shape, loss, given, x, where)
    for shift in (1, 7, 16):
        moved = torch.zeros(x.numel() + shift)[shift:].view(x.shape).copy_(x)
        rows = torch.zeros(given.rows.numel() + shift, dtype=given.rows.dtype)[shift:].view(given.rows.shape)
        elsewhere = given._replace(rows=rows.copy_(given.rows))
        assert same_bits(gradients(shape, loss, elsewhere, moved, where), expected)


def with_bias(shape, numbers):
    """Models whose outputs are these numbers, whatever they are given: no weights."""
    x, where = torch.zeros_like(models(shape)), places(shape, True)
    taken_apart(x, shape, where)[1][:] = numbers
    return x, where


@pytest.mark.parametrize("shape", FEW, ids=str)
@pytest.mark.parametrize("size", [80.0, 100.0, 1e4, 3e38])  # from where exponentials are no normal numbers
def test_large_outputs_have_slopes_that_are_finite_and_right(shape, size):
    given, numbers = samples(shape), torch.full((shape.outputs,), -size)
    numbers[1] = size
    x, where = with_bias(shape, numbers)
    found = gradients(shape, "cross_entropy", given, x, where)
    for worker in range(M):
        seen, labels = given.seen(worker)
        outputs = numbers.double().repeat(shape.batch, 1).requires_grad_()
        (slope,) = torch.autograd.grad(cross_entropy(outputs, labels), outputs)
        (weight,), (bias,) = taken_apart(found[worker : worker + 1], shape, where)
        # probabilities are 0 or 1 but for exp(-87) = 2e-38; what is left is a sum over the batch
        assert torch.allclose(weight.double(), slope.t() @ seen, rtol=0, atol=1e-6)
        assert torch.allclose(bias.double(), slope.sum(0), rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [-3e38, -1e4, 0.0, 1e4, 3e38])
def test_outputs_that_are_all_alike_are_equally_likely(size):
    shape = Shape(5, 3, 3, True)
    x, where = with_bias(shape, size)
    given = samples(shape)
    _, bias = taken_apart(gradients(shape, "cross_entropy", given, x, where), shape, where)
    for worker in range(M):
        counts = torch.bincount(given.seen(worker)[1], minlength=3)
        # a third is rounded, and sums of three of them
        assert torch.allclose(bias[worker], 1 / 3 - counts / 3, rtol=0, atol=2e-7)


def test_exponentials_are_accurate_at_all_sizes():
    """With two outputs the slope of the unlikely one is its probability: all digits of a small one count."""
    shape, lower = Shape(5, 2, 2, True), torch.linspace(0, -87, 4001)
    given = samples(shape)._replace(labels=torch.zeros(N, dtype=torch.int64), chosen=torch.zeros(2 * 4001).long())
    x, where = torch.zeros(4001, 12), Places(0, 10)
    x[:, 11] = lower
    found = gradients(shape, "cross_entropy", given, x, where)[:, 11].double()
    expected = torch.stack([torch.zeros(4001), lower], 1).double().softmax(1)[:, 1]
    # the series and its last step, a sum, a quotient; halves and doubles of the batch are exact. The worst is 2.6
    assert bool(((found / expected - 1).abs() < 4 * HALF).all())


NOT_FINITE = [float("nan"), float("inf"), float("-inf")]


@pytest.mark.parametrize("shape", FEW, ids=str)
@each_loss
@pytest.mark.parametrize("number", NOT_FINITE)
@pytest.mark.parametrize("part", ["weight", "bias"])
def test_what_is_not_finite_in_a_model_is_so_in_its_gradient(shape, loss, number, part):
    """As with torch: an output of -inf alone has a probability of 0, which divergence shows by elsewhere."""
    given, x, where = samples(shape), models(shape), places(shape, True)
    given = given._replace(rows=given.rows.abs() // 2 + 1)  # so that infinite outputs have the sign of the weight
    weight, bias = taken_apart(x, shape, where)
    broken = weight if part == "weight" else bias.unsqueeze(2)
    broken[1, shape.outputs - 1, -1] = number
    found, expected = gradients(shape, loss, given, x, where), expected_gradients(loss, shape, given, x, where)
    assert bool(expected.isfinite().all()) == (loss == "cross_entropy" and number == float("-inf"))
    assert torch.equal(found.isfinite(), expected.isfinite())
    assert bool(found[::2].isfinite().all())  # the others' own


@each_loss
@pytest.mark.parametrize("number", NOT_FINITE[:2])
def test_a_sample_that_is_not_finite_is_noticed(loss, number):
    shape = Shape(31, 13, 17, False)
    given, x, where = samples(shape), models(shape), places(shape, True)
    given.chosen[shape.batch :] %= N - 1
    given.chosen[3] = N - 1  # seen by the first worker alone
    given.rows[N - 1, 30] = number
    found = gradients(shape, loss, given, x, where)
    assert not taken_apart(found, shape, where)[0][0, :, 30].isfinite().any()
    assert bool(found[1:].isfinite().all())


def test_a_chosen_row_counts_as_often_as_it_is_chosen():
    shape = Shape(5, 3, 3, True)
    given, x, where = samples(shape), models(shape), places(shape, True)
    given = given._replace(chosen=torch.tensor([4, 4, 4, 4, 4, 7, 0, N - 1, 7]))
    expected = expected_gradients("cross_entropy", shape, given, x, where)
    found = gradients(shape, "cross_entropy", given, x, where)
    assert distance(taken_apart(found, shape, where)[0], taken_apart(expected, shape, where)[0]) < 2e-6
