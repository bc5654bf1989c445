"""As in a run: on one intra-op thread; and with torch's generator back as it was afterwards."""

import pytest
import torch

from hiermo.problems.threads import one_intraop_thread


@pytest.fixture(autouse=True)
def as_in_a_run():
    with one_intraop_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
