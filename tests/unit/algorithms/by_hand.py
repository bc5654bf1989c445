"""Every algorithm as plain loops over workers, from its formulas alone: no rule of the package is used here.

Each function takes periods, a number of rounds and the constructor's parameters, and yields the cloud model after every
round (CFL: after every arrival). p_i = D_i / D, q_l = D_l / D and p_i|l = D_i / D_l are P, Q and WITHIN.
"""

from math import sqrt

import numpy as np
import torch

from helpers import quadratic

GROUPS = [[0, 3], [1], [2, 4, 5]]
D = [3, 8, 5, 1, 13, 6]
PROBLEM = quadratic(n=6, sizes=D)
X0, ZERO = PROBLEM.x0, 0 * PROBLEM.x0

N, L = range(6), range(3)
D_EDGE = [sum(D[i] for i in group) for group in GROUPS]
P = [D[i] / sum(D) for i in N]
Q = [D_EDGE[ell] / sum(D) for ell in L]
WITHIN = [{i: D[i] / D_EDGE[ell] for i in GROUPS[ell]} for ell in L]


def grad(i, x):
    return PROBLEM.A[i] @ x - PROBLEM.b[i]


def mean(rows):
    """Over all workers."""
    return sum(P[i] * rows[i] for i in N)


def edge_mean(ell, rows):
    """Over the workers of one edge."""
    return sum(WITHIN[ell][i] * rows[i] for i in GROUPS[ell])


def cloud_mean(rows):
    """Over the edges."""
    return sum(Q[ell] * rows[ell] for ell in L)


def sgd(i, x, tau, eta):
    for _ in range(tau):
        x = x - eta * grad(i, x)
    return x


# ---- three tiers ----


def hieradmo(tau, pi, rounds, *, eta, gamma, form, cap=0.99, agree="worker", fixed=None):
    x, y, v = [X0 for i in N], [X0 for i in N], [ZERO for i in N]
    G, S = [ZERO for i in N], [ZERO for i in N]
    y_plus = [X0 for ell in L]
    for t in range(1, rounds * tau * pi + 1):
        for i in N:
            g = grad(i, x[i])
            if form == "position":
                y_old, y[i] = y[i], x[i] - eta * g
                v[i] = y[i] - y_old
                x[i] = y[i] + gamma * (y[i] - y_old)
            else:
                v[i] = gamma * v[i] - eta * g
                x[i] = x[i] + gamma * v[i] - eta * g
            G[i] = G[i] - g
            S[i] = S[i] + v[i]
        if t % tau:
            continue
        x_plus, y_minus, v_edge = [None for ell in L], [None for ell in L], [None for ell in L]
        for ell in L:
            y_minus[ell], v_edge[ell] = edge_mean(ell, y), edge_mean(ell, v)
            y_hat = edge_mean(ell, x)
            if agree == "worker":
                cos = sum(WITHIN[ell][i] * cosine(G[i], S[i]) for i in GROUPS[ell])
            else:
                cos = cosine(y_hat - y_plus[ell], edge_mean(ell, S))
            gamma_a = (0 if cos <= 0 else cos if cos < cap else cap) if fixed is None else fixed
            x_plus[ell] = y_hat + gamma_a * (y_hat - y_plus[ell])
            y_plus[ell] = y_hat
        if t % (tau * pi) == 0:
            x_plus, y_minus, v_edge = (
                [cloud_mean(x_plus)] * 3,
                [cloud_mean(y_minus)] * 3,
                [cloud_mean(v_edge)] * 3,
            )
            yield x_plus[0]
        for ell in L:
            for i in GROUPS[ell]:
                x[i], y[i], v[i] = x_plus[ell], y_minus[ell], v_edge[ell]
                G[i], S[i] = ZERO, ZERO


def cosine(a, b):
    return float(a @ b) / (sqrt(float(a @ a)) * sqrt(float(b @ b)))


def hiermo(tau, pi, rounds, *, eta, gamma, gamma_a, form):
    return hieradmo(tau, pi, rounds, eta=eta, gamma=gamma, form=form, fixed=gamma_a)


def hierfavg(tau, pi, rounds, *, eta):
    x = X0
    for _ in range(rounds):
        edges = [x for ell in L]
        for _ in range(pi):
            workers = {i: sgd(i, edges[ell], tau, eta) for ell in L for i in GROUPS[ell]}
            edges = [edge_mean(ell, workers) for ell in L]
        x = cloud_mean(edges)
        yield x


