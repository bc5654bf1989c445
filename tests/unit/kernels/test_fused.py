"""Rules in one pass over memory: the bits of torch's operations one by one, and nothing lost that is still needed."""

from functools import partial
from operator import add, mul, sub, truediv
from typing import Any, NamedTuple

from bits import assert_same_record, copied, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
import pytest
from rules import NAMES, filled, rules_of, variants
import torch

from hiermo.engine.stacked import Stacked, Where
from hiermo.kernels import fused, trace
from hiermo.problems.threads import Pool

DTYPES = [torch.float32, torch.float64]
SHAPES = [(1,), (15,), (16,), (17,), (1000,), (3, 1), (3, 17), (5, 16)]


class Three(NamedTuple):
    x: Any
    y: Any
    z: Any


def program(rule, *, asks=False, kind=Three):
    found = trace.program(rule, [kind, kind], asks=asks)
    assert found is not None
    return found


def some(shape=(3, 17), dtype=torch.float32):
    return Three(*(torch.randn(shape, dtype=dtype) for _ in range(3)))


def momentum(w, down):
    """Three signs deep, with all kinds of operands."""
    v = 0.9 * w.y - w.z / 3
    return Three(w.x + v, v, 1 - down.x * v)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_rules_of_our_algorithms_have_the_bits_of_torch(name, dtype):
    known = 0
    for algorithm in variants(name):
        for *rows, d in SHAPES:
            for rule in rules_of(algorithm, d):
                found = trace.program(rule.call, [type(each) for each in rule.records], asks=rule.asks)
                if found is None:
                    continue
                given_ = [filled(each, dtype, rows) for each in rule.records]
                before = [copied(each) for each in given_]
                made, _ = fused.work_off(found, given_, torch.sin if rule.asks else None)
                assert_same_record(made, rule.on(before, torch.sin))
                for one, other in zip(given_, before, strict=True):
                    assert_same_record(one, other)
                known += 1
    assert known


# leaves are fields, and the gradient; numbers stand on either side, but not above a vector, which is more than a sign
NUMBERS = st.integers(-3, 3) | st.floats(-1e6, 1e6)
FIELDS, LEAVES = (st.integers(0, most).map(lambda k: ("leaf", k)) for most in (5, 6))
SIGNS = {"+": add, "-": sub, "*": mul, "/": truediv}


def terms(inner):
    right = st.tuples(st.sampled_from("+-*/"), inner, inner)
    number_last = st.tuples(st.sampled_from("+-*"), inner, NUMBERS)
    number_first = st.tuples(st.sampled_from("+-*"), NUMBERS, inner)
    divided = st.tuples(st.just("/"), inner, NUMBERS.filter(bool))
    return right | number_last | number_first | divided


POINTS, EXPRESSIONS = (st.recursive(leaves, terms, max_leaves=most) for leaves, most in ((FIELDS, 3), (LEAVES, 5)))


def value(expression, leaves):
    if not isinstance(expression, tuple):
        return expression
    sign, *operands = expression
    return leaves[operands[0]] if sign == "leaf" else SIGNS[sign](*(value(each, leaves) for each in operands))


def rule_of(point, expressions, fields, w, down, grad):
    """With a gradient at a point. What is a field now may be several of them, or have been one before."""
    at = value(point, [*w, *down])
    leaves = [*w, *down, grad(at)]
    found = [at, *(value(each, leaves) for each in expressions)]
    return Three(*(found[k % len(found)] for k in fields))


@settings(max_examples=150)
@given(
    seed=st.integers(0, 1000),
    point=POINTS,
    expressions=st.lists(EXPRESSIONS, min_size=1, max_size=3),
    fields=st.tuples(*[st.integers(0, 3)] * 3),
    dtype=st.sampled_from(DTYPES),
    shape=st.sampled_from(SHAPES),
)
def test_any_rule_step_after_step_has_the_bits_of_torch(seed, point, expressions, fields, dtype, shape):
    torch.manual_seed(seed)
    rule = partial(rule_of, point, expressions, fields)
    found, own = program(rule, asks=True), ()
    first, down = some(shape, dtype), some(shape, dtype)
    before = copied(first), copied(down)
    w, expected = first, before[0]
    for step in range(4):
        into = some(shape, dtype) if step == 3 else None
        w, own = fused.work_off(found, (w, down), torch.sin, own=own, into=into)
        expected = rule(expected, before[1], torch.sin)
        assert_same_record(w, expected)
    assert_same_record(first, before[0])  # the caller's: never his own
    assert_same_record(down, before[1])


