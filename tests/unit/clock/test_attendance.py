"""Which events come out of a plan, and when, for those who are there: small trees, by hand."""

from math import inf, prod

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from helpers import trees
from hiermo import CFL, Absence, Clock, Delays, HierFAVG, HierMo, Mime, Tree
from hiermo.core.plan import Merge, Setting, Spread, Step, Survey, reached
from hiermo.core.problem import ModelSize

TREE = Tree.from_groups([[0, 1], [2, 3]])
THREE = Tree.branching(3)
SECOND = {"theta_w": 1.0}  # an iteration; all else takes no time


def paced(*seconds, **more):
    """Delays with which an iteration of each worker takes so long."""
    return {"device": [{"nodes": [f"worker {i}"], "compute": each} for i, each in enumerate(seconds)], **more}


def followed(absence, tree=TREE, periods=(2, 2), iterations=8, delays=SECOND, algorithm=None, seed=0):
    """The events as they happen, each with what has elapsed after it."""
    setting = Setting(tree, periods, iterations, seed)
    bound = (algorithm or HierFAVG()).bind(setting)
    clock = Clock(Delays.of_table(delays), absence).of_run(bound, setting, ModelSize(parameters=1, item_bytes=1))
    events = clock.follow(bound.plan(setting._replace(clock=clock)))
    return [(event, events.at(position)) for position, event in enumerate(events, start=1)]


def events_of(absence, **options):
    return [event for event, _ in followed(absence, **options)]


def happened(absence, **options):
    """The same in words: `1-2 step: all`, `2 merge 1: 0 2 3 @2` for the workers 0, 2, 3 into tier 1 after 2 seconds."""
    lines = []
    for event, elapsed in followed(absence, **options):
        nodes = event.children if isinstance(event, Merge) else event.workers
        who = "all" if nodes is None else " ".join(map(str, nodes))
        if isinstance(event, Step):
            before = lines[-1].partition(" ")
            if before[2] == f"step: {who}":
                lines[-1] = f"{before[0].partition('-')[0]}-{event.t} step: {who}"
                continue
        name = type(event).__name__.lower() + (f" {event.tier}" if isinstance(event, (Spread, Merge)) else "")
        lines.append(f"{event.t} {name}: {who}" + (f" @{elapsed.seconds:g}" if isinstance(event, Merge) else ""))
    return lines


def away(nodes, **spell):
    return Absence(away=({"nodes": nodes, **spell},))


def both(*absences):
    return Absence(away=tuple(table for absence in absences for table in absence.away))


EDGE_ROUND = ["1 spread 2: all", "1-2 step: all", "2 merge 1: all @2"]
CLOUD_ROUND = [*EDGE_ROUND, "3 spread 1: all", "3-4 step: all", "4 merge 1: all @4", "4 merge 2: all @4"]
SECOND_ROUND = ["5 spread 2: all", "5-6 step: all", "6 merge 1: all @6", "7 spread 1: all", "7-8 step: all"]
SECOND_ROUND += ["8 merge 1: all @8", "8 merge 2: all @8"]

# ---- nobody is missing ----

HITS_NOBODY = [
    Absence(drop_out=1e-300),
    Absence(edge_drop_out=1e-300),
    Absence(participation=0.9),  # of two workers, the nearest whole number is two
    Absence(deadline_s=4.0, cloud_deadline_s=8.0),
    away("worker", iterations=[0, 1]),
    away("edge", iterations=[9, 10]),
    away("worker", seconds=[9, inf]),
]


@pytest.mark.parametrize("absence", HITS_NOBODY, ids=repr)
def test_an_absence_that_hits_nobody_leaves_the_plan_as_it_is(absence):
    assert followed(absence) == followed(Absence())
    assert happened(absence) == CLOUD_ROUND + SECOND_ROUND


@pytest.mark.parametrize("absence", [HITS_NOBODY[k] for k in (0, 2, 3, 6)], ids=repr)
@pytest.mark.parametrize("schedule", ["async", "sequential"])
def test_nor_does_it_touch_the_plan_of_an_asynchronous_algorithm(schedule, absence):
    if absence.cloud_deadline_s:
        absence = Absence(deadline_s=4.0)
    options = {"algorithm": CFL(schedule=schedule), "iterations": 4}
    assert followed(absence, **options) == followed(Absence(), **options)


# ---- away for some iterations: from the first until before the second ----


@pytest.mark.parametrize(
    ("spell", "first", "second"),
    [
        # not there when the round begins: not sent to
        ([3, 5], "3 spread 1: 0 2 3", "5 spread 2: all"),
        ([3, 4], "3 spread 1: 0 2 3", "5 spread 2: all"),
        # there when it begins: sent to, and missing at its end
        ([4, 5], "3 spread 1: all", "5 spread 2: all"),
        ([4, 6], "3 spread 1: all", "5 spread 2: 0 2 3"),
    ],
)
def test_a_worker_misses_the_rounds_in_which_it_is_away(spell, first, second):
    found = happened(away("worker 1", iterations=spell))
    missed = [first, "3-4 step: 0 2 3", "4 merge 1: 0 2 3 @4", "4 merge 2: all @4", second]
    assert found[:8] == EDGE_ROUND + missed
    if second == SECOND_ROUND[0]:
        assert found[7:] == SECOND_ROUND


