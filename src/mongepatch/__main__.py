"""The command line: `mongepatch …` or `python -m mongepatch …`."""

import sys

from mongepatch.errors import MongepatchError


def main() -> int:
    """Run the command line; an error that its user can act on is one line, not a traceback."""
    try:
        from mongepatch._extras import require

        require("typer", "cli", "The command line")
        from mongepatch.cli import app

        app()
    except MongepatchError as error:
        print(f"mongepatch: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
