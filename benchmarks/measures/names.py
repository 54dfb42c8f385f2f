"""Names of problems that users choose from."""

from collections.abc import Iterable

from mongepatch.errors import SettingError


def check_problems(only: Iterable[str], known: Iterable[str]) -> None:
    """Raise unless all chosen names are known."""
    known = list(known)
    unknown = sorted(set(only) - set(known))
    if unknown:
        raise SettingError(f"There is no problem {', '.join(unknown)}: there are {', '.join(known)}.")
