"""HierMo in the form of velocities on quadratics with full gradients, its virtual updates, and what can be measured.

A loss is x' Q x / 2 - c' x; with Q = 0 it is linear. Tiers above the edges average.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.linalg import norm

from hiermo.theory.constants import Constants


@dataclass
class Measured:
    """Of a whole run."""

    gaps: list = field(default_factory=list)  # mean over edges of |x_l+ - x_l-|, at each merge of the edges
    jumps: list = field(default_factory=list)  # mean over edges of |x - x_l+|, at each merge above them
    rounds: list = field(default_factory=list)  # |mean of edges' virtual updates - the cloud's|, at each round's end
    totals: list = field(default_factory=list)  # |x - x_{p}|, at each round's end
    losses: list = field(default_factory=list)  # F(x) - F(x*), at each round's end
    rho: float = 0.0
    mu: float = 0.0
    far: float = 0.0  # from the minimum, squared


def simulate(Q, c, edges, periods, n_rounds, *, eta, gamma, gamma_a, shares=None, regions=None):
    """Run it; returns what was measured, Constants, and the mean worker-to-cloud and edge-to-cloud divergences."""
    n, d = c.shape
    tau, pi, length = periods[0], periods[1] if len(periods) > 1 else 1, int(np.prod(periods))
    p = np.full(n, 1 / n) if shares is None else np.asarray(shares)
    q = np.array([p[edge].sum() for edge in edges])
    regions = regions or [list(range(len(edges)))]
    Q_edge = np.array([np.average(Q[edge], axis=0, weights=p[edge]) for edge in edges])
    c_edge = np.array([np.average(c[edge], axis=0, weights=p[edge]) for edge in edges])
    Q_all, c_all = np.tensordot(p, Q, 1), p @ c
    least = np.linalg.solve(Q_all, c_all) if Q_all.any() else None

    def slopes(at):
        return np.einsum("nij,nj->ni", Q, at) - c

    def slope(Q, c, at):
        return Q @ at - c

    def loss(at):
        return at @ Q_all @ at / 2 - c_all @ at

    found = Measured()
    apart, apart_edge, within = np.zeros(n), np.zeros(len(edges)), np.zeros(n)
    x, v = np.zeros((n, d)), np.zeros((n, d))
    y = np.zeros((len(edges), d))  # x_l- of the last merge
    cloud_x = cloud_v = None
    edge_x, edge_v = np.zeros((len(edges), d)), np.zeros((len(edges), d))
    for t in range(n_rounds * length):
        if t % length == 0:
            cloud_x, cloud_v = x[0].copy(), v[0].copy()
        if t % tau == 0:
            edge_x, edge_v = np.array([x[edge[0]] for edge in edges]), np.array([v[edge[0]] for edge in edges])
        g, g_cloud = slopes(x), slope(Q_all, c_all, cloud_x)
        found.rho = max(found.rho, norm(g, axis=1).max(), norm(g_cloud), norm(slope(Q_all, c_all, p @ x)))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = [
                *(gamma * norm(v, axis=1) / (eta * norm(g, axis=1))),
                gamma * norm(cloud_v) / (eta * norm(g_cloud)),
            ]
        found.mu = max(found.mu, *ratios)
        apart = np.maximum(apart, [norm(slope(Q[i], c[i], cloud_x) - g_cloud) for i in range(n)])
        for number, edge in enumerate(edges):
            own = slope(Q_edge[number], c_edge[number], cloud_x)
            apart_edge[number] = max(apart_edge[number], norm(own - g_cloud))
            here = slope(Q_edge[number], c_edge[number], edge_x[number])
            within[edge] = np.maximum(within[edge], [norm(slope(Q[i], c[i], edge_x[number]) - here) for i in edge])
            edge_v[number] = gamma * edge_v[number] - eta * here
            edge_x[number] = edge_x[number] + gamma * edge_v[number] - eta * here
        if least is not None:
            found.far = max(found.far, norm(cloud_x - least) ** 2)
        v = gamma * v - eta * g
        x = x + gamma * v - eta * g
        cloud_v = gamma * cloud_v - eta * g_cloud
        cloud_x = cloud_x + gamma * cloud_v - eta * g_cloud
        if (t + 1) % tau:
            continue
        before = np.array([np.average(x[edge], axis=0, weights=p[edge]) for edge in edges])
        speeds = np.array([np.average(v[edge], axis=0, weights=p[edge]) for edge in edges])
        after = before + gamma_a * (before - y)
        y = before
        found.gaps.append(q @ norm(after - before, axis=1))
        merged, merged_v = after.copy(), speeds.copy()
        if (t + 1) % length == 0:
            merged[:], merged_v[:] = q @ after, q @ speeds
        elif (t + 1) % (tau * pi) == 0:
            for region in regions:
                merged[region] = np.average(after[region], axis=0, weights=q[region])
                merged_v[region] = np.average(speeds[region], axis=0, weights=q[region])
        if (t + 1) % (tau * pi) == 0:
            found.jumps.append(q @ norm(merged - after, axis=1) if len(periods) > 1 else 0.0)
        for number, edge in enumerate(edges):
            x[edge], v[edge] = merged[number], merged_v[number]
        if (t + 1) % length == 0:
            found.rounds.append(norm(q @ edge_x - cloud_x))
            found.totals.append(norm(x[0] - cloud_x))
            found.rho = max(found.rho, norm(slope(Q_all, c_all, x[0])), norm(slope(Q_all, c_all, cloud_x)))
            if least is not None:
                found.losses.append(loss(x[0]) - loss(least))
                found.far = max(found.far, norm(cloud_x - least) ** 2)
    constants = Constants(
        eta=eta, gamma=gamma, gamma_a=gamma_a, rho=float(found.rho), mu=float(found.mu),
        beta=float(max(np.linalg.eigvalsh(each)[-1] for each in Q)),
        omega=float(1 / found.far) if found.far else 1.0, sigma=1.0,
        delta_edges=tuple(float(np.average(within[edge], weights=p[edge])) for edge in edges),
        shares=tuple(map(float, q)),
    )  # fmt: skip
    return found, constants, float(p @ apart), float(q @ apart_edge)


def random_quadratics(seed, n, d, spread=1.0):
    """Losses of n workers that differ in curvature and in where they are least."""
    generator = np.random.default_rng(seed)
    roots = generator.normal(size=(n, d, d)) * 0.6
    return roots @ roots.transpose(0, 2, 1), 3 + spread * generator.normal(size=(n, d))
