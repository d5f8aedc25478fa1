"""Build the site: `python docs/build.py [--quick] [--out site]`; `make docs` does it in its own environment."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

DOCS = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the documentation into static pages that need no network.")
    parser.add_argument("--out", type=Path, default=DOCS.parent / "site", help="folder to write (default site)")
    parser.add_argument(
        "--quick", action="store_true", help="run no page and film one study; pictures as they are in docs/images"
    )
    parser.add_argument("--refresh", action="store_true", help="only compute the tables of docs/validation.md anew")
    given = parser.parse_args(arguments)
    if given.refresh:
        from docsite.validation import PAGE, refreshed

        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    from docsite.site import BuildError, build

    started = time.monotonic()
    try:
        build(given.out, quick=given.quick)
    except BuildError as wrong:
        print(f"the site is not complete:\n{wrong}", file=sys.stderr)
        return 1
    print(f"built in {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
