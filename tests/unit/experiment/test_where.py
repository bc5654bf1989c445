"""`--where`: what it says of runs, and that it can do nothing else."""

from math import nan
import operator

from hypothesis import given
from hypothesis import strategies as st
import pytest

from hiermo.core.errors import UserError
from hiermo.experiment.where import Where, column

ROWS = [
    {"label": "HierMo", "accuracy": 0.95, "periods.tau": 10, "date": "2026-11-18T07:00:00+00:00", "seed": 0},
    {"label": "HierFAVG", "accuracy": 0.85, "periods.tau": 20, "date": "2026-10-01T07:00:00+00:00", "seed": 1},
    {"label": "FedAvg", "accuracy": None, "periods.tau": 20, "date": None, "seed": 2},
    {"label": "new", "accuracy": nan, "algorithm.gamma": 0.9, "tree.groups": [[0], [1]], "seed": 3, "input.flip": True},
]
KNOWN = list(dict.fromkeys(name for row in ROWS for name in row))


def true_of(text: str) -> list[int]:
    return [k for k, holds in enumerate(Where(text, KNOWN).chosen(ROWS)) if holds]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("accuracy > 0.9", [0]),
        ("accuracy <= 0.85 or seed == 3", [1, 3]),
        ("label == 'HierMo' and accuracy > 0.9", [0]),
        ("not accuracy > 0.9", [1, 2, 3]),
        ("accuracy != 0.95", [1]),  # what is missing is neither equal nor unequal
        ("accuracy == None", [2, 3]),
        ("none != accuracy", [0, 1]),
        ("0 < seed < 3", [1, 2]),
        ("1 < seed > 2", [3]),
        ("periods.tau == 20", [1, 2]),
        ("tau == 20", [1, 2]),
        ("gamma >= 0.9", [3]),
        ("label in ['HierMo', 'FedAvg']", [0, 2]),
        ("label not in ('HierMo', 'FedAvg')", [1, 3]),
        ("'Hier' in label", [0, 1]),
        ("'Hier' not in label", [2, 3]),
        ("date > '2026-11-01'", [0]),
        ("tau / 2 + 1 == 2 * 3", [0]),
        ("tau - 30 > -20", [1, 2]),
        ("accuracy / seed > 0", [1]),  # a division by 0 is nothing that can be compared
        ("groups == [[0], [1]]", [3]),
        ("flip", [3]),
        ("flip == true", [3]),
        ("True", [0, 1, 2, 3]),
        ("false", []),
        ("  seed==+0  ", [0]),
    ],
)
def test_what_it_is_true_of(text, rows):
    assert true_of(text) == rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("acuracy > 0.9", "at column 1: no run has 'acuracy'; did you mean 'accuracy'?"),
        ("seed > 0 and quux == 1", "at column 14: no run has 'quux'; known are label, accuracy, periods.tau, date"),
        ("gama > 1", "did you mean 'gamma'"),
        ("accuracy = 0.9", "is not understood at column 10: to compare, write =="),
        ("accuracy >", "is not understood at its end"),
        ("", "is not understood"),
        ("accuracy > '0.9'", "at column 1: 0.95 cannot be compared with '0.9'"),
        ("label == 3", "'HierMo' cannot be compared with 3"),
        ("3 in label", "3 cannot be compared with 'HierMo'"),
        ("-label > 3", "are not both numbers"),
        ("label + 'x' == 'HierMox'", "'HierMo' and 'x' are not both numbers"),
        ("tau < [1]", "cannot be compared"),
        ("accuracy is None", "compare with =="),
        ("b'x' == label", "neither a number nor a text"),
        ("seed == 1j", "neither a number nor a text"),
        ("seed\x00", "is not understood"),
        ("-" * 1900 + "1", "nested too deeply"),
        ("(" * 1000 + "1" + ")" * 900, "is not understood"),
        ("1 + " * 600 + "1", "is longer than 2000 characters"),
    ],
)
def test_what_is_refused(text, said):
    with pytest.raises(UserError) as refused:
        Where(text, KNOWN).chosen(ROWS)
    assert str(refused.value).startswith(f"--where {text.strip()[:200]}") and said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "label.upper() == 'X'",
        "(lambda: 1)()",
        "[x for x in label]",
        "label[0] == 'H'",
        "f'{label}' == 'x'",
        "2 ** 99999999",
        "seed if seed else 1",
        "(x := 1)",
        "{'a': 1} == 1",
        "label.__class__ == 1",
        "1 << 99999999",
        "~seed == 1",
        "*seed, 1",
        "await seed",
        "[label, *label] == 1",
    ],
)
def test_nothing_else_is_computed(text):
    with pytest.raises(UserError, match="--where"):
        Where(text, KNOWN).chosen(ROWS)


def test_a_run_of_another_kind_does_not_hide_the_others():
    rows = [{"seed": "three"}, {"seed": 4}]
    assert Where("seed > 3", ["seed"]).chosen(rows) == [False, True]


def test_short_names():
    known = ["seed", "train.batch", "evaluate.batch", "train.seed", "model.name", "periods.tau"]
    assert column("seed", known) == "seed"
    assert column("tau", known) == "periods.tau"
    with pytest.raises(UserError, match=r"'batch' may be train\.batch or evaluate\.batch: write it whole"):
        column("batch", known)


@given(st.text(max_size=60))
def test_any_text_is_understood_or_refused(text):
    try:
        assert len(Where(text, KNOWN).chosen(ROWS)) == len(ROWS)
    except UserError as refused:
        assert str(refused).startswith("--where ")


OPERATORS = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt}
numbers = st.integers(-5, 5)


@given(numbers, numbers, numbers, st.sampled_from(sorted(OPERATORS)), st.sampled_from(["and", "or"]), st.booleans())
def test_it_agrees_with_python(x, y, z, sign, joint, turned):
    text = f"{'not ' if turned else ''}(x + {y} * 2 {sign} {z} {joint} x {sign} {y} {sign} {z})"
    assert Where(text, ["x"]).chosen([{"x": x}]) == [eval(text, {"x": x})]
