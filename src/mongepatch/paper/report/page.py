"""The page as a whole."""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template

from mongepatch.paper.item import Claim
from mongepatch.paper.report.facts import Part, RunFacts, seconds_of
from mongepatch.paper.report.pictures import Picture
from mongepatch.paper.report.section import section_of
from mongepatch.paper.report.tables import sortable
from mongepatch.paper.verdicts import ORDER, badge, in_words, tally

SIZES = {
    "quick": "This is a quick run: short, and therefore noisy. Close comparisons may go either way; the option --full "
    "runs the paper’s own numbers of draws.",
    "full": "This is a full run, with the paper’s own numbers of draws.",
}


def page_of(parts: Sequence[Part], run: RunFacts, pictures: Mapping[str, Sequence[Picture]]) -> str:
    """A page that needs no other file, with the pictures of each item."""
    room = files("mongepatch.paper.report")
    template = Template(room.joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        style=room.joinpath("report.css").read_text(encoding="utf-8"),
        script=room.joinpath("report.js").read_text(encoding="utf-8"),
        size=escape(SIZES[run.size]),
        troubles=_troubles(parts),
        summary=_summary(parts),
        contents="\n".join(_entry(part) for part in parts),
        sections="\n\n".join(section_of(part, pictures[part.item.name]) for part in parts),
        versions=escape(", ".join(f"{name} {version}" for name, version in run.versions.items())),
        machine=escape(f"{run.machine}, {_count(run.processors, 'processor')}"),
        work=escape(f"{_duration(parts)}, {_count(run.jobs, 'process', 'processes')} at a time"),
        when=f'<time datetime="{run.when}">{run.when.replace("T", " ").replace("Z", " UTC")}</time>',
        command=escape(run.command),
    )


def _summary(parts: Sequence[Part]) -> str:
    """All claims with their verdicts."""
    pairs = [(part, claim) for part in parts for claim in _claims(part)]
    if not pairs:
        return "<p>No claim could be looked at.</p>"
    rows = [
        f'<td class="item"><a href="#{escape(part.item.name)}">{escape(_short(part))}</a></td>'
        f"<td>{escape(claim.paper)}</td>"
        f'<td data-value="{ORDER.index(claim.verdict)}">{badge(claim.verdict)}</td>'
        f'<td class="wide">{escape(claim.measured)}</td>'
        for part, claim in pairs
    ]
    headers = [("Item", False), ("The paper says", False), ("Verdict", True), ("Found here", False)]
    return tally(claim for _, claim in pairs) + "\n" + sortable(headers, rows, "summary-title", "summary")


def _claims(part: Part) -> Sequence[Claim]:
    return part.section.claims if part.section else ()


def _short(part: Part) -> str:
    return part.item.name.replace("-", " ").capitalize()


def _entry(part: Part) -> str:
    """A line of the contents, with the verdicts of the item."""
    state = [in_words(_claims(part)) if part.section else "nothing could be done"]
    if part.done.failed:
        state.append(f"{_count(len(part.done.failed), 'task')} failed")
    if part.done.left_out:
        state.append(f"{_count(len(part.done.left_out), 'task')} left out")
    words = "; ".join(word for word in state if word)
    return (
        f'<li><a href="#{escape(part.item.name)}">{escape(part.item.title)}</a>'
        + (f'<span class="state">{escape(words)}</span>' if words else "")
        + "</li>"
    )


def _troubles(parts: Sequence[Part]) -> str:
    failed = sum(len(part.done.failed) for part in parts)
    left_out = sum(len(part.done.left_out) for part in parts)
    told = [f"{_count(n, 'task')} {what}" for n, what in ((failed, "failed"), (left_out, "left out")) if n]
    return f"<p>Not all was done: {', '.join(told)}. The sections say why.</p>" if told else ""


def _duration(parts: Sequence[Part]) -> str:
    """The time of all tasks, including those whose results come from an earlier run."""
    seconds = sum(seconds_of(part, task) or 0.0 for part in parts for task in part.tasks)
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} seconds"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