def test_an_edge_without_workers_in_a_round_still_climbs():
    found = happened(away(["worker 2", "worker 3"], iterations=[3, 5]))
    missed = ["3 spread 1: 0 1", "3-4 step: 0 1", "4 merge 1: 0 1 @4", "4 merge 2: all @4"]
    assert found == EDGE_ROUND + missed + SECOND_ROUND


def test_edges_without_any_worker_at_all_climb_with_what_they_have():
    found = happened(away("worker", iterations=[3, 5]))
    # nobody computes from the second 2 on, and the second round takes 4 seconds as ever
    later = [line.replace("@6", "@4").replace("@8", "@6") for line in SECOND_ROUND]
    assert found == [*EDGE_ROUND, "4 merge 2: all @2", *later]


def test_an_edge_without_workers_when_the_cloud_sends_is_not_sent_to():
    """There would be nobody to hand it on to; it is in no merge of that cloud round."""
    found = happened(away(["worker 2", "worker 3"], iterations=[5, 6]))
    one = ["5 spread 2: 0 1", "5-6 step: 0 1", "6 merge 1: 0 1 @6", "7 spread 1: 0 1", "7-8 step: 0 1"]
    assert found == [*CLOUD_ROUND, *one, "8 merge 1: 0 1 @8", "8 merge 2: 0 @8"]


def test_a_cloud_round_without_anyone_is_skipped():
    assert happened(away("worker", iterations=[1, 2]))[0] == "5 spread 2: all"
    assert happened(away("edge", iterations=[1, 5]))[0] == "5 spread 2: all"
    assert happened(away("edge", iterations=[1, 9])) == []


@pytest.mark.parametrize("spell", [[3, 4], [4, 5], [3, 5]])
def test_an_edge_that_goes_away_is_out_for_the_rest_of_the_cloud_round_with_its_workers(spell):
    found = happened(away("edge 0", iterations=spell))
    sent = "3 spread 1: all" if spell[0] == 4 else "3 spread 1: 2 3"
    missed = [sent, "3-4 step: 2 3", "4 merge 1: 2 3 @4", "4 merge 2: 1 @4"]
    assert found == EDGE_ROUND + missed + SECOND_ROUND


def test_an_edge_that_is_back_before_the_end_of_the_cloud_round_has_missed_it():
    found = happened(away("edge 0", iterations=[3, 4]), periods=(2, 3), iterations=12)
    assert found[3:8] == ["3 spread 1: 2 3", "3-4 step: 2 3", "4 merge 1: 2 3 @4", "5 spread 1: 2 3", "5-6 step: 2 3"]
    assert found[8:11] == ["6 merge 1: 2 3 @6", "6 merge 2: 1 @6", "7 spread 2: all"]


def test_an_edge_that_is_away_when_the_cloud_sends_is_not_sent_to():
    found = happened(away("edge 1", iterations=[4, 6]))
    first = ["3 spread 1: all", "3-4 step: 0 1", "4 merge 1: 0 1 @4", "4 merge 2: 0 @4"]
    second = ["5 spread 2: 0 1", "5-6 step: 0 1", "6 merge 1: 0 1 @6", "7 spread 1: 0 1", "7-8 step: 0 1"]
    assert found == [*EDGE_ROUND, *first, *second, "8 merge 1: 0 1 @8", "8 merge 2: 0 @8"]


def test_with_a_node_all_below_it_are_away():
    tree = Tree.branching(2, 2, 1)  # workers and edges 0, 1 under node 0, and 2, 3 under node 1
    found = happened(away("node 0 of tier 2", iterations=[2, 3]), tree=tree, periods=(1, 2, 2))
    assert found == [
        *("1 spread 3: all", "1 step: all", "1 merge 1: all @1"),
        *("2 spread 1: 2 3", "2 step: 2 3", "2 merge 1: 2 3 @2", "2 merge 2: 2 3 @2"),
        *("3 spread 2: 2 3", "3 step: 2 3", "3 merge 1: 2 3 @3"),
        *("4 spread 1: 2 3", "4 step: 2 3", "4 merge 1: 2 3 @4", "4 merge 2: 2 3 @4", "4 merge 3: 1 @4"),
        *("5 spread 3: all", "5 step: all", "5 merge 1: all @5"),
        *("6 spread 1: all", "6 step: all", "6 merge 1: all @6", "6 merge 2: all @6"),
        *("7 spread 2: all", "7 step: all", "7 merge 1: all @7"),
        *("8 spread 1: all", "8 step: all", "8 merge 1: all @8", "8 merge 2: all @8", "8 merge 3: all @8"),
    ]


