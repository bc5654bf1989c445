"""What the paper says of a study, held against what came out: confirmed, partly, or not, with the number."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any, Literal, NamedTuple

from hiermo.reproduction.budgets import budget_outcomes
from hiermo.reproduction.outcome import NEAR, TEN, Outcome, against, cells_of, of_paper, outcomes
from hiermo.reproduction.reproduce import Reproduction
from hiermo.reproduction.study import SECONDS

OURS = "HierMo"
LEARNED = 0.25  # of the published accuracy: with less nothing is said of a shorter run
GROUPS = (("FedAvg", "HierFAVG", "CFL"), ("FedMom", "SlowMo", "FedNAG", "FedADC"), ("DOMO", "HierMo"))
CHAINS = (
    ("HierMo", "CFL", "HierFAVG"),
    ("HierMo", "DOMO", "FedADC", "FedNAG", "FedMom", "Mime"),
    ("FedNAG", "SlowMo", "Mime"),
)
ALIKE = ("FedMom", "SlowMo")
ON_TIERS, WITH_MOMENTUM = ("HierFAVG", "CFL"), ("DOMO", "FedADC", "FedMom", "SlowMo", "FedNAG", "Mime")
Verdict = Literal["confirmed", "partly", "not", "open"]


class Claim(NamedTuple):
    """A sentence of the paper, and what is to be said of it."""

    says: str
    verdict: Verdict
    measured: str


def claims_of(of: Reproduction) -> list[Claim]:
    """In the order of the study; those that need runs which are missing are open."""
    found = outcomes(of)
    early = _too_early(found)
    told = []
    for name in of.study.claims:
        says, check = CHECKS[name]
        claim = early or (check(of, found) if found else None)
        told.append(Claim(says, *(claim or ("open", "not run yet"))))
    return told


def judged(of: Reproduction) -> list[Claim]:
    """The same, where it also counts whether all algorithms are run."""
    return [_with_gaps(of, claim) for claim in claims_of(of)]


def _with_gaps(of: Reproduction, claim: Claim) -> Claim:
    """A claim about algorithms of which some are not run yet is not confirmed."""
    wanted = {run.recipe.algorithms[0].label for run in of.planned} & set(TEN)
    here = {run.label for run in of.found} & set(TEN)
    if claim.verdict == "open" or here == wanted:
        return claim
    verdict: Verdict = "partly" if claim.verdict == "confirmed" else claim.verdict
    return claim._replace(
        verdict=verdict, measured=f"{claim.measured}; {len(here)} of {len(wanted)} algorithms are run"
    )


Checked = tuple[Verdict, str] | None


def _too_early(found: Sequence[Outcome]) -> Checked:
    """Runs so short that hardly anything is learned yet say nothing of who is ahead."""
    short = [(each.mean, each.published) for each in found if each.short and each.mean and each.published]
    if not short or max(here / there for here, there in short) > LEARNED:
        return None
    best = max(here for here, _ in short)
    longest = max(run.iterations for each in found for run in each.runs)
    return "open", f"T = {longest} here: {best:.2f} % at best, too early to say"


def graded(good: int, of: int, partly: float = 0.5) -> Verdict:
    """All, at least half, or fewer."""
    return "confirmed" if good == of else "partly" if good >= partly * of else "not"


def _within(of: Reproduction, found: Sequence[Outcome]) -> Checked:
    compared = [each for each in found if each.gap is not None]
    if not compared:
        return None
    if any(each.short for each in compared):
        longest = max(run.iterations for each in compared for run in each.runs)
        return "open", f"T = {longest} here: numbers cannot be compared, the order can"
    near = [each for each in compared if abs(each.gap or 0) <= NEAR]
    worst = max(compared, key=lambda each: abs(each.gap or 0))
    where = f"{worst.label}{f' at {worst.cell}' if worst.cell else ''}"
    return graded(len(near), len(compared)), (
        f"{len(near)} of {len(compared)} within {NEAR} points; the farthest is {where}, {worst.gap:+.2f}"
    )


def _first(of: Reproduction, found: Sequence[Outcome]) -> Checked:
    told, good, n = [], 0, 0
    for cell, several in cells_of(of_paper(found)).items():
        ours = next((each for each in several if each.label == OURS), None)
        others = [each for each in several if each.label != OURS]
        if ours is None or not others or ours.mean is None:
            continue
        best = max(others, key=lambda each: each.mean or 0)
        lead = ours.mean - (best.mean or 0)
        n, good = n + 1, good + (lead > 0)
        told.append(f"{f'{cell}: ' if cell else ''}{lead:+.2f} points over {best.label}")
    return (graded(good, n), "; ".join(told)) if n else None


def _groups(of: Reproduction, found: Sequence[Outcome]) -> Checked:
    good = n = 0
    for several in cells_of(of_paper(found)).values():
        mean = {each.label: each.mean or 0.0 for each in several}
        for below, above in pairwise(GROUPS):
            pairs = [(a, b) for a in below for b in above if a in mean and b in mean]
            good += sum(mean[a] < mean[b] for a, b in pairs)
            n += len(pairs)
    return (graded(good, n, 0.75), f"{good} of {n} pairs of neighbouring groups in this order") if n else None


def _chain(of: Reproduction, found: Sequence[Outcome]) -> Checked:
    """What the text says about the table, pair by pair."""
    mean = _means(found)
    pairs = [(a, b) for chain in CHAINS for a, b in pairwise(chain) if a in mean and b in mean]
    wrong = [f"{a} > {b} ({mean[a] - mean[b]:+.2f})" for a, b in pairs if mean[a] <= mean[b]]
    n = len(pairs)
    if all(label in mean for label in ALIKE):
        n += 1
        apart = mean[ALIKE[0]] - mean[ALIKE[1]]
        wrong += [f"{' = '.join(ALIKE)} ({apart:+.2f})"] if abs(apart) > NEAR else []
    told = "; not: " + ", ".join(wrong) if wrong else ""
    return (graded(n - len(wrong), n), f"{n - len(wrong)} of {n} hold{told}") if n else None


def _tiers(of: Reproduction, found: Sequence[Outcome]) -> Checked:
    mean = _means(found)
    pairs = [(a, b) for a in ON_TIERS for b in WITH_MOMENTUM if a in mean and b in mean]
    good = sum(mean[a] > mean[b] for a, b in pairs)
    return (graded(good, len(pairs)), f"{good} of {len(pairs)} pairs") if pairs else None


def _means(found: Sequence[Outcome]) -> dict[str, float]:
    """Of a column, by label."""
    return {each.label: each.mean for each in of_paper(found) if each.mean is not None}


def _order(of: Reproduction, found: Sequence[Outcome]) -> Checked:
    told, values = [], []
    for cell, several in cells_of(of_paper(found)).items():
        here = [each.label for each in sorted(several, key=lambda each: -(each.mean or 0))]
        paper = [label for label in of.study.order if label in here]
        if len(here) > 2 and len(here) == len(paper):
            values.append(rank_correlation(here, paper))
            told.append(f"{f'{cell}: ' if cell else ''}{values[-1]:+.2f}")
    if not values:
        return None
    verdict: Verdict = "confirmed" if min(values) > 0.9 else "partly" if fmean(values) > 0.5 else "not"
    return verdict, f"rank correlation (Spearman) {', '.join(told)}"


def rank_correlation(here: Sequence[str], paper: Sequence[str]) -> float:
    """Spearman's: 1 = the same order, 0 = unrelated, -1 = the reverse.

    >>> rank_correlation("abc", "abc"), rank_correlation("abc", "cba")
    (1.0, -1.0)
    """
    n = len(here)
    return 1 - 6 * sum((here.index(label) - paper.index(label)) ** 2 for label in here) / (n * (n * n - 1))


def _steps(found: Sequence[Outcome], sign: int) -> Checked:
    """From each value of what is varied to the next, of every algorithm; HierMo's numbers are told."""
    good = n = 0
    told, wrong = "", []
    for label in {each.label: None for each in of_paper(found)}:
        own = [each for each in found if each.label == label and each.mean is not None]
        held = sum(sign * ((b.mean or 0) - (a.mean or 0)) > 0 for a, b in pairwise(own))
        good, n = good + held, n + max(len(own) - 1, 0)
        if label == OURS:
            told = "; " + ", ".join(f"{each.cell}: {each.mean:.2f}" for each in own) + " %"
        elif held < len(own) - 1:
            wrong.append(label)
    if wrong:
        told += f" (HierMo); not for {', '.join(wrong)}"
    return (graded(good, n), f"{good} of {n} steps{told}") if n else None