def cfl(tau, pi, rounds, *, eta, a=5, b=1.0, alpha=None, schedule="async", orders=None, order="fixed"):
    """`orders` is the order of arrivals of every sweep; by index where it is left out."""
    alpha = 1 - (len(L) - 1) / len(N) if alpha is None else alpha
    x, n = X0, 0
    pulled, stamp = [X0 for ell in L], [0 for ell in L]
    for sweep in range(rounds):
        for ell in L if orders is None else orders[sweep]:
            if schedule == "sequential":
                pulled[ell], stamp[ell] = x, n
            x_edge = pulled[ell]
            for _ in range(pi):
                workers = {i: sgd(i, x_edge, tau, eta) for i in GROUPS[ell]}
                x_edge = edge_mean(ell, workers)
            n = n + 1
            s = n - stamp[ell]
            alpha_s = alpha if s <= a else alpha * s ** (-b)
            x = (1 - alpha_s) * x + alpha_s * x_edge
            pulled[ell], stamp[ell] = x, n
            yield x


FOUR_TIERS = [GROUPS, [[0, 3], [1, 2, 4, 5]], [list(N)]]  # the workers under every node, level by level


def local_sgd(tau, pi, upper, rounds, *, eta):
    x, periods = [X0 for i in N], (tau, tau * pi, tau * pi * upper)
    for t in range(1, rounds * periods[-1] + 1):
        x = [x[i] - eta * grad(i, x[i]) for i in N]
        for period, level in zip(periods, FOUR_TIERS, strict=True):
            if t % period == 0:
                for group in level:
                    average = sum(D[i] * x[i] for i in group) / sum(D[i] for i in group)
                    for i in group:
                        x[i] = average
        if t % periods[-1] == 0:
            yield x[0]


# ---- two tiers ----


def fedavg(tau, rounds, *, eta):
    x = X0
    for _ in range(rounds):
        x = mean([sgd(i, x, tau, eta) for i in N])
        yield x


def fedprox(tau, rounds, *, eta, mu):
    x = X0
    for _ in range(rounds):
        local = [x for i in N]
        for i in N:
            for _ in range(tau):
                local[i] = local[i] - eta * (grad(i, local[i]) + mu * (local[i] - x))
        x = mean(local)
        yield x


def scaffold(tau, rounds, *, eta, eta_g, option):
    x, c, ci = X0, ZERO, [ZERO for i in N]
    for _ in range(rounds):
        local, new = [x for i in N], [None for i in N]
        for i in N:
            for _ in range(tau):
                local[i] = local[i] - eta * (grad(i, local[i]) - ci[i] + c)
            new[i] = grad(i, x) if option == 1 else ci[i] - c + (x - local[i]) / (tau * eta)
        x = x + eta_g * sum(P[i] * (local[i] - x) for i in N)
        c = c + sum(P[i] * (new[i] - ci[i]) for i in N)
        ci = new
        yield x


def fedmom(tau, rounds, *, eta, beta, eta_s):
    x = y = X0
    for _ in range(rounds):
        delta = x - mean([sgd(i, x, tau, eta) for i in N])
        y_old, y = y, x - eta_s * delta
        x = y + beta * (y - y_old)
        yield x


def slowmo(tau, rounds, *, eta, beta, alpha, base, gamma, buffer):
    x, u, b = X0, ZERO, [ZERO for i in N]
    for _ in range(rounds):
        if buffer == "reset":
            b = [ZERO for i in N]
        local = [x for i in N]
        for i in N:
            for _ in range(tau):
                g = grad(i, local[i])
                if base == "sgd":
                    local[i] = local[i] - eta * g
                    continue
                b[i] = gamma * b[i] + g
                local[i] = local[i] - eta * (g + gamma * b[i] if base == "nag" else b[i])
        if buffer == "average":
            b = [mean(b)] * len(N)
        u = beta * u + (x - mean(local)) / eta
        x = x - alpha * eta * u
        yield x


def fedavgm(tau, rounds, *, eta, beta, eta_s, nesterov):
    x, m = X0, ZERO
    for _ in range(rounds):
        delta = x - mean([sgd(i, x, tau, eta) for i in N])
        m = beta * m + delta
        x = x - eta_s * (delta + beta * m) if nesterov else x - eta_s * m
        yield x