# ---- away for some seconds ----


def test_a_worker_that_is_away_for_some_seconds():
    found = happened(away("worker 0", seconds=[1, 3]), tree=THREE, periods=(2,), iterations=6)
    assert found == [
        *("1 spread 1: all", "1-2 step: 1 2", "2 merge 1: 1 2 @2"),  # it leaves in the first round
        *("3 spread 1: 1 2", "3-4 step: 1 2", "4 merge 1: 1 2 @4"),  # is still away when the second begins
        *("5 spread 1: all", "5-6 step: all", "6 merge 1: all @6"),
    ]


def test_the_first_second_counts_and_the_last_does_not():
    options = {"tree": THREE, "periods": (2,), "iterations": 4}
    assert happened(away("worker 0", seconds=[2, 2.5]), **options)[2] == "2 merge 1: 1 2 @2"  # it would arrive at 2
    assert happened(away("worker 0", seconds=[2.5, 3]), **options)[2] == "2 merge 1: all @2"
    assert happened(away("worker 0", seconds=[0, 2]), **options)[3] == "3 spread 1: all"
    assert happened(away("worker 0", seconds=[0, 2.5]), **options)[3] == "3 spread 1: 1 2"


def test_where_nobody_is_there_whoever_is_back_first_is_waited_for():
    absence = both(away("worker 0", seconds=[0, 7]), away("worker 1", seconds=[0, 5]), away("worker 2", seconds=[0, 9]))
    assert happened(absence, tree=THREE, periods=(2,), iterations=6) == [
        *("1 spread 1: 1", "1-2 step: 1", "2 merge 1: 1 @7"),  # from 5 to 7
        *("3 spread 1: 0 1", "3-4 step: 0 1", "4 merge 1: 0 1 @9"),
        *("5 spread 1: all", "5-6 step: all", "6 merge 1: all @11"),
    ]


def test_a_round_in_which_all_go_away_is_lost_and_time_goes_on():
    found = happened(away("worker", seconds=[1, 5]), tree=THREE, periods=(2,), iterations=6)
    assert found == [
        "1 spread 1: all",
        *("3 spread 1: all", "3-4 step: all", "4 merge 1: all @7"),
        *("5 spread 1: all", "5-6 step: all", "6 merge 1: all @9"),
    ]


def test_whoever_is_back_is_of_no_use_while_its_edge_is_away():
    absence = both(away("edge 0", seconds=[0, 100]), away(["worker 0", "worker 1"], seconds=[0, 10]))
    absence = both(absence, away(["worker 2", "worker 3"], seconds=[0, 50]))
    assert happened(absence)[:3] == ["1 spread 2: 2 3", "1-2 step: 2 3", "2 merge 1: 2 3 @52"]


def test_every_edge_waits_for_its_own_workers():
    """Edge 0 sends at 3, when its workers are away until 5; edge 1 at 21, when its are until 1000."""
    absence = both(away("workers 0-1", seconds=[2.5, 5]), away("workers 2-3", seconds=[20.5, 1000]))
    found = happened(absence, delays=paced(1, 1, 10, 10, theta_e=1.0), iterations=4)
    assert found[2:4] == ["2 merge 1: all @21", "3 spread 1: 0 1"]
    assert found[4:] == ["3-4 step: 0 1", "4 merge 1: 0 1 @21", "4 merge 2: all @21"]


def test_those_who_are_away_for_good_are_not_waited_for():
    forever = away("worker", seconds=[3, inf])
    found = happened(forever, tree=THREE, periods=(2,), iterations=8)
    assert found == ["1 spread 1: all", "1-2 step: all", "2 merge 1: all @2", "3 spread 1: all"]
    assert happened(away("worker", seconds=[0, inf]), tree=THREE, periods=(2,)) == []
    some = both(forever, away("worker 1", seconds=[0, 4]))
    assert happened(some, tree=THREE, periods=(2,), iterations=8)[:2] == ["1 spread 1: 0 2", "1-2 step: 0 2"]


def test_an_edge_that_is_away_for_some_seconds_of_a_cloud_round_has_missed_it():
    """Away from 2.5 to 3.5: in the second of three edge rounds."""
    found = happened(away("edge 1", seconds=[2.5, 3.5]), periods=(2, 3), iterations=12)
    one = ["3 spread 1: all", "3-4 step: 0 1", "4 merge 1: 0 1 @4", "5 spread 1: 0 1", "5-6 step: 0 1"]
    assert found[3:11] == [*one, "6 merge 1: 0 1 @6", "6 merge 2: 0 @6", "7 spread 2: all"]