def _falls(of: Reproduction, found: Sequence[Outcome]) -> Checked:
    return _steps(found, sign=-1)


def _rises(of: Reproduction, found: Sequence[Outcome]) -> Checked:
    return _steps(found, sign=+1)


def _saves(of: Reproduction, found: Sequence[Outcome]) -> Checked:
    several = of_paper(outcomes(of, SECONDS))
    ours = next((each for each in several if each.label == OURS), None)
    others = [each for each in several if each.label != OURS]
    if ours is None or ours.mean is None or not others:
        return None
    savings = {each.label: 100 * (1 - ours.mean / (each.mean or 1)) for each in others}
    good = sum(saved > 0 for saved in savings.values())
    least = min(savings, key=lambda label: savings[label])
    return graded(good, len(others)), (
        f"less time than {good} of {len(others)}; saves {min(savings.values()):.0f} % ({least}) to "
        f"{max(savings.values()):.0f} %"
    )


def _gap(of: Reproduction, found: Sequence[Outcome]) -> Checked:
    told, good = [], 0
    near = max((published.gap for published in of.study.paper), default=0.0)  # as the paper's own are
    for each, published in zip(budget_outcomes(of), of.study.paper, strict=False):
        if each.gap is None:
            return None
        good += each.gap <= near
        told.append(f"{each.budget_s:g} s: {each.gap:+.2f} points below the best (published {published.gap:.2f})")
    return (graded(good, len(told)), "; ".join(told)) if told else None


