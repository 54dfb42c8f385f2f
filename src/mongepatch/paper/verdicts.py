"""From checks that passed and checks that did not to a verdict on a claim."""

from collections.abc import Iterable

from mongepatch.paper.item import Claim, Verdict


def graded(checks: Iterable[bool]) -> Verdict:
    """A claim holds where every check passed, in part where some did; without checks nothing is known."""
    passed = [bool(check) for check in checks]
    if not passed:
        return "not checked"
    return "holds" if all(passed) else "holds in part" if any(passed) else "does not hold"


def held(claims: Iterable[Claim]) -> str:
    """The paper's claims with their verdicts, for a caption."""
    return "The paper says: " + " ".join(f"“{claim.paper}” ({claim.verdict})" for claim in claims)