def test_an_absence_while_a_message_is_under_way_counts():
    """The cloud sends at 0, the edge has it at 5 and sends it on, and its own message is at the cloud at 12."""
    delays = {"theta_w": 1.0, "phi_e2c": 10.0}
    for spell, there in (([3, 4], False), ([11, 12], False), ([12, 13], False), ([12.5, 13], True)):
        found = happened(away("edge 0", seconds=spell), periods=(2, 1), iterations=2, delays=delays)
        assert found[-1] == ("2 merge 2: all @12" if there else "2 merge 2: 1 @12")


# ---- shares and chances ----


@pytest.mark.parametrize(
    ("share", "asked"),
    [(0.01, [1, 1, 1, 1]), (0.3, [1, 1, 1, 2]), (0.5, [1, 1, 2, 3]), (0.7, [1, 1, 2, 4]), (0.75, [1, 2, 2, 4])],
)
def test_of_each_family_the_nearest_whole_number_is_asked_and_at_least_one(share, asked):
    tree = Tree.regular(edges=4, workers_per_edge=[1, 2, 3, 5])
    for event in events_of(Absence(participation=share), tree=tree):
        if isinstance(event, Spread):
            assert np.bincount(tree.parents[0][event.workers], minlength=4).tolist() == asked


def test_the_share_is_of_those_who_are_there():
    tree = Tree.branching(6)
    absence = Absence(participation=0.5, away=({"nodes": "workers 0-3", "iterations": [1, 2]},))
    first, second = (e for e in events_of(absence, tree=tree, periods=(2,), iterations=4) if isinstance(e, Spread))
    assert len(first.workers) == 1 and set(first.workers.tolist()) < {4, 5}
    assert len(second.workers) == 3


def test_those_who_are_asked_take_part_and_nobody_else():
    *_, (last, _) = found = followed(Absence(participation=0.5))
    asked = None
    for event, _ in found:
        if isinstance(event, Spread):
            asked = event.workers.tolist()
        elif isinstance(event, Step) or event.tier == 1:
            assert list(event[-1]) == asked
    assert last == Merge(8, 2)  # every edge had someone


def chosen_at(t, **options):
    """Who is asked at an iteration."""
    (found,) = (event.workers.tolist() for event in events_of(**options) if isinstance(event, Spread) and event.t == t)
    return found


def test_who_is_asked_is_a_function_of_seed_worker_and_iteration():
    options = {"absence": Absence(participation=0.4), "tree": Tree.branching(2, 5), "iterations": 24}
    expected = chosen_at(13, **options, periods=(2, 2))
    for periods in ((1, 1), (4, 1), (3, 4), (12, 1)):
        assert chosen_at(13, **options, periods=periods) == expected
    longer = options | {"iterations": 48}
    assert chosen_at(13, **longer, periods=(2, 2)) == expected
    others = [chosen_at(13, **options, periods=(2, 2), seed=seed) for seed in range(1, 9)]
    assert any(other != expected for other in others)


def rates(absence, kind, tree=TREE, rounds=1000):
    """How often each worker is in the events of a kind, in one-step rounds."""
    seen = np.zeros(tree.n_workers)
    for event in events_of(absence, tree=tree, periods=(1,) * (tree.tiers - 1), iterations=rounds):
        if isinstance(event, kind):
            seen[slice(None) if event.workers is None else event.workers] += 1
    return seen / rounds


# frequencies in 1000 rounds are off by some sqrt(p (1 - p) / 1000) <= 0.0158, and by five times that once in a million
OFF = 0.079


def test_everyone_is_asked_as_often_as_the_others():
    assert np.abs(rates(Absence(participation=0.4), Spread, Tree.branching(5)) - 0.4).max() < OFF


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.95])
def test_drop_outs_are_as_frequent_as_was_said(chance):
    absence = Absence(drop_out=chance)
    assert (rates(absence, Spread) == 1).all()  # they are sent to
    assert np.abs(rates(absence, Step) - (1 - chance)).max() < OFF


def test_drop_outs_do_not_go_together():
    """Workers, and rounds, are independent of each other."""
    out = np.zeros((1000, 4), bool)
    for event in events_of(Absence(drop_out=0.5), periods=(1, 1), iterations=1000):
        if isinstance(event, Step):
            out[event.t - 1, slice(None) if event.workers is None else event.workers] = True
    signs = np.where(out, 1.0, -1.0)
    correlations = [signs[:, i] @ signs[:, j] / 1000 for i in range(4) for j in range(i)]
    correlations += [signs[1:, i] @ signs[:-1, i] / 1000 for i in range(4)]
    assert np.abs(correlations).max() < 2 * OFF  # each is a mean of 1000 signs


@pytest.mark.parametrize("chance", [0.3, 0.9])
def test_edges_drop_out_with_their_workers(chance):
    sent_to, stepped = (rates(Absence(edge_drop_out=chance), kind) for kind in (Spread, Step))
    assert np.abs(sent_to - (1 - chance)).max() < OFF
    assert np.array_equal(sent_to, stepped)


