from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import ROUNDING, difference, fields, quadratic, trees
from hiermo import FedAvg, HierFAVG, HierMo, run

etas = st.floats(0.01, 0.2)
momenta = st.floats(0.0, 0.9)
halves = st.floats(0.0, 0.45)  # the position form is unstable where the two sum to one

of_any_depth = st.one_of(
    st.builds(HierMo, eta=etas, gamma=momenta, gamma_a=momenta),
    st.builds(HierMo, eta=etas, gamma=halves, gamma_a=halves, form=st.just("position")),
    st.builds(HierFAVG, eta=etas),
)


def agree(algorithm, tree, data):
    sizes = data.draw(st.lists(st.integers(1, 1000), min_size=tree.n_workers, max_size=tree.n_workers), "sizes")
    periods = tuple(data.draw(st.lists(st.integers(1, 3), min_size=tree.tiers - 1, max_size=tree.tiers - 1), "periods"))
    problem = quadratic(tree.n_workers, seed=data.draw(st.integers(0, 99), "seed"), sizes=sizes)
    both = [
        run(algorithm, tree, problem, periods=periods, iterations=2 * prod(periods), every="edge", engine=engine)
        for engine in ("stacked", "pernode")
    ]
    for stacked, pernode in zip(*both, strict=True):
        assert (stacked.t, stacked.rounds, stacked.position) == (pernode.t, pernode.rounds, pernode.position)
        size = max(abs(stacked.model).max(), 1)  # momenta are differences of models: their rounding is that of a model
        for name, value in fields(stacked).items():
            assert abs(value - fields(pernode)[name]).max() <= ROUNDING * size, name
    assert difference(stacked.model, problem.x0) > 1e-6  # something moved


@given(of_any_depth, trees(), st.data())
@settings(max_examples=40)
def test_on_any_tree(algorithm, tree, data):
    agree(algorithm, tree, data)


@given(st.builds(FedAvg, eta=etas), trees(tiers=st.just(2)), st.data())
@settings(max_examples=10)
def test_fedavg_on_two_tiers(algorithm, tree, data):
    agree(algorithm, tree, data)
