from typing import NamedTuple

import pytest

from hiermo.core.record import adopt, of, pick


class Up(NamedTuple):
    x: float
    m: float


class Node(NamedTuple):
    m: float
    y: float
    x: float


class Wide(NamedTuple):
    x: float
    c: float


def test_pick_goes_by_name_not_by_place():
    assert pick(Up, Node(m=1.0, y=2.0, x=3.0)) == Up(x=3.0, m=1.0)


def test_pick_refuses_a_record_that_lacks_a_field():
    with pytest.raises(AttributeError, match="c"):
        pick(Wide, Node(m=1.0, y=2.0, x=3.0))


def test_adopt_overwrites_by_name_and_keeps_the_rest():
    assert adopt(Node(m=1.0, y=2.0, x=3.0), Up(x=7.0, m=8.0)) == Node(m=8.0, y=2.0, x=7.0)


def test_adopt_ignores_what_the_record_has_no_place_for():
    assert adopt(Up(x=1.0, m=2.0), Wide(x=5.0, c=6.0)) == Up(x=5.0, m=2.0)


def test_adopt_leaves_its_argument_alone():
    record = Up(x=1.0, m=2.0)
    adopt(record, Up(x=5.0, m=6.0))
    assert record == Up(x=1.0, m=2.0)


def test_of_serves_all_above_with_the_last():
    assert [of(("worker", "edge", "cloud"), k) for k in range(5)] == ["worker", "edge", "cloud", "cloud", "cloud"]


def test_of_one_type_serves_every_link():
    # a NamedTuple type, and an instance of one, are single entries and not sequences of them
    assert [of(Up, k) for k in range(2)] == [Up, Up]
    assert of(Up(1.0, 2.0), 1) == Up(1.0, 2.0)
