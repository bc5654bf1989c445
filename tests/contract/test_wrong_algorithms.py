"""Every way to break the contract is refused, by the right check and in words."""

import pytest

from contract.wrong_algorithms import WRONG, Average
import hiermo
from hiermo.checking.check import CHECKS, checks


def name(algorithm):
    return (algorithm if isinstance(algorithm, type) else type(algorithm)).__name__


def failed(algorithm):
    return {check: message for check, message in checks(algorithm) if message is not None}


@pytest.mark.parametrize(("algorithm", "names", "words"), WRONG, ids=[name(algorithm) for algorithm, _, _ in WRONG])
def test_it_is_refused_by_the_right_checks(algorithm, names, words):
    found = failed(algorithm)
    assert list(found) == names, found
    assert all(word in found[names[0]] for word in words), found
    assert all("\n" not in message for message in found.values())


def test_the_one_that_they_are_made_from_is_right():
    assert hiermo.check_algorithm(Average) is None


def test_no_check_is_without_an_algorithm_that_breaks_it():
    assert {check.name for check in CHECKS} == {name for _, names, _ in WRONG for name in names}


def test_every_check_says_what_it_is_for():
    assert all(check.of.__doc__ for check in CHECKS)


def test_all_that_is_wrong_is_said_at_once():
    kinds = {name(algorithm): algorithm for algorithm, _, _ in WRONG}
    with pytest.raises(hiermo.UserError) as error:
        hiermo.check_algorithm(kinds["DependsOnTheOrder"])
    lines = str(error.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == ["DependsOnTheOrder"] * 3
    assert [line.split(": ")[1] for line in lines] == ["engines", "siblings", "copies"]


def test_what_needs_a_failed_check_is_left_out():
    kinds = {name(algorithm): algorithm for algorithm, _, _ in WRONG}
    *_, last = checks(kinds["StepRaises"])
    assert last[0] == "hooks"
    assert last[1].endswith(" (the checks after this one need it, and were left out)")


@pytest.mark.parametrize("thing", [3, "HierMo", print, hiermo, dict, object()])
def test_what_is_no_algorithm_at_all(thing):
    with pytest.raises(hiermo.UserError, match=r"is not an algorithm; derive its class from hiermo\.Algorithm"):
        hiermo.check_algorithm(thing)
