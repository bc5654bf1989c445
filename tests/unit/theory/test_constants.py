"""What the theorems ask of their constants is refused in words where it is not so."""

from dataclasses import replace
from math import inf, nan

from hypothesis import given
from hypothesis import strategies as st
import pytest

from hiermo.core.errors import UserError
from hiermo.theory.constants import Constants

GOOD = Constants(
    eta=0.01, gamma=0.5, gamma_a=0.5, rho=2.0, beta=3.0, mu=0.9, omega=0.1, sigma=0.8,
    delta_edges=(0.2, 0.6), shares=(0.25, 0.75), divergences=(0.3,),
)  # fmt: skip


def test_delta_is_the_average_by_data():
    assert GOOD.delta == pytest.approx(0.25 * 0.2 + 0.75 * 0.6)


@given(st.floats(1e-4, 1), st.floats(0, 0.99), st.floats(0, 5), st.floats(0, 1))
def test_alpha_is_the_printed_one(eta, g, mu, part):
    beta = part / (eta * (g + 1))
    printed = (
        eta * (g + 1) * (1 - beta * eta * (g + 1) / 2)
        - beta * eta**2 * g**2 * mu**2 / 2
        - eta * g * mu * (1 - beta * eta * (g + 1))
    )
    found = replace(GOOD, eta=eta, gamma=g, beta=beta, mu=mu).alpha
    assert found == pytest.approx(printed, rel=1e-9, abs=1e-12 * eta)
    if abs(1 + g - g * mu) > 1e-9:
        assert (found > 0) == (g * mu < 1 + g)  # whatever eta is
    if g > 1e-6 and abs(mu - 1) > 1e-6 and part < 0.999:
        assert (found > eta * (1 - beta * eta / 2)) == (mu < 1)


def test_what_is_right_passes():
    GOOD.check()
    replace(GOOD, gamma_a=0.0, beta=0.0, rho=0.0, mu=0.0, divergences=()).check()
    replace(GOOD, gamma=0.0, gamma_a=0.0, mu=99.0).check_plain()
    replace(GOOD, mu=99.0, eta=1.0).check_momenta()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"gamma": 0.0}, r"gamma must be in \(0, 1\), not 0"),
        ({"gamma": 1.0, "mu": 0.0}, r"gamma must be in \(0, 1\), not 1"),
        ({"gamma_a": 1.0}, r"gamma_a must be in \[0, 1\), not 1"),
        ({"eta": 0.4}, r"beta\*eta\*\(gamma\+1\) must be at most 1, not 1.8 .*take eta at most 0.222"),
        ({"mu": 3.0}, r"alpha must be above 0.*mu 3.: mu must be below \(1\+gamma\)/gamma = 3; a smaller gamma"),
        ({"rho": nan}, "rho must be finite and at least 0, not nan"),
        ({"mu": inf}, "mu must be finite"),
        ({"beta": -1.0}, "beta must be finite and at least 0, not -1"),
        ({"delta_edges": (0.1, -0.1)}, "delta_edges must be finite and at least 0, not -0.1"),
        ({"divergences": (inf,)}, "divergences must be finite"),
        ({"shares": (0.5, 0.6)}, "shares must sum to 1, not to 1.1"),
        ({"shares": (1.0,)}, "an entry for each edge, not 1 and 2"),
        ({"shares": (), "delta_edges": ()}, "an entry for each edge, not 0 and 0"),
        ({"eta": 0.0}, "eta must be above 0"),
        ({"omega": 0.0}, "omega must be above 0"),
        ({"sigma": 0.0}, "sigma must be above 0"),
    ],
)
def test_what_is_wrong_is_said(changed, sentence):
    with pytest.raises(UserError, match=sentence):
        replace(GOOD, **changed).check()


def test_every_violated_condition_has_its_sentence():
    with pytest.raises(UserError) as said:
        replace(GOOD, gamma_a=1.5, eta=0.4, mu=7.0).check()
    assert [sentence.split()[0] for sentence in str(said.value).split("; ")[:3]] == [
        "gamma_a", "beta*eta*(gamma+1)", "alpha",
    ]  # fmt: skip


def test_momenta_do_not_matter_without_them():
    with pytest.raises(UserError, match="at most 1"):
        replace(GOOD, gamma=7.0, eta=0.4).check_plain()
    with pytest.raises(UserError, match="gamma_a"):
        replace(GOOD, gamma_a=7.0).check_momenta()
