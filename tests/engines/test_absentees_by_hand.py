"""Runs with given absentees are plain loops with re-weighted means: no rule of the package is used here."""

from fractions import Fraction as F  # noqa: N817 - it stands at every number

import numpy as np
import pytest

from helpers import ENGINES, ROUNDING, difference, models, quadratic
from hiermo import CFL, SCAFFOLD, Absence, Clock, Delays, FedAvg, FedMom, HierFAVG, HierMo, Mime, Quadratic, Tree, run

GROUPS = [[0, 3], [1], [2, 4, 5]]
TREE = Tree.from_groups(GROUPS)
D = [3, 8, 5, 1, 13, 6]
PROBLEM = quadratic(6, sizes=D)
X0, ZERO = PROBLEM.x0, 0 * PROBLEM.x0
TAU, PI, ROUNDS = 3, 2, 8
NO_TIME = Delays.of_table({})

# who is there in each edge round, and which edges in each cloud round
RNG = np.random.default_rng(7)
WORKERS = [np.flatnonzero(RNG.random(6) < 0.6).tolist() for _ in range(ROUNDS * PI)]
EDGES = [np.flatnonzero(RNG.random(3) < 0.7).tolist() for _ in range(ROUNDS)]
WORKERS[5], EDGES[4] = [], []  # and once nobody at all


def test_the_table_has_every_case():
    assert {0, 1, 2, 3} == {len(edges) for edges in EDGES}
    teams = [[i for i in group if i in there] for there in WORKERS for group in GROUPS]
    assert [] in teams and [2, 4, 5] in teams and any(len(team) == 2 for team in teams)


def grad(i, x):
    return PROBLEM.A[i] @ x - PROBLEM.b[i]


def mean(rows):
    """{node: (data, row)} -> the mean, by the data of those who are there."""
    total = sum(data for data, _ in rows.values())
    return sum(data / total * row for data, row in rows.values())


def missing(rounds, tau, everyone, name, *, at_the_end):
    """`away` for those who are not in a round: from its start, or on its last iteration, when they were sent to."""
    return tuple(
        {"nodes": f"{name} {node}", "iterations": [t, t + 0.5]}
        for r, there in enumerate(rounds)
        for node in range(everyone)
        if node not in there
        for t in [(r + 1) * tau if at_the_end else r * tau + 1]
    )


# workers are sent to and do not answer, so that an edge can be there without any of them
AWAY = (
    *missing(WORKERS, TAU, 6, "worker", at_the_end=True),
    *missing(EDGES, TAU * PI, 3, "edge", at_the_end=False),
)


def hiermo_by_hand(*, eta, gamma, gamma_a, form):
    """A model for each cloud round that there was."""
    start = ZERO if form == "velocity" else X0
    x, m = X0, start
    edge_x, edge_m, edge_y = (dict.fromkeys(range(3), value) for value in (X0, start, X0))
    for p, edges in enumerate(EDGES):
        for ell in edges:
            edge_x[ell], edge_m[ell] = x, m  # and not y
        for k in range(PI):
            for ell in edges:
                team = [i for i in GROUPS[ell] if i in WORKERS[p * PI + k]]
                if not team:
                    continue  # it keeps what it has
                done = {}
                for i in team:
                    xi, mi = edge_x[ell], edge_m[ell]
                    for _ in range(TAU):
                        d = eta * grad(i, xi)
                        if form == "velocity":
                            mi = gamma * mi - d
                            xi = xi + gamma * mi - d
                        else:
                            y_old, mi = mi, xi - d
                            xi = mi + gamma * (mi - y_old)
                    done[i] = xi, mi
                y = mean({i: (D[i], xi) for i, (xi, _) in done.items()})
                edge_m[ell] = mean({i: (D[i], mi) for i, (_, mi) in done.items()})
                edge_x[ell], edge_y[ell] = y + gamma_a * (y - edge_y[ell]), y
        if edges:
            whole = {ell: sum(D[i] for i in GROUPS[ell]) for ell in edges}  # an edge stands for all its data
            x = mean({ell: (whole[ell], edge_x[ell]) for ell in edges})
            m = mean({ell: (whole[ell], edge_m[ell]) for ell in edges})
            yield x


def three_tiers(algorithm, engine, problem=PROBLEM):
    options = {"periods": (TAU, PI), "iterations": TAU * PI * ROUNDS, "engine": engine}
    return run(algorithm, TREE, problem, clock=Clock(NO_TIME, Absence(away=AWAY)), **options)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["velocity", "position"])
def test_hiermo(form, engine):
    parameters = {"eta": 0.07, "gamma": 0.4, "gamma_a": 0.3, "form": form}
    expected = list(hiermo_by_hand(**parameters))
    assert difference(models(three_tiers(HierMo(**parameters), engine)), expected) < ROUNDING


@pytest.mark.parametrize("engine", ENGINES)
def test_hierfavg(engine):
    expected = list(hiermo_by_hand(eta=0.07, gamma=0, gamma_a=0, form="velocity"))
    assert difference(models(three_tiers(HierFAVG(eta=0.07), engine)), expected) < ROUNDING