def test_an_edge_that_drops_out_does_so_for_a_whole_cloud_round():
    rounds, sent = {}, []
    for event in events_of(Absence(edge_drop_out=0.5), periods=(2, 3), iterations=120):
        if isinstance(event, Spread) and event.tier == 2:
            sent = reached(TREE, event)[0]
        elif isinstance(event, Spread):
            assert str(reached(TREE, event)[0]) == str(sent)
        elif isinstance(event, Merge) and event.tier == 2:
            rounds[event.t] = (0, 1) if event.children is None else tuple(event.children)
    assert {(0,), (1,), (0, 1)} == set(rounds.values())
    assert len(rounds) < 20  # where both drop out, there is no round


def test_workers_have_no_edges_to_drop_out_on_two_tiers():
    options = {"tree": THREE, "periods": (2,)}
    assert events_of(Absence(edge_drop_out=0.9), **options) == events_of(Absence(), **options)


# ---- deadlines ----


@pytest.mark.parametrize(
    ("patience", "merged"),
    [
        (1, "0 @2"),  # nobody is in time: the first is waited for
        (3, "0 @3"),  # the others are waited for until then
        (4, "0 1 @4"),
        (5, "0 1 @5"),
        (20, "all @20"),
        (1000, "all @20"),  # and nobody waits when all are there
    ],
)
def test_a_parent_waits_until_the_deadline(patience, merged):
    """Workers arrive 2, 4 and 20 seconds after they are sent to, which is at the end of the round before."""
    absence = Absence(deadline_s=patience)
    options = {"tree": THREE, "periods": (2,), "delays": paced(1, 2, 10)}
    who, end = merged.split(" @")
    first, second = [], []
    for lines, t, seconds in ((first, 1, int(end)), (second, 3, 2 * int(end))):
        lines += [f"{t} spread 1: all", f"{t}-{t + 1} step: {who}", f"{t + 1} merge 1: {who} @{seconds}"]
    assert happened(absence, iterations=4, **options) == first + second


def test_two_who_arrive_first_together_are_both_merged():
    found = happened(Absence(deadline_s=1), tree=THREE, periods=(2,), iterations=2, delays=paced(1, 1, 10))
    assert found[-1] == "2 merge 1: 0 1 @2"


def test_a_deadline_counts_from_when_the_parent_sent():
    """The cloud sends at 0; edges send at 5; workers have it at 6, arrive at 9 and 12; edges arrive 5 seconds later."""
    delays = paced(1, 2.5, 1, 2.5, phi_e2c=10.0, phi_w2e=2.0)
    options = {"periods": (2, 1), "iterations": 2, "delays": delays}
    assert happened(Absence(deadline_s=7), **options)[2:] == ["2 merge 1: all @12", "2 merge 2: all @17"]
    assert happened(Absence(deadline_s=6), **options)[2:] == ["2 merge 1: 0 2 @11", "2 merge 2: all @16"]


def test_a_deadline_of_the_cloud():
    """Edges arrive after 4 and 40 seconds; who is late has worked in vain, and nobody has waited for it."""
    options = {"delays": paced(1, 1, 10, 10), "iterations": 8}
    assert [line for line in happened(Absence(cloud_deadline_s=10), **options) if "merge 2" in line] == [
        *("4 merge 2: 0 @10", "8 merge 2: 0 @20"),
    ]
    assert [line for line in happened(Absence(cloud_deadline_s=1), **options) if "merge 2" in line] == [
        *("4 merge 2: 0 @4", "8 merge 2: 0 @8"),
    ]
    assert happened(Absence(cloud_deadline_s=40), **options) == happened(Absence(), **options)


def test_a_late_edge_is_sent_to_in_the_next_cloud_round():
    found = happened(Absence(cloud_deadline_s=10), delays=paced(1, 1, 10, 10))
    assert "3 spread 1: all" in found and "5 spread 2: all" in found


def test_a_deadline_is_waited_for_where_somebody_drops_out():
    """All who answer are there after 2 seconds."""
    absence = Absence(deadline_s=7.0, drop_out=0.5)
    end, ends = 0.0, set()
    for event, elapsed in followed(absence, tree=THREE, periods=(2,), iterations=60):
        if isinstance(event, Merge):
            took = elapsed.seconds - end
            # rounds in which nobody answers have no event of their own, and last until the deadline
            assert took % 7 == (2 if event.children is None else 0)
            end = elapsed.seconds
            ends.add(took)
    assert {2.0, 7.0, 14.0} <= ends


def test_an_edge_whose_workers_all_drop_out_waits_until_the_deadline_and_climbs():
    absence = Absence(deadline_s=7.0, drop_out=0.6)
    before, alone = 0.0, 0
    for event, elapsed in followed(absence, periods=(2, 1), iterations=200):
        if isinstance(event, Merge) and event.tier == 1:
            teams = set(TREE.parents[0][slice(None) if event.children is None else event.children].tolist())
        elif isinstance(event, Merge):
            assert event.children is None
            if teams != {0, 1}:
                alone += 1
                assert (elapsed.seconds - before) % 7 == 0
            before, teams = elapsed.seconds, set()
    assert alone > 10


