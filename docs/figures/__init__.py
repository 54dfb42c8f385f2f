"""The figures of the pages, one file each: `python -m docs.figures` draws all of them into `docs/images`."""