def _lead(of: Reproduction, found: Sequence[Outcome]) -> Checked:
    """No claim of the paper: what is left of HierMo's lead."""
    mean = _means(found)
    if OURS not in mean or len(mean) < 2:
        return None
    others = {label: value for label, value in mean.items() if label != OURS}
    ahead = sum(mean[OURS] > value for value in others.values())
    average = mean[OURS] - fmean(others.values())
    told = f"ahead of {ahead} of {len(others)}, by {average:+.2f} points on average"
    before = {label: each.mean for label, each in against(of).items() if each.mean is not None}
    if OURS in before and others.keys() <= before.keys():
        same = [before[OURS] - before[label] for label in others]
        told += f"; with one eta for all, ahead of {sum(lead > 0 for lead in same)}, by {fmean(same):+.2f}"
    return graded(ahead, len(others)), told


CHECKS: dict[str, tuple[str, Callable[[Reproduction, Sequence[Outcome]], Any]]] = {
    "within": ("the published accuracies", _within),
    "first": ("HierMo is the best of all", _first),
    "groups": (f"{' < '.join('(' + ', '.join(group) + ')' for group in GROUPS)}", _groups),
    "chain": ("HierMo > CFL > HierFAVG; HierMo > DOMO > FedADC > FedNAG > FedMom = SlowMo > Mime", _chain),
    "tiers": ("deep networks: HierFAVG and CFL are better than all with momentum on two tiers", _tiers),
    "order": ("the order of the algorithms", _order),
    "falls": ("longer periods lower the accuracy", _falls),
    "smaller": ("where tau * pi is fixed, a smaller tau is better", _falls),
    "rises": ("more classes per worker raise the accuracy of every algorithm", _rises),
    "saves": ("HierMo takes the least time to the target", _saves),
    "gap": ("HierOPT's periods are near the best of the grid", _gap),
    "lead": ("HierMo leads also where steps are matched (not a claim of the paper)", _lead),
}