def test_without_a_deadline_nobody_waits_for_those_who_do_not_answer():
    found = followed(Absence(drop_out=0.5), tree=THREE, periods=(2,), iterations=60)
    merges = [(event, elapsed.seconds) for event, elapsed in found if isinstance(event, Merge)]
    assert any(event.children is not None for event, _ in merges)
    assert [seconds for _, seconds in merges] == [2 * k for k in range(1, len(merges) + 1)]


# ---- surveys ----


def test_a_survey_asks_those_who_are_there():
    """An answer takes a second, and an iteration, of two gradients, two."""
    options = {"tree": THREE, "periods": (2,), "iterations": 4, "algorithm": Mime()}
    assert happened(away("worker 1", iterations=[3, 4]), **options) == [
        *("1 spread 1: all", "1 survey: all", "1-2 step: all", "2 merge 1: all @5"),
        *("3 spread 1: 0 2", "3 survey: 0 2", "3-4 step: 0 2", "4 merge 1: 0 2 @10"),
    ]
    assert happened(away("worker", iterations=[1, 2]), **options)[:2] == ["3 spread 1: all", "3 survey: all"]


def test_who_drops_out_answers_no_survey():
    for event in events_of(Absence(drop_out=0.5), tree=THREE, periods=(1,), iterations=50, algorithm=Mime()):
        if isinstance(event, Survey):
            asked = event.workers
        elif isinstance(event, Step):
            assert str(event.workers) == str(asked)


# ---- bytes ----


def sent(absence, **options):
    """(up, down) bytes on each link, of models of one byte."""
    links = followed(absence, **options)[-1][1].links
    return [tuple(load.bytes(ModelSize(parameters=1, item_bytes=1)) for load in link) for link in links]


def test_bytes_are_those_of_messages_that_are_sent():
    assert sent(Absence()) == [(16, 16), (4, 4)]  # four edge rounds of four workers, two cloud rounds of two edges
    assert sent(Absence(participation=0.5)) == [(8, 8), (4, 4)]
    assert sent(away("worker 1", iterations=[3, 5])) == [(15, 15), (4, 4)]  # not asked
    assert sent(away("worker 1", iterations=[4, 5])) == [(15, 16), (4, 4)]  # asked in vain
    assert sent(away("edge 1", iterations=[5, 6])) == [(12, 12), (3, 3)]
    assert sent(Absence(deadline_s=3.0), delays=paced(1, 1, 1, 9)) == [(12, 16), (4, 4)]
    (up, down), (edges_up, edges_down) = sent(Absence(drop_out=0.9))
    assert (down, edges_up, edges_down) == (16, 4, 4) and up < 8


# ---- plans of one's own ----


class Scripted(HierFAVG):
    """A plan that is given."""

    script = ()

    def plan(self, setting):
        return iter(self.script)


def scripted(*events):
    algorithm = Scripted()
    object.__setattr__(algorithm, "script", events)  # it is frozen
    return algorithm


def test_steps_wait_for_the_merge_of_their_own_workers():
    """All step, and the edges merge one after the other; a worker of the second goes away."""
    plan = [Spread(1, 2), Step(1), Step(2), Merge(2, 1, (1, 0)), Merge(2, 1, (3, 2)), Merge(2, 2)]
    found = happened(away("worker 3", seconds=[1, 2]), algorithm=scripted(*plan))
    assert found == [
        *("1 spread 2: all", "1-2 step: 0 1", "2 merge 1: 1 0 @2"),
        *("1-2 step: 2", "2 merge 1: 2 @2", "2 merge 2: all @2"),
    ]


def test_steps_that_nobody_merges_are_made_all_the_same():
    plan = [Spread(1, 2), Step(1), Merge(1, 1, (0,)), Merge(1, 2), Spread(2, 2), Step(2, (0, 2)), Step(3, (0, 2))]
    found = happened(away("worker 3", seconds=[9, 10]), algorithm=scripted(*plan))
    assert found == [
        *("1 spread 2: all", "1 step: 0", "1 merge 1: 0 @1", "1 merge 2: all @1"),
        *("1 step: 1 2 3", "2 spread 2: all", "2-3 step: 0 2"),
    ]


# ---- asynchronous arrivals ----


def visits(absence, iterations=12, **options):
    """(kind, edge, second) of pulls after the first and of arrivals; edges need 2 seconds for a cycle."""
    found, options = [], {"periods": (2, 1), "algorithm": CFL(order="fixed"), **options}
    for event, elapsed in followed(absence, iterations=iterations, **options):
        if isinstance(event, (Spread, Merge)) and event.tier == 2 and event.children is not None:
            found.append(("pull" if isinstance(event, Spread) else "arrive", event.children[0], elapsed.seconds))
    return found


