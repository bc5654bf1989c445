import pytest

from hiermo import UserError
from hiermo.core.until import reached

METRICS = {"loss": 0.2, "accuracy": 0.9, "train_loss": 0.1, "accuracy_spread_worker": 0.05, "loss_worst_edge": 0.4}


@pytest.mark.parametrize(
    ("until", "met"),
    [
        ({"accuracy": 0.9}, True),
        ({"accuracy": 0.91}, False),
        ({"loss": 0.2}, True),
        ({"loss": 0.19}, False),
        ({"train_loss": 0.15}, True),
        ({"train_loss": 0.05}, False),
        ({"accuracy_spread_worker": 0.1}, True),
        ({"accuracy_spread_worker": 0.04}, False),
        ({"loss_worst_edge": 0.5}, True),
        ({"loss_worst_edge": 0.3}, False),
        ({"accuracy": 0.8, "loss": 0.1}, False),
        ({"accuracy": 0.8, "loss": 0.3}, True),
    ],
)
def test_losses_are_to_fall_and_everything_else_is_to_rise(until, met):
    assert reached(until, METRICS) is met


def test_unknown_metric_names_those_there_are():
    with pytest.raises(UserError, match="there is no metric 'acuracy'; this problem has loss, accuracy, train_loss"):
        reached({"loss": 0.0, "acuracy": 0.9}, METRICS)