# ---- two tiers ----


def two_tiers(algorithm, engine, *, at_the_end=True, problem=PROBLEM, **options):
    away = missing(WORKERS, TAU, 6, "worker", at_the_end=at_the_end)
    options = {"periods": (TAU,), "iterations": TAU * len(WORKERS), "engine": engine} | options
    return list(run(algorithm, TREE.flatten(), problem, clock=Clock(NO_TIME, Absence(away=away)), **options))


def shares(there):
    total = sum(D[i] for i in there)
    return {i: D[i] / total for i in there}


def local(i, x, step):
    for _ in range(TAU):
        x = step(i, x)
    return x


def fedmom_by_hand(eta, beta):
    x = y = X0
    for there in filter(None, WORKERS):
        q = shares(there)
        y_old, y = y, sum(q[i] * local(i, x, lambda i, x: x - eta * grad(i, x)) for i in there)
        x = y + beta * (y - y_old)
        yield x


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("at_the_end", [True, False])
@pytest.mark.parametrize(("algorithm", "beta"), [(FedAvg(eta=0.07), 0.0), (FedMom(eta=0.07, beta=0.6), 0.6)])
def test_fedavg_and_momentum_at_the_cloud(algorithm, beta, at_the_end, engine):
    """Whether an absentee was not asked, or did not answer: it is not in the mean."""
    found = models(two_tiers(algorithm, engine, at_the_end=at_the_end))
    assert difference(found, list(fedmom_by_hand(0.07, beta))) < ROUNDING


def scaffold_by_hand(*, eta, eta_g, option):
    x, c, ci = X0, ZERO, [ZERO] * 6
    for there in filter(None, WORKERS):
        q, new, end = shares(there), list(ci), {}
        for i in there:
            end[i] = local(i, x, lambda i, x: x - eta * (grad(i, x) - ci[i] + c))  # noqa: B023 - called at once
            new[i] = grad(i, x) if option == 1 else ci[i] - c + (x - end[i]) / (TAU * eta)
        x = x + eta_g * sum(q[i] * (end[i] - x) for i in there)
        # c + share * mean(dc): each change by its share of all the data
        c = c + sum(D[i] / sum(D) * (new[i] - ci[i]) for i in there)
        ci = new
        yield x, c, np.array(ci)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("option", [1, 2])
@pytest.mark.parametrize("eta_g", [1.0, 0.8])
def test_scaffold(eta_g, option, engine):
    parameters = {"eta": 0.07, "eta_g": eta_g, "option": option}
    found = two_tiers(SCAFFOLD(**parameters), engine)
    for state, (x, c, ci) in zip(found, scaffold_by_hand(**parameters), strict=True):
        assert difference(state.model, x) < ROUNDING
        assert difference(state.tiers[1].c[0], c) < ROUNDING
        assert difference(state.tiers[0].ci, ci) < ROUNDING


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("absence", [Absence(participation=0.3), Absence(drop_out=0.8)])
def test_the_control_of_scaffold_stays_the_mean_of_all_controls(absence, engine):
    """Or the corrections of the workers would not cancel."""
    options = {"periods": (TAU,), "iterations": 40 * TAU, "engine": engine}
    moved = 0.0
    for state in run(SCAFFOLD(eta=0.07), TREE.flatten(), PROBLEM, clock=Clock(NO_TIME, absence), **options):
        mean_of_all = np.array(D) / sum(D) @ state.tiers[0].ci
        size = np.abs(state.tiers[0].ci).max()
        assert np.abs(state.tiers[1].c[0] - mean_of_all).max() < ROUNDING * size
        moved = max(moved, size)
    assert moved > 0.1


def mime_by_hand(*, eta, beta, lite):
    x, m = X0, ZERO
    for there in filter(None, WORKERS):
        q, start = shares(there), x
        c = sum(q[i] * grad(i, x) for i in there)

        def step(i, x, start=start, c=c, m=m):
            g = grad(i, x) if lite else grad(i, x) - grad(i, start) + c
            return x - eta * (g + beta * m)

        x = sum(q[i] * local(i, x, step) for i in there)
        m = c + beta * m
        yield x


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("lite", [True, False])
def test_the_survey_of_mime_is_over_those_present(lite, engine):
    """Those who are not asked; who leaves in the middle of a round has answered before."""
    parameters = {"eta": 0.07, "beta": 0.5, "lite": lite}
    found = models(two_tiers(Mime(**parameters), engine, at_the_end=False))
    assert difference(found, list(mime_by_hand(**parameters))) < ROUNDING


# ---- exactly ----


def exactly(problem):
    """The same losses in rational numbers, which these floats are."""

    def rational(array):
        return np.array([F(float(number)) for number in array.reshape(-1)], dtype=object).reshape(array.shape)

    return Quadratic(A=rational(problem.A), b=rational(problem.b), sizes=problem.sizes, x0=rational(problem.x0))