def arrivals_of(edge, absence, **options):
    return [second for kind, ell, second in visits(absence, **options) if (kind, ell) == ("arrive", edge)]


def test_an_edge_that_goes_away_loses_its_work_and_pulls_when_it_is_back():
    absence = away("edge 0", seconds=[5, 9])
    assert arrivals_of(0, absence) == [2, 4, 11, 13, 15]  # twelve arrivals of four steps each: the lost cycle has none
    assert arrivals_of(1, absence) == [2, 4, 6, 8, 10, 12, 14]
    # it pulls after the arrival of edge 1 at 8, and before that at 10
    order = [(kind, ell) for kind, ell, _ in visits(absence)]
    at = order.index(("pull", 0), order.index(("pull", 0), order.index(("pull", 0)) + 1) + 1)
    assert visits(absence)[at - 2 : at + 2] == [("arrive", 1, 8), ("pull", 1, 8), ("pull", 0, 8), ("arrive", 1, 10)]


def test_the_record_of_an_edge_that_goes_away_is_left_alone():
    found = happened(away("edge 0", seconds=[5, 9]), periods=(2, 1), algorithm=CFL(order="fixed"), iterations=12)
    assert "6 merge 1: 0 1 @6" not in found and "6 step: 0 1" not in found


def test_an_edge_that_is_away_at_the_start_pulls_when_it_comes():
    absence = away("edge 0", seconds=[0, 7])
    assert arrivals_of(0, absence)[:2] == [9, 11]
    assert arrivals_of(1, absence)[:5] == [2, 4, 6, 8, 10]
    steps = [event.t for event in events_of(absence, periods=(2, 1), algorithm=CFL()) if event[1:] == ((0, 1),)]
    assert steps == list(range(1, len(steps) + 1))  # its iterations begin with the first


def test_where_all_edges_are_away_the_first_that_is_back_is_the_first():
    absence = both(away("edge 0", seconds=[0, 8]), away("edge 1", seconds=[0, 5]))
    assert visits(absence)[:3] == [("arrive", 1, 7), ("pull", 1, 7), ("pull", 0, 7)]
    assert visits(absence)[3:6] == [("arrive", 1, 9), ("pull", 1, 9), ("arrive", 0, 10)]


def test_an_edge_that_is_away_for_good_holds_nobody_up():
    absence = away("edge 0", seconds=[5, inf])
    assert arrivals_of(0, absence) == [2, 4]
    assert arrivals_of(1, absence) == list(range(2, 22, 2))  # instead of the other
    assert arrivals_of(0, away("edge", seconds=[5, inf])) == [2, 4]


def test_an_edge_whose_workers_go_away_climbs_with_what_it_has_and_waits_for_the_first_that_is_back():
    absence = both(away("worker 0", seconds=[3, 9]), away("worker 1", seconds=[3, 8]))
    assert arrivals_of(0, absence)[:4] == [2, 3, 10, 12]
    assert arrivals_of(0, away("worker 0", seconds=[3, 9]))[:3] == [2, 4, 6]


def test_edges_that_take_turns_wait_for_each_other():
    absence = away("edge 0", seconds=[3, 9])
    found = visits(absence, iterations=6, algorithm=CFL(order="fixed", schedule="sequential"))
    assert [each for each in found if each[0] == "arrive"] == [
        *(("arrive", 0, 2), ("arrive", 1, 4), ("arrive", 0, 11), ("arrive", 1, 13), ("arrive", 0, 15)),
        ("arrive", 1, 17),
    ]


@pytest.mark.parametrize("absence", [away("edge 0", seconds=[5, 9]), away("edge 1", seconds=[0, 7]), Absence()])
def test_a_longer_asynchronous_run_only_appends(absence):
    long = happened(absence, algorithm=CFL(), delays=paced(1, 1, 1.5, 2), iterations=40)
    for iterations in range(4, 40, 4):
        short = happened(absence, algorithm=CFL(), delays=paced(1, 1, 1.5, 2), iterations=iterations)
        assert long[: len(short)] == short


# ---- any tree, any absence ----

nodes = st.sampled_from(["worker", "worker 0", "edge", "edge 0", "tier 1"])
spans = st.tuples(st.integers(0, 30), st.integers(1, 30)).map(lambda ends: [ends[0], ends[0] + ends[1]])
spells = st.builds(
    lambda name, key, span: {"nodes": name, key: span}, nodes, st.sampled_from(["iterations", "seconds"]), spans
)
absences = st.builds(
    Absence,
    participation=st.sampled_from([0.1, 0.5, 1.0]),
    drop_out=st.sampled_from([0.0, 0.3, 0.95]),
    edge_drop_out=st.sampled_from([0.0, 0.3]),
    deadline_s=st.sampled_from([None, 1.0, 4.0]),
    cloud_deadline_s=st.sampled_from([None, 3.0, 9.0]),
    away=st.lists(spells, max_size=2).map(tuple),
)
RANDOM = {name: {"kind": "lognormal", "mean": mean, "cv": 0.8} for name, mean in (("theta_w", 1.0), ("phi_w2e", 0.5))}


