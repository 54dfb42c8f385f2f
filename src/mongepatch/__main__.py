"""The command line: `mongepatch …` or `python -m mongepatch …`."""

import sys
from collections.abc import Callable

from mongepatch.errors import MongepatchError


def main() -> int:
    """Run the command line."""
    return exit_code("mongepatch", _command_line)


def exit_code(name: str, command: Callable[[], object]) -> int:
    """Run a command; an error that its user can act on is one line, not a traceback."""
    try:
        command()
    except MongepatchError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0


def _command_line() -> None:
    from mongepatch._extras import require

    require("typer", "cli", "The command line")
    from mongepatch.cli import app

    app()


if __name__ == "__main__":
    sys.exit(main())
