"""Any torch module by import path: what is filled in, what is refused, and how it is trained."""

import subprocess
import sys

import pytest
import torch
from torch import nn

import hiermo
from hiermo.models.imported import Imported

CODE = '''
from torch import nn

class Net(nn.Module):
    """One layer.

    And more words.
    """

    def __init__(self, shape, classes, *, width=4, depth):
        super().__init__()
        self.seen = shape, classes, width, depth
        self.layer = nn.Linear(shape[0], classes)

    def forward(self, x):
        return self.layer(x)

def regression(classes):
    return nn.Linear(3, classes)

regression.loss = "mse"

def any_words(**words):
    return nn.Linear(len(words), 2)

def number(classes):
    return classes

def broken(classes):
    raise RuntimeError("no luck")

def odd():
    return nn.Linear(1, 1)

odd.loss = "mae"
made = nn.Linear(1, 1)
text = "not a module"
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The file above as the module `own_nets`, importable."""
    (tmp_path / "own_nets.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    import own_nets

    yield own_nets
    del sys.modules["own_nets"]


def test_shape_and_classes_come_from_the_data(own):
    module = Imported(own.Net, {"depth": 7}).build((3, 2), 5)
    assert module.seen == ((3, 2), 5, 4, 7)


def test_what_is_given_goes_before(own):
    module = Imported(own.Net, {"depth": 7, "classes": 2, "width": 9}).build((3, 2), 5)
    assert module.seen == ((3, 2), 2, 9, 7)
    assert Imported(own.Net, {"depth": 7}).values() == {"depth": 7}


def test_what_it_does_not_ask_for_is_not_given(own):
    assert Imported(own.any_words, {"a": 1, "b": 2}).build((3,), 5).in_features == 2
    assert Imported(nn.Linear, {"in_features": 3, "out_features": 5}).build((3,), 5).out_features == 5


@pytest.mark.parametrize(("name", "loss"), [("Net", "cross_entropy"), ("regression", "mse")])
def test_the_loss(own, name, loss):
    assert Imported(getattr(own, name), {}).loss == loss


def test_a_method_called_loss_is_not_its_name():
    class Own(nn.Module):
        def loss(self, outputs): ...

    assert Imported(Own, {}).loss == "cross_entropy"


def test_it_describes_itself(own):
    assert Imported(own.Net, {}).summary == "One layer."
    assert Imported(own.regression, {}).summary == "regression of module own_nets"


@pytest.mark.parametrize(
    ("name", "arguments", "found"),
    [
        ("Net", {"depth": 1}, []),
        ("Net", {"depth": 1, "shape": (3,), "classes": 2, "width": 1}, []),
        ("Net", {}, [("depth", "is missing: Net needs it")]),
        ("Net", {"dept": 1, "depth": 1}, [("dept", "is not an argument of Net; did you mean 'depth'?")]),
        (
            "Net",
            {"q": 1},
            [
                ("q", "is not an argument of Net; known are classes, depth, shape, width"),
                ("depth", "is missing: Net needs it"),
            ],
        ),
        ("any_words", {"anything": 1}, []),
        ("odd", {}, [("", "odd asks for loss = 'mae'; known are cross_entropy, mse")]),
        ("text", {}, [("", "'not a module' is neither a class of torch.nn.Module nor a function that makes one")]),
    ],
)
def test_faults(own, name, arguments, found):
    assert Imported(getattr(own, name), arguments).faults(arguments) == found


def test_an_object_is_not_a_way_to_make_one(own):
    """Each seed has a start of its own; and to call a module is to compute with it."""
    ((key, what),) = Imported(own.made, {}).faults({})
    assert key == ""
    assert what.endswith("is neither a class of torch.nn.Module nor a function that makes one")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("number", r"model: number\(classes=5\) is a int, not a torch.nn.Module"),
        ("broken", r"model: broken\(classes=5\) raised RuntimeError: no luck"),
    ],
)
def test_what_cannot_be_made(own, name, words):
    with pytest.raises(hiermo.UserError, match=words):
        Imported(getattr(own, name), {}).build((3,), 5)


def test_our_own_errors_pass_through():
    def small(classes):
        raise hiermo.UserError("use more classes")

    with pytest.raises(hiermo.UserError, match=r"^use more classes$"):
        Imported(small, {}).build((3,), 5)


def test_equal_where_target_and_arguments_are(own):
    assert Imported(own.Net, {"depth": 1}) == Imported(own.Net, {"depth": 1}) != Imported(own.Net, {"depth": 2})


def test_by_name(own):
    assert hiermo.make_model("own_nets:Net", shape=(3,), classes=2, depth=1)().seen == ((3,), 2, 4, 1)
    with pytest.raises(hiermo.UserError, match="model own_nets:Net: dept is not an argument of Net"):
        hiermo.make_model("own_nets:Net", shape=(3,), classes=2, dept=1)
    with pytest.raises(hiermo.UserError, match="model own_nets:text: 'not a module' is neither"):
        hiermo.make_model("own_nets:text", shape=(3,), classes=2)


def test_nothing_is_made_on_the_meta_device(own):
    with torch.device("meta"):
        assert Imported(own.Net, {"depth": 1}).build((3,), 2).layer.weight.is_meta


def test_it_is_looked_at_without_torch():
    code = (
        "import sys; from hiermo.models.imported import Imported\n"
        "assert Imported(dict, {}).faults({}) == []\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