def fedopt(kind):
    def rounds_of(tau, rounds, *, eta, eta_s, beta1, beta2, epsilon, s0=None):
        x, m, s = X0, ZERO, ZERO + (epsilon**2 if s0 is None else s0)
        for _ in range(rounds):
            d = mean([sgd(i, x, tau, eta) for i in N]) - x
            m = beta1 * m + (1 - beta1) * d
            if kind == "adam":
                s = beta2 * s + (1 - beta2) * d**2
            elif kind == "yogi":
                s = s - (1 - beta2) * d**2 * np.sign(s - d**2)
            else:
                s = s + d**2
            x = x + eta_s * m / (np.sqrt(s) + epsilon)
            yield x

    return rounds_of


def diloco(tau, rounds, *, eta, outer_lr, outer_momentum, inner, weight_decay):
    """With torch's optimisers inside, one per worker and for good."""
    kind = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[inner]
    x, b = X0, ZERO
    models = [torch.tensor(X0, requires_grad=True) for i in N]
    optimisers = [kind([model], lr=eta, weight_decay=weight_decay) for model in models]
    for _ in range(rounds):
        for i in N:
            models[i].data = torch.tensor(x)
            for _ in range(tau):
                models[i].grad = torch.tensor(grad(i, models[i].detach().numpy()))
                optimisers[i].step()
        delta = x - mean([model.detach().numpy() for model in models])
        b = outer_momentum * b + delta
        x = x - outer_lr * (delta + outer_momentum * b)
        yield x


def fednag(tau, rounds, *, eta, gamma):
    x, v = X0, ZERO
    for _ in range(rounds):
        xs, vs = [x for i in N], [v for i in N]
        for i in N:
            for _ in range(tau):
                g = grad(i, xs[i])
                vs[i] = gamma * vs[i] - eta * g
                xs[i] = xs[i] + gamma * vs[i] - eta * g
        x, v = mean(xs), mean(vs)
        yield x


def fastslowmo(tau, rounds, *, eta, gamma, gamma_a, form):
    x, y, v, y_a = X0, X0, ZERO, X0
    for _ in range(rounds):
        xs, ys, vs = [x for i in N], [y for i in N], [v for i in N]
        for i in N:
            for _ in range(tau):
                g = grad(i, xs[i])
                if form == "position":
                    y_old, ys[i] = ys[i], xs[i] - eta * g
                    xs[i] = ys[i] + gamma * (ys[i] - y_old)
                else:
                    vs[i] = gamma * vs[i] - eta * g
                    xs[i] = xs[i] + gamma * vs[i] - eta * g
        y, v, y_hat = mean(ys), mean(vs), mean(xs)
        x = y_hat + gamma_a * (y_hat - y_a)
        y_a = y_hat
        yield x


def mime(tau, rounds, *, eta, beta, form, eta_s, lite):
    x, m, kappa = X0, ZERO, 1 - beta if form == "ema" else 1
    for _ in range(rounds):
        c = mean([grad(i, x) for i in N])
        local = [x for i in N]
        for i in N:
            for _ in range(tau):
                g = grad(i, local[i])
                if not lite:
                    g = g - grad(i, x) + c
                local[i] = local[i] - eta * (kappa * g + beta * m)
        x = x + eta_s * (mean(local) - x)
        m = kappa * c + beta * m
        yield x


def domo(tau, rounds, *, eta, mu_s, mu_l, alpha, beta, variant):
    x, m = X0, ZERO
    beta = alpha * mu_s if beta is None else beta
    for _ in range(rounds):
        d = [ZERO for i in N]
        for i in N:
            xi = x - eta * beta * tau * m if variant == "pre" else x
            mi = ZERO
            for _ in range(tau):
                mi = mu_l * mi + grad(i, xi)
                xi = xi - eta * mi
                if variant == "intra":
                    xi = xi - eta * beta * m
                d[i] = d[i] + mi
            d[i] = d[i] / tau
        m = mu_s * m + mean(d)
        x = x - alpha * eta * tau * m
        yield x


def fedadc(tau, rounds, *, eta, beta, beta_l, alpha, variant):
    x, m = X0, ZERO
    beta_l = beta if beta_l is None else beta_l
    for _ in range(rounds):
        local = [x for i in N]
        for i in N:
            for _ in range(tau):
                if variant == "hb":
                    local[i] = local[i] - eta * (grad(i, local[i]) + beta_l * m / tau)
                else:
                    local[i] = local[i] - eta * beta_l * m / tau
                    local[i] = local[i] - eta * grad(i, local[i])
        delta = x - mean(local)
        m = delta / eta + (beta - beta_l) * m
        x = x - alpha * eta * m
        yield x