# a few binary digits each, or the fractions would grow to thousands
COARSE = Quadratic(
    A=np.round(PROBLEM.A * 16) / 16, b=np.round(PROBLEM.b * 16) / 16, sizes=D, x0=np.round(PROBLEM.x0 * 16) / 16
)


def test_scaffold_in_exact_numbers():
    rational = SCAFFOLD(eta=F(1, 16), eta_g=F(1))
    exact = two_tiers(rational, "pernode", problem=exactly(COARSE), iterations=TAU * 6)
    found = two_tiers(SCAFFOLD(eta=1 / 16), "stacked", problem=COARSE, iterations=TAU * 6)
    assert len(exact) == len(found) > 3
    for one, other in zip(exact, found, strict=True):
        assert all(type(number) is F for number in (*one.model, *one.tiers[1].c[0]))
        assert difference(other.model, one.model) < ROUNDING
        # the mean of all controls, and no rounding to hide behind
        assert all(one.tiers[1].c[0] == sum(F(D[i], sum(D)) * one.tiers[0].ci[i] for i in range(6)))


@pytest.mark.parametrize("form", ["velocity", "position"])
def test_hiermo_in_exact_numbers(form):
    rational = HierMo(eta=F(1, 16), gamma=F(1, 2), gamma_a=F(1, 4), form=form)
    exact = list(three_tiers(rational, "pernode", exactly(COARSE)))
    found = list(three_tiers(HierMo(eta=1 / 16, gamma=0.5, gamma_a=0.25, form=form), "stacked", COARSE))
    assert len(exact) == len(found) == sum(map(bool, EDGES))
    for one, other in zip(exact, found, strict=True):
        assert all(type(number) is F for number in one.model)
        assert difference(other.model, one.model) < ROUNDING


# ---- an asynchronous algorithm ----


def visits(cycle, absent, until):
    """(second, arrives, edge) of all pulls and arrivals; an edge pulls when it is there."""
    found = []
    for ell, seconds in enumerate(cycle):
        moment = 0.0
        while moment < until:
            if gone := [end for begin, end in absent[ell] if begin <= moment < end]:
                moment = max(gone)
                continue
            found.append((moment, False, ell))
            lost = [begin for begin, end in absent[ell] if moment < begin <= moment + seconds]
            moment = min(lost) if lost else moment + seconds
            if not lost:
                found.append((moment, True, ell))
    return sorted(found, key=lambda visit: (visit[0], not visit[1]))


def cfl_by_hand(cycle, absent, until, *, eta, a):
    alpha, x, n = 1 - 2 / 6, X0, 0
    pulled, stamp = {}, {}
    for moment, arrives, ell in visits(cycle, absent, until):
        if not arrives:
            pulled[ell], stamp[ell] = x, n
            continue
        x_edge, total = pulled[ell], sum(D[i] for i in GROUPS[ell])
        for _ in range(PI):
            ends = {i: local(i, x_edge, lambda i, x: x - eta * grad(i, x)) for i in GROUPS[ell]}
            x_edge = sum(D[i] / total * ends[i] for i in GROUPS[ell])
        n += 1
        s = n - stamp[ell]
        weight = alpha if s <= a else alpha / s
        x = (1 - weight) * x + weight * x_edge
        yield moment, ell, x


PACE = (1.0, 1.13, 0.71)  # seconds of an iteration under each edge
ABSENT = ([], [(10.0, 31.5)], [(0.0, 5.3), (40.2, 44.4)])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("a", [5, 2])
def test_edges_of_cfl_that_are_away_pull_when_they_are_back(a, engine):
    devices = [{"nodes": [f"worker {i}"], "compute": PACE[TREE.parents[0][i]]} for i in range(6)]
    away = tuple({"nodes": f"edge {ell}", "seconds": list(span)} for ell in range(3) for span in ABSENT[ell])
    clock = Clock(Delays.of_table({"device": devices}), Absence(away=away))
    options = {"periods": (TAU, PI), "iterations": 72, "engine": engine, "clock": clock}
    states = list(run(CFL(eta=0.07, a=a), TREE, PROBLEM, **options))
    expected = list(cfl_by_hand([TAU * PI * pace for pace in PACE], ABSENT, 140.0, eta=0.07, a=a))[: len(states)]
    assert [state.event.children[0] for state in states] == [ell for _, ell, _ in expected]
    assert difference([state.elapsed.seconds for state in states], [moment for moment, *_ in expected]) < ROUNDING
    assert difference(models(states), [x for *_, x in expected]) < ROUNDING
    # it ends when the workers have made 72 iterations each, on average; cycles that were lost have none
    assert states[-1].elapsed.steps >= 72 * 6 > states[-2].elapsed.steps


def test_an_edge_that_was_away_counts_as_stale_as_it_is():
    """So a = 2 is another run than a = 5, here and by hand."""
    two, five = (list(cfl_by_hand([TAU * PI * pace for pace in PACE], ABSENT, 100.0, eta=0.07, a=a)) for a in (2, 5))
    assert difference(two[-1][2], five[-1][2]) > 1e-3
