"""Torch's number of threads is borrowed, never kept."""

from threading import Barrier, Thread, get_ident

import pytest
import torch

from hiermo.problems.threads import Pool, one_intraop_thread


@pytest.fixture(autouse=True)
def three_threads():
    """More than one, also on a machine with a single core."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def seen_by_a_new_thread():
    found = []
    thread = Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return found[0]


def test_one_inside_and_as_before_outside():
    with one_intraop_thread():
        with one_intraop_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


def test_as_before_after_an_error():
    with pytest.raises(ZeroDivisionError), one_intraop_thread():
        1 / 0  # noqa: B018 - the error is the point
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_every_task_runs_once_on_one_intraop_thread(threads, n):
    ran = []
    Pool(threads).run([lambda k=k: ran.append((k, torch.get_num_threads())) for k in range(n)])
    assert sorted(ran) == [(k, 1) for k in range(n)]
    assert torch.get_num_threads() == 3
    assert seen_by_a_new_thread() == 3


def test_tasks_run_side_by_side():
    meet = Barrier(2)
    Pool(2).run([lambda: meet.wait(60)] * 4)  # breaks where a task has no other beside it


def test_in_order_means_here():
    ran = []
    Pool(4).run_in_order([lambda k=k: ran.append((k, get_ident(), torch.get_num_threads())) for k in range(5)])
    assert ran == [(k, get_ident(), 1) for k in range(5)]
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_task_comes_out(threads):
    pool, ran = Pool(threads), []
    with pytest.raises(ZeroDivisionError):
        pool.run([lambda: 1 / 0, lambda: None, lambda: None])
    pool.run([lambda: ran.append(1), lambda: ran.append(1)])  # and the pool works on
    assert ran == [1, 1]
    assert torch.get_num_threads() == 3
