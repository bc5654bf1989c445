"""What can go wrong for reasons that are not bugs."""


class HiermoError(Exception):
    """Base of every error that hiermo raises on purpose."""


class UserError(HiermoError, ValueError):
    """The input is wrong; the message names the place and the way out."""


class Diverged(HiermoError, ArithmeticError):  # noqa: N818 - a fact about the run, not a mistake
    """A number stopped being finite; says what, at which node, in which iteration."""

    def __init__(self, what: str, tier: int, node: int, t: int, tiers: int) -> None:
        super().__init__(what, tier, node, t, tiers)
        self.what, self.tier, self.node, self.t, self.tiers = what, tier, node, t, tiers

    def __str__(self) -> str:
        name = node_name(self.tier, self.node, self.tiers)
        return (
            f"{self.what} of {name} (tier {self.tier}) is not finite at iteration {self.t}; "
            "a smaller eta or less momentum usually helps"
        )


def node_name(tier: int, node: int, tiers: int) -> str:
    """What people call a node: `worker 3`, `edge 0`, `the cloud`, `node 2 of tier 2`."""
    if tier == tiers - 1:
        return "the cloud"
    return {0: f"worker {node}", 1: f"edge {node}"}.get(tier, f"node {node} of tier {tier}")