def kept(w, down):
    return Three(w.x + w.y, w.y, w.z)


def twice(w, down):
    new = w.x * w.y
    return Three(new, new, w.x)


def swapped(w, down):
    return Three(w.y, w.x, w.z - w.x)


def shifted(w, down):
    """The model before last stays: what was made two steps ago is still somebody's."""
    return Three(w.x - 0.1 * w.z, w.x, w.y)


@pytest.mark.parametrize("rule", [momentum, kept, twice, swapped, shifted])
def test_a_field_that_stays_is_not_written_over(rule):
    w, down = some(), some()
    expected = rule(copied(w), copied(down))
    made, _ = fused.work_off(program(rule), (w, down), None, own=list(w))  # all of it may go
    assert_same_record(made, expected)


@pytest.mark.parametrize("rule", [momentum, kept, twice, swapped, shifted])
def test_results_are_right_in_a_given_place(rule):
    w, down, into = some(), some(), some()
    before, places = copied(w), [field.data_ptr() for field in into]
    made, new = fused.work_off(program(rule), (w, down), None, own=list(w), into=into)
    assert_same_record(made, rule(before, down))
    assert_same_record(w, before)  # with another place to write to, its own is left alone
    assert all(field.data_ptr() in places for field in new)
    for field, place in zip(made, into, strict=True):
        if any(field is each for each in new) and rule is not twice:
            assert field is place


def test_own_vectors_are_read_before_they_are_written_over():
    """A vector of the result that is made before the last pass: the others are still to be read then."""

    def rule(w, down, grad):
        ahead = w.x + 0.5 * w.y
        g = grad(ahead)
        return Three(ahead, w.x - w.z * g, w.y * g)

    w, down = some(), some()
    expected = rule(copied(w), down, torch.sin)
    made, _ = fused.work_off(program(rule, asks=True), (w, down), torch.sin, own=list(w))
    assert_same_record(made, expected)


def test_own_vectors_are_written_over():
    w, down = some(), some()
    places = {field.data_ptr() for field in w}
    made, new = fused.work_off(program(momentum), (w, down), None, own=list(w))
    assert {field.data_ptr() for field in made} == places
    assert all(one is other for one, other in zip(made, new, strict=True))


def test_without_own_vectors_new_ones_are_made():
    w, down = some(), some()
    old = {field.data_ptr() for field in (*w, *down)}
    made, _ = fused.work_off(program(momentum), (w, down), None)
    assert not old & {field.data_ptr() for field in made}


def test_what_is_new_is_told_and_nothing_else():
    w, down = some(), some()
    made, new = fused.work_off(program(kept), (w, down), None)
    assert new[0] is made.x and len(new) == 1
    assert (made.y is w.y) and (made.z is w.z)


