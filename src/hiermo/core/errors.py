"""What can go wrong for reasons that are not bugs."""


class HiermoError(Exception):
    """Base of every error that hiermo raises on purpose."""


class UserError(HiermoError, ValueError):
    """The input is wrong; the message names the place and the way out."""


class Diverged(HiermoError, ArithmeticError):  # noqa: N818 - a fact about the run, not a mistake
    """A number stopped being finite; says what, at which node, in which iteration."""

    def __init__(self, what: str, tier: int, node: int, t: int, tiers: int) -> None:
        self.what, self.tier, self.node, self.t = what, tier, node, t
        super().__init__(
            f"{what} of {node_name(tier, node, tiers)} (tier {tier}) is not finite at iteration {t}; "
            "a smaller eta or less momentum usually helps"
        )


def node_name(tier: int, node: int, tiers: int) -> str:
    """What people call a node: `worker 3`, `edge 0`, `the cloud`, `node 2 of tier 2`."""
    if tier == tiers - 1:
        return "the cloud"
    return {0: f"worker {node}", 1: f"edge {node}"}.get(tier, f"node {node} of tier {tier}")