def whole(nodes, n):
    return set(range(n)) if nodes is None else set(map(int, nodes))


@given(trees(), absences, st.data())
@settings(max_examples=150)
def test_what_happens_is_a_part_of_the_plan(tree, absence, data):
    """Whoever climbs was reached and made all steps of the round; events go forward; none is empty."""
    periods = tuple(data.draw(st.lists(st.integers(1, 3), min_size=tree.tiers - 1, max_size=tree.tiers - 1), "periods"))
    options = {"tree": tree, "periods": periods, "iterations": 3 * prod(periods), "algorithm": HierMo()}
    options |= {"delays": {**RANDOM, "phi_e2c": 1.0}, "seed": data.draw(st.integers(0, 9), "seed")}
    there = [set(), *({*range(n)} for n in tree.counts[1:])]  # reached, and not missing since
    made = {}  # steps since, by worker
    t, cloud_at = 1, 0.0
    for event, elapsed in followed(absence, **options):
        assert event.t >= t and np.isfinite(elapsed.seconds)
        t = event.t
        match event:
            case Spread(_, tier):
                there[:tier] = [whole(some, n) for some, n in zip(reached(tree, event), tree.counts, strict=False)]
                senders = [{int(tree.parents[j][i]) for i in there[j]} for j in range(tier)]
                assert there[0] and senders[:-1] == there[1:tier] and senders[-1] <= there[tier]
                made |= {i: [] for i in there[0]}
            case Step(_, workers):
                some = whole(workers, tree.n_workers)
                assert some and some <= there[0]
                for i in some:
                    made[i].append(t)
            case Merge(_, tier, children):
                some = whole(children, tree.counts[tier - 1])
                assert some and some <= there[tier - 1]
                assert {int(tree.parents[tier - 1][i]) for i in some} <= there[tier]
                there[tier - 1] = some
                if tier == 1:
                    assert all(made[i] == list(range(t - periods[0] + 1, t + 1)) for i in some)
                if tier == tree.tiers - 1:
                    assert elapsed.seconds >= cloud_at
                    cloud_at = elapsed.seconds


def arrivals_by_hand(cycle, absent, until):
    """(second, edge) of all arrivals: an edge pulls when it is there, and arrives if it stays for a cycle."""
    found = []
    for ell, seconds in enumerate(cycle):
        moment = 0.0
        while moment < until:
            if now := [end for begin, end in absent[ell] if begin <= moment < end]:
                moment = max(now)
            elif lost := [begin for begin, end in absent[ell] if moment < begin <= moment + seconds]:
                moment = min(lost)
            else:
                moment += seconds
                found.append((moment, ell))
    return sorted(found)


@given(st.lists(st.lists(spans, max_size=3), min_size=3, max_size=3), st.integers(0, 99))
@settings(max_examples=60)
def test_arrivals_are_those_of_a_simulation_by_hand(absent, seed):
    paces = np.random.default_rng(seed).uniform(0.3, 3, size=3)  # no two moments are the same
    tables = [away(f"edge {ell}", seconds=span) for ell in range(3) for span in absent[ell]]
    options = {
        "tree": Tree.branching(3, 1),
        "delays": paced(*paces),
        "periods": (2, 2),
        "algorithm": CFL(),
        "seed": seed,
    }
    found = followed(both(*tables), iterations=40, **options)
    arrived = [(e.seconds, event.children[0]) for event, e in found if isinstance(event, Merge) and event.tier == 2]
    assert arrived
    expected = arrivals_by_hand(4 * paces, absent, until=arrived[-1][0] + 1)[: len(arrived)]
    assert [ell for _, ell in arrived] == [ell for _, ell in expected]
    # sums of some hundred numbers of about 1
    np.testing.assert_allclose([at for at, _ in arrived], [at for at, _ in expected], rtol=1e-12)


@given(trees(), absences, st.integers(0, 9))
@settings(max_examples=50)
def test_a_longer_run_only_appends(tree, absence, seed):
    periods = (2,) * (tree.tiers - 1)
    options = {"tree": tree, "periods": periods, "delays": RANDOM, "seed": seed}
    short, long = (happened(absence, iterations=n * prod(periods), **options) for n in (2, 4))
    assert long[: len(short)] == short


@given(trees(), absences)
@settings(max_examples=20)
def test_the_same_seed_gives_the_same_events(tree, absence):
    options = {"tree": tree, "periods": (2,) * (tree.tiers - 1), "iterations": 2**tree.tiers, "delays": RANDOM}
    assert happened(absence, **options) == happened(absence, **options)


def test_another_seed_gives_other_events():
    absence = Absence(participation=0.5, drop_out=0.2)
    assert happened(absence, seed=1) != happened(absence, seed=2)
