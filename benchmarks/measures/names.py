"""Names of problems and samplers that users choose from."""

from collections.abc import Iterable

from mongepatch.errors import SettingError


def check_problems(only: Iterable[str], known: Iterable[str]) -> None:
    """Raise unless all chosen names are known."""
    _check("problem", only, known)


def check_samplers(only: Iterable[str], known: Iterable[str]) -> None:
    """Raise unless all chosen names are known."""
    _check("sampler", only, known)


def _check(kind: str, only: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    unknown = sorted(set(only) - set(known))
    if unknown:
        raise SettingError(f"There is no {kind} {', '.join(unknown)}: there are {', '.join(known)}.")