MISFITS = {
    "another shape": lambda: torch.full((17, 3), 7.0),
    "another type": lambda: torch.full((3, 17), 7.0, dtype=torch.float64),
    "not in one piece": lambda: torch.full((3, 34), 7.0)[:, ::2],
    "a place for no field": lambda: None,
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_place_that_does_not_fit_is_left_alone(name):
    w, down = some(), some()
    into = Three(*(MISFITS[name]() for _ in range(3)))
    made, _ = fused.work_off(program(momentum), (w, down), None, into=into)
    assert_same_record(made, momentum(w, down))
    assert all(place is None or bool((place == 7).all()) for place in into)


def test_own_vectors_that_do_not_fit_are_left_alone():
    """As a number per node beside the models."""
    w, down = some()._replace(z=torch.full((3, 1), 7.0)), some()
    expected = kept(w, down)
    made, _ = fused.work_off(program(kept), (w, down), None, own=[torch.full((3, 1), 7.0), w.z])
    assert_same_record(made, expected)
    assert bool((w.z == 7).all())


def test_places_for_some_fields_and_own_vectors_for_others():
    w, down, place = some(), some(), torch.empty(3, 17)
    expected, own = momentum(copied(w), down), w.z.data_ptr()
    made, _ = fused.work_off(program(momentum), (w, down), None, own=[w.z], into=Three(place, None, None))
    assert_same_record(made, expected)
    assert made.x is place and own in (made.y.data_ptr(), made.z.data_ptr())


def transposed():
    return torch.randn(17, 3).t()


def one_per_node():
    return torch.randn(3, 1)


def one_node():
    return torch.randn(17)


def double():
    return torch.randn(3, 17, dtype=torch.float64)


def every_other():
    return torch.randn(3, 34)[:, ::2]


def repeated():
    return torch.randn(1, 17).expand(3, 17)


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("odd", [transposed, one_per_node, one_node, double, every_other, repeated])
def test_vectors_that_do_not_lie_side_by_side(odd, which):
    w, down = some(), some()
    w = w._replace(**{w._fields[which]: odd()})
    before, into = copied(w), some()
    made, _ = fused.work_off(program(momentum), (w, down), None, own=list(w), into=into)
    assert_same_record(made, momentum(w, down))
    assert_same_record(copied(w), before)


def test_a_gradient_of_another_layout():
    def rule(w, down, grad):
        return Three(w.x - 0.1 * grad(w.x), w.y, w.z)

    def gradient(x):
        return x.sin().t().contiguous().t()

    w, down = some(), some()
    made, _ = fused.work_off(program(rule, asks=True), (w, down), gradient)
    assert_same_record(made, rule(w, down, gradient))


def test_a_gradient_is_asked_where_the_rule_asks():
    def rule(w, down, grad):
        ahead = w.x + 0.5 * w.y
        return Three(grad(ahead), grad(w.x), grad(down.x))

    asked = []

    def gradient(x):
        asked.append(x.clone())
        return 2 * x

    w, down = some(), some()
    made, _ = fused.work_off(program(rule, asks=True), (w, down), gradient)
    assert_same_record(Three(*asked), Three(w.x + 0.5 * w.y, w.x, down.x))
    assert_same_record(made, rule(w, down, lambda x: 2 * x))


def test_a_gradient_that_is_its_own_argument():
    def rule(w, down, grad):
        ahead = w.x + w.y
        g = grad(ahead)
        return Three(g, ahead - 0.1 * g, w.z)

    w, down, own = some(), some(), ()
    expected = copied(w)
    for _ in range(3):
        w, own = fused.work_off(program(rule, asks=True), (w, down), lambda x: x, own=own)
        expected = rule(expected, down, lambda x: x)
        assert_same_record(w, expected)


@pytest.mark.parametrize("numbers", [[0.0, -0.0, 1.0], [1e-45, 1e-39, 3e38], [float("inf"), float("nan"), -1.0]])
@pytest.mark.parametrize("size", [3, 48])  # alone, and in vectors
def test_zeros_with_a_sign_and_what_is_not_finite(numbers, size):
    w = Three(*(torch.tensor((numbers[k:] + numbers[:k]) * (size // 3)) for k in range(3)))
    for rule in (momentum, lambda w, down: Three(w.x / w.y, w.z * -0.0, w.x - down.x)):
        made, _ = fused.work_off(program(rule), (w, w), None)
        assert_same_record(made, rule(w, w))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("beyond", [0, 1, fused.AT_ONCE + 17])
def test_many_numbers_in_several_tasks_have_the_same_bits(beyond, dtype, threads):
    counts, pool = [], Pool(threads)

    def together(tasks):
        counts.append(len(tasks))
        pool.run(tasks[::-1])  # tasks have no order

    w, down = (some((1, fused.AT_ONCE + beyond), dtype) for _ in range(2))
    made, _ = fused.work_off(program(momentum), (w, down), None, together=together)
    assert_same_record(made, momentum(w, down))
    assert counts == ([-(-w.x.numel() // fused.AT_ONCE)] if beyond else [])


def test_nothing_at_all():
    w = some((0, 5))
    made, _ = fused.work_off(program(momentum), (w, w), None)
    assert [field.shape for field in made] == [(0, 5)] * 3


def test_the_engine_merges_in_tasks_and_has_the_same_bits():
    counts = []

    def together(tasks):
        counts.append(len(tasks))
        for task in tasks:
            task()

    w, down = (some((2, fused.AT_ONCE)) for _ in range(2))
    made = Stacked(together).merged(momentum, w, down, Where(1, range(2), 1, 3))
    assert_same_record(made, momentum(w, down))
    assert counts == [2]


def test_bits_are_told_apart():
    """Of the comparison itself."""
    assert not same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert not same_bits(torch.tensor([1.0]), torch.tensor([1.0]).nextafter(torch.tensor([2.0])))
    assert not same_bits(torch.tensor([1.0]), torch.tensor([float("nan")]))
    assert same_bits(torch.tensor([float("nan")]), -torch.tensor([float("nan")]))
