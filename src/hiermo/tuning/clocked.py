"""A recipe's algorithm under its clock, with any periods: what rounds take, and how many fit into a budget."""

from dataclasses import dataclass, replace
from math import prod

from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import UserError
from hiermo.core.problem import ModelSize
from hiermo.experiment.part import Part
from hiermo.experiment.recipe import Recipe
from hiermo.experiment.timing import delays_of, times_of_cloud_merges
from hiermo.topology.tree import Tree
from hiermo.tuning.objective import Times

ROUNDS, LENGTH = 16, 16  # of the runs from which the times of a network are read off
STRETCH = 5  # times as long as its messages the iterations of a long round take,
LONGEST = 4000  # where no more of them than this are needed
LONG = 100_000  # iterations, beyond which a run's time is that of its beginning, many times over
SAFE = 0.999  # of the rounds that fit then
LEAST = 1e-3  # of the time of messages that an iteration takes, or a budget would have no end


@dataclass(frozen=True)
class Clocked:
    """One algorithm of a recipe, whose periods are free."""

    recipe: Recipe
    part: Part
    model: ModelSize

    @property
    def tree(self) -> Tree:
        """The one it runs on: flattened for a two-tier algorithm, where the recipe says so."""
        return self.recipe.placed(self.part)[0]

    def with_periods(self, periods: tuple[int, ...], rounds: int) -> Recipe:
        """The whole recipe, with so many rounds of the root."""
        missing = len(self.recipe.periods) - len(periods)  # a flattened tree has one, and the recipe's has more
        train = replace(self.recipe.train, iterations=rounds * prod(periods))
        return replace(self.recipe, periods=(*periods, *[1] * missing), train=train)

    def seconds(self, periods: tuple[int, ...], rounds: int) -> float:
        """Of a run of so many rounds."""
        some = max(1, LONG // prod(periods))
        if rounds > some:
            return rounds * self.seconds(periods, some) / some
        found = times_of_cloud_merges(self.with_periods(periods, rounds), self.part, self.model)
        if not found:
            raise UserError("absence: there is never anyone for the cloud to hear from; nothing would be trained")
        return found[-1].seconds

    def times(self, budget_s: float) -> Times:
        """Psi's coefficients, read off runs: exact for constant delays, means where they vary or nodes differ.

        Where delays say nothing of iterations they are taken to be quick, and not to take no time at all.
        """
        n = self.tree.tiers - 1
        short = (LENGTH, *[1] * (n - 1))
        one_round = self.seconds(short, ROUNDS) / ROUNDS
        if not one_round:
            raise UserError(f"--budget: nothing takes any time under {self.delays}; give delays, as in --delays paper")
        iteration = max(self._iteration_s(short, one_round), LEAST * one_round / LENGTH)
        below, upper = LENGTH * iteration, list[float]()
        for tier in range(1, n):
            thrice = tuple(3 if k == tier else period for k, period in enumerate(short))
            inner = (self.seconds(thrice, ROUNDS) / ROUNDS - one_round) / 2  # a round of the tier below
            upper.append(max(inner - below, 0.0))
            below += upper[-1]
        upper.append(max(one_round - below, 0.0))
        return Times(budget_s=budget_s, theta_w=iteration, upper=tuple(upper))

    def _iteration_s(self, short: tuple[int, ...], one_round: float) -> float:
        """From rounds that are long enough for the iterations to stand out of messages that vary."""
        steady = replace(self, recipe=replace(self.recipe, delays=delays_of(self.recipe).at_means()))
        few, twice = (steady.seconds((length, *short[1:]), 1) for length in (LENGTH, 2 * LENGTH))
        rough = max((twice - few) / LENGTH, LEAST * few / LENGTH)
        length = int(min(LONGEST, LENGTH + max(LENGTH, STRETCH * few / rough)))
        return (self.seconds((length, *short[1:]), ROUNDS) / ROUNDS - one_round) / (length - LENGTH)

    def rounds_within(self, periods: tuple[int, ...], times: Times) -> int:
        """How many rounds of the root end within the budget, with the delays as a run will draw them."""
        budget_s, guess = times.budget_s, times.budget_s / times.round_s(periods)
        if guess * prod(periods) > LONG:
            some = max(1, LONG // prod(periods))
            return int(SAFE * budget_s * some / self.seconds(periods, some))
        most = max(2, int(1.3 * guess) + 2)
        if type(self.part.made).plan is Algorithm.plan and self.recipe.absence.nobody:
            while True:
                merges = times_of_cloud_merges(self.with_periods(periods, most), self.part, self.model)
                ends = [each.seconds for each in merges]
                if ends[-1] > budget_s:
                    return sum(end <= budget_s for end in ends)
                most *= 2
        low, high = 0, most  # a plan of its own: only whole runs have an end that can be told
        while self.seconds(periods, high) <= budget_s:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.seconds(periods, middle) <= budget_s else (low, middle)
        return low

    @property
    def delays(self) -> str:
        return str(delays_of(self.recipe))
