"""HierMo is Algorithm 1 of the paper (arXiv 2210.14560), to the last digit: in exact rationals, state by state.

A library state precedes the redistribution to the nodes below (it opens the next round), so the transcriptions take
down workers after their step, edges and cloud after their aggregation, and redistribute then.
"""

from fractions import Fraction as F  # noqa: N817 - it stands at every number

import numpy as np
import pytest

from hiermo import HierMo, Quadratic, Tree, run

GROUPS = [[0, 2], [1], [3, 4, 5]]
EDGE_OF = {i: ell for ell, group in enumerate(GROUPS) for i in group}
D = [3, 5, 2, 1, 4, 2]  # data of each worker
ETA, GAMMA, GAMMA_A = F(1, 10), F(1, 2), F(1, 3)

N, L = range(6), range(3)
D_EDGE = [sum(D[i] for i in group) for group in GROUPS]
D_ALL = sum(D)


def rational(numbers):
    return np.array([F(*number) for number in numbers], dtype=object)


A = [np.array([[F(1 + i, 2), F(1, 3)], [F(1, 3), F(7 - i, 4)]], dtype=object) for i in N]
B = [rational([(i, 3), (2 - i, 5)]) for i in N]
X0 = rational([(1, 2), (-2, 3)])
PROBLEM = Quadratic(A=A, b=B, sizes=D, x0=X0)


def grad(i, x):
    return A[i] @ x - B[i]


def algorithm_1(tau, pi, T):
    """The published listing; y_minus and y_plus, x_plus are the edges' y_l-, y_l+, x_l+."""
    x_worker = [X0 for i in N]  # line 1
    y_worker = [X0 for i in N]
    x_plus = [X0 for ell in L]  # line 2
    y_plus = [X0 for ell in L]
    y_minus = [X0 for ell in L]
    x_cloud = y_cloud = X0
    for t in range(1, T + 1):  # line 3
        for i in N:  # line 4
            y_before = y_worker[i]
            y_worker[i] = x_worker[i] - ETA * grad(i, x_worker[i])  # line 5
            x_worker[i] = y_worker[i] + GAMMA * (y_worker[i] - y_before)  # line 6
        workers = {"x": list(x_worker), "m": list(y_worker)}
        if t % tau == 0:  # line 7
            for ell in L:  # line 8
                share = {i: F(D[i], D_EDGE[ell]) for i in GROUPS[ell]}
                y_minus[ell] = sum(share[i] * y_worker[i] for i in GROUPS[ell])  # line 9
                y_plus_before = y_plus[ell]
                y_plus[ell] = x_plus[ell] - sum(share[i] * (x_plus[ell] - x_worker[i]) for i in GROUPS[ell])  # line 10
                x_plus[ell] = y_plus[ell] + GAMMA_A * (y_plus[ell] - y_plus_before)  # line 11
                for i in GROUPS[ell]:
                    y_worker[i] = y_minus[ell]  # line 12
                    x_worker[i] = x_plus[ell]  # line 13
        edges = {"x": list(x_plus), "m": list(y_minus), "y": list(y_plus)}
        if t % (tau * pi) == 0:  # line 15
            y_cloud = sum(F(D_EDGE[ell], D_ALL) * y_minus[ell] for ell in L)  # line 16
            x_cloud = sum(F(D_EDGE[ell], D_ALL) * x_plus[ell] for ell in L)  # line 17
            y_minus = [y_cloud for ell in L]  # line 18
            x_plus = [x_cloud for ell in L]  # line 19
            y_worker = [y_minus[EDGE_OF[i]] for i in N]  # line 20
            x_worker = [x_plus[EDGE_OF[i]] for i in N]  # line 21
        yield workers, edges, {"x": [x_cloud], "m": [y_cloud]}


def velocities_averaged(tau, pi, T):
    """What the paper's proofs analyse: the workers' velocities v, not their positions y, are averaged."""
    x, v = [X0 for i in N], [0 * X0 for i in N]
    x_plus, v_edge, y_plus = [X0 for ell in L], [0 * X0 for ell in L], [X0 for ell in L]
    x_cloud, v_cloud = X0, 0 * X0
    for t in range(1, T + 1):
        for i in N:
            g = grad(i, x[i])
            v[i] = GAMMA * v[i] - ETA * g
            x[i] = x[i] + GAMMA * v[i] - ETA * g
        workers = {"x": list(x), "m": list(v)}
        if t % tau == 0:
            for ell in L:
                v_edge[ell] = sum(F(D[i], D_EDGE[ell]) * v[i] for i in GROUPS[ell])
                mean = sum(F(D[i], D_EDGE[ell]) * x[i] for i in GROUPS[ell])
                x_plus[ell] = mean + GAMMA_A * (mean - y_plus[ell])
                y_plus[ell] = mean
                for i in GROUPS[ell]:
                    v[i], x[i] = v_edge[ell], x_plus[ell]
        edges = {"x": list(x_plus), "m": list(v_edge), "y": list(y_plus)}
        if t % (tau * pi) == 0:
            v_cloud = sum(F(D_EDGE[ell], D_ALL) * v_edge[ell] for ell in L)
            x_cloud = sum(F(D_EDGE[ell], D_ALL) * x_plus[ell] for ell in L)
            v, x = [v_cloud for i in N], [x_cloud for i in N]
            v_edge, x_plus = [v_cloud for ell in L], [x_cloud for ell in L]
        yield workers, edges, {"x": [x_cloud], "m": [v_cloud]}


@pytest.mark.parametrize(("tau", "pi"), [(1, 1), (1, 3), (3, 1), (2, 2), (3, 2)])
@pytest.mark.parametrize(("form", "transcription"), [("position", algorithm_1), ("velocity", velocities_averaged)])
def test_every_worker_edge_and_cloud_at_every_iteration(form, transcription, tau, pi):
    T = 3 * tau * pi
    algorithm = HierMo(eta=ETA, gamma=GAMMA, gamma_a=GAMMA_A, form=form)
    options = {"periods": (tau, pi), "iterations": T, "every": "iteration", "engine": "pernode"}
    states = run(algorithm, Tree.from_groups(GROUPS), PROBLEM, **options)
    for state, expected in zip(states, transcription(tau, pi, T), strict=True):
        for tier, by_hand in zip(state.tiers, expected, strict=True):
            assert list(tier._fields) == list(by_hand)
            for name, vectors in by_hand.items():
                found = getattr(tier, name)
                assert all(type(number) is F for number in found.flat)
                assert found.tolist() == [vector.tolist() for vector in vectors], (name, state.t)
    assert state.t == T
    assert state.model.tolist() != X0.tolist()


def test_the_two_forms_differ():
    *_, position = algorithm_1(2, 2, 8)
    *_, velocity = velocities_averaged(2, 2, 8)
    assert (position[2]["x"][0] != velocity[2]["x"][0]).all()
