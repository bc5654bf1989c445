from dataclasses import dataclass, field
from fractions import Fraction
from math import nan
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from hiermo import UserError
from hiermo.core.parameter import Count, Momentum, Range, Rate, check_values, faults, options, suggestion
from hiermo.core.record import bound


@dataclass(frozen=True, kw_only=True)
class Options:
    seed: int
    eta: Rate = 0.1
    gamma: Momentum = 0.5
    rounds: Count = 1
    share: Annotated[float, Range(gt=0, le=1)] = 1.0
    cap: Annotated[float | None, Range(lt=1)] = None
    form: Literal["velocity", "position"] = "velocity"
    loud: bool = False
    name: str = ""
    layers: tuple[Count, ...] = (1,)
    decay: list[float] = field(default_factory=list)
    speeds: dict[str, Rate] = field(default_factory=dict)
    target: int | str | None = None
    extra: Any = None
    lag: Any = bound()
    total: int = field(init=False, default=0)


def fault(**values):
    """The one thing that is wrong, without the parameter's name, or None."""
    found = faults(Options, {"seed": 0, **values})
    assert len(found) <= 1
    return found[0][1] if found else None


def test_nothing_wrong():
    assert faults(Options, {"seed": 3, "eta": 1, "layers": [2, 3], "target": "best", "extra": object()}) == []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"eta": 0}, "must be above 0, not 0"),
        ({"eta": -0.5}, "must be above 0, not -0.5"),
        ({"eta": nan}, "must be above 0, not nan"),
        ({"gamma": 1.0}, "must be in [0, 1), not 1.0"),
        ({"gamma": Fraction(3, 2)}, "must be in [0, 1), not 3/2"),
        ({"rounds": 0}, "must be at least 1, not 0"),
        ({"share": 1.01}, "must be in (0, 1], not 1.01"),
        ({"cap": 2.0}, "must be in (-inf, 1), not 2.0"),
    ],
)
def test_out_of_range(values, said):
    assert fault(**values) == said


@pytest.mark.parametrize("gamma", [0, 0.0, 0.999, Fraction(1, 3), np.float64(0.5), np.float32(0.5)])
def test_numbers_of_any_type_within_the_range_pass(gamma):
    assert fault(gamma=gamma) is None


@pytest.mark.parametrize("share", [1, 1e-9])
def test_closed_ends_belong_to_the_range(share):
    assert fault(share=share) is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"eta": "0.1"}, "must be a number, not '0.1'"),
        ({"eta": None}, "must be a number, not None"),
        ({"eta": True}, "must be a number, not True"),
        ({"rounds": True}, "must be a whole number, not True"),
        ({"rounds": 2.0}, "must be a whole number, not 2.0"),
        ({"loud": 1}, "must be true or false, not 1"),
        ({"name": 3}, "must be a text, not 3"),
        ({"form": "speed"}, "must be one of 'velocity', 'position', not 'speed'"),
        ({"target": 1.5}, "must be a whole number, not 1.5"),
    ],
)
def test_wrong_type(values, said):
    assert fault(**values) == said


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"layers": 3}, "must be a list, not 3"),
        ({"layers": "12"}, "must be a list, not '12'"),
        ({"layers": [2, 0]}, "must be at least 1, not 0"),
        ({"layers": [2, 1.5]}, "must be a whole number, not 1.5"),
        ({"decay": (0.1, "b")}, "must be a number, not 'b'"),
    ],
)
def test_lists_are_checked_item_by_item(values, said):
    assert fault(**values) == said


def test_tables_are_checked_value_by_value():
    assert fault(speeds={"edge": 1.0}) is None
    assert fault(speeds=[1.0]) == "must be a table, not [1.0]"
    assert fault(speeds={"edge": 1.0, "cloud": 0}) == "cloud: must be above 0, not 0"


def test_an_optional_value_may_be_left_out_or_given():
    assert fault(cap=None) is None
    assert fault(cap=0.5) is None


def test_missing():
    assert faults(Options, {}) == [("seed", "is missing: Options needs it")]


def test_every_fault_is_listed():
    assert [name for name, _ in faults(Options, {"eta": 0, "gamma": 2, "form": "x"})] == [
        *("eta", "gamma", "form", "seed"),
    ]


def test_unknown_name_with_a_suggestion():
    assert fault(gama=0.5) == "is not a parameter of Options; did you mean 'gamma'?"


def test_unknown_name_without_a_near_one_lists_what_is_known():
    assert suggestion("zzz", ["b", "a"]) == "; known are a, b"
    assert suggestion("zzz", []) == ""


@pytest.mark.parametrize("name", ["lag", "total"])
def test_what_bind_or_the_class_fills_in_is_not_an_option(name):
    assert name not in options(Options)
    assert "is not a parameter" in fault(**{name: 3})


def test_an_object_with_wrong_values_is_refused():
    check_values(Options(seed=1))
    with pytest.raises(UserError, match="Options: eta must be above 0, not -1"):
        check_values(Options(seed=1, eta=-1))


def test_a_class_where_an_object_is_due_is_refused():
    with pytest.raises(UserError, match=r"Options is a class; write Options\("):
        check_values(Options)
