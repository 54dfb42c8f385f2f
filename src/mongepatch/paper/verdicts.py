"""Verdicts on claims: from checks to a verdict, and verdicts as text and as a badge.

A badge has a word, a shape and a colour; each of them is enough to tell verdicts apart.
"""

from collections import Counter
from collections.abc import Iterable
from html import escape
from typing import get_args

from mongepatch.paper.item import Claim, Verdict

ORDER: tuple[Verdict, ...] = get_args(Verdict)
_DISC = '<circle cx="8" cy="8" r="7"/>'
_SHAPES: dict[Verdict, str] = {
    "holds": f'{_DISC}<path class="mark" d="M4.5 8.3l2.4 2.4 4.6-5"/>',
    "holds in part": '<circle class="line" cx="8" cy="8" r="6.2"/><path d="M8 1.8a6.2 6.2 0 0 0 0 12.4z"/>',
    "does not hold": '<rect x="1" y="1" width="14" height="14"/><path class="mark" d="M5 5l6 6m0-6l-6 6"/>',
    "not checked": '<circle class="line" cx="8" cy="8" r="6.2" stroke-dasharray="2.4 2.4"/>',
}


def graded(checks: Iterable[bool]) -> Verdict:
    """A claim holds where every check passes, and in part where some do; without checks it is not checked."""
    passed = [bool(check) for check in checks]
    if not passed:
        return "not checked"
    return "holds" if all(passed) else "holds in part" if any(passed) else "does not hold"


def held(claims: Iterable[Claim]) -> str:
    """The paper's claims with their verdicts, for a caption."""
    return "The paper says: " + " ".join(f"“{claim.paper}” ({claim.verdict})" for claim in claims)


def badge(verdict: Verdict) -> str:
    """A verdict with its shape."""
    return f'<span class="verdict {verdict.replace(" ", "-")}">{_shape(verdict)}{escape(verdict)}</span>'


def tally(claims: Iterable[Claim]) -> str:
    """How many claims have each verdict."""
    counts = Counter(claim.verdict for claim in claims)
    entries = "".join(f"<li>{badge(verdict)}: {counts[verdict]}</li>" for verdict in ORDER)
    return f'<ul class="tally">{entries}</ul>'


def in_words(claims: Iterable[Claim]) -> str:
    """The same, in a few words."""
    counts = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{verdict}: {counts[verdict]}" for verdict in ORDER if counts[verdict])


def _shape(verdict: Verdict) -> str:
    return f'<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">{_SHAPES[verdict]}</svg>'
