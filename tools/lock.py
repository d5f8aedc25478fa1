"""The lock file: the exact version of every package that a set-up installs, with the hashes of its files.

    python tools/lock.py renew           # resolve the ranges of pyproject.toml anew, write requirements.lock
    python tools/lock.py install test    # what the lock says for extras (runtime: for none), then this package, editable

`make update` and `make setup` call it, by the Python of the environment. Sets are those of `SETS`. Hashes of all wheels of a
release are kept, so that one file serves all platforms that have the same packages. Where it cannot be met (another Python
without such a wheel, a platform that needs a package more, ranges that have changed since) `install` says so and goes on with the
ranges. No address of an index is kept: packages are found by name wherever pip is configured to look.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import ssl
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
SETS = {"runtime": "", "docs": "docs", "test": "test", "dev": "dev", "pinocchio": "test,pinocchio", "robots": "test,robots"}
EVERYTHING = "dev,robots"  # versions are those that serve all of them
LEAST_SHARE, MOST_CALLS = 20, 4  # packages of one call of pip, and calls side by side
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


@dataclass(frozen=True)
class Entry:
    """A package: version, hashes of its wheels (of its source where there is no wheel), and the sets that need it."""

    name: str
    version: str
    hashes: tuple[str, ...]
    sets: tuple[str, ...]
    wheels: bool

    def text(self) -> str:
        kind = "" if self.wheels else " (source)"
        head = f"# {' '.join(self.sets)}{kind}\n{self.name}=={self.version}"
        return " \\\n".join([head, *(f"    --hash=sha256:{one}" for one in self.hashes)])


# ------------------------------------------------------------------------------------------------------ reading


def entries(text: str) -> list[Entry]:
    """The entries of a lock file."""
    found = []
    for sets, source, name, version, hashes in re.findall(
        r"^# ([\w ]+?)( \(source\))?\n([\w.-]+)==(\S+) \\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\\n)?)+)", text, re.MULTILINE
    ):
        found.append(Entry(name, version, tuple(re.findall(r"sha256:(\w+)", hashes)), tuple(sets.split()), not source))
    return found


def ranges_digest() -> str:
    """A hash of what pyproject.toml says of dependencies: a lock is for these."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    said = [sorted(project["dependencies"]), project["requires-python"], sorted(project["optional-dependencies"].items())]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def here() -> str:
    return f"Python {sys.version_info.major}.{sys.version_info.minor}, {platform.system()} {platform.machine()}"


# ------------------------------------------------------------------------------------------------------ installing


def install(*names: str) -> None:
    """Install sets by the lock, or by the ranges; then this package, editable."""
    quiet = ("install", "--quiet", "--no-compile")
    extras = ",".join(filter(None, (SETS[name] for name in names)))
    if (reason := by_lock(names, quiet)) is None:
        subprocess.run([*PIP, *quiet, "--no-deps", "--editable", str(ROOT)], check=True)
        return
    print(f"{LOCK.name} cannot be met here ({here()}): {reason}\nGoing on with the ranges of pyproject.toml.", file=sys.stderr)
    subprocess.run([*PIP, *quiet, "--editable", f"{ROOT}[{extras}]" if extras else str(ROOT)], check=True)


def by_lock(names: Collection[str], quiet: Iterable[str]) -> str | None:
    """Install what the lock names for sets; None, or why that is not possible."""
    if not LOCK.exists():
        return "there is no such file; `make update` writes it"
    text = LOCK.read_text(encoding="utf-8")
    if f"# ranges {ranges_digest()}" not in text:
        return "pyproject.toml has other ranges than it was made for; `make update` renews it"
    chosen = [entry for entry in entries(text) if not set(names).isdisjoint(entry.sets)]
    shares = max(1, min(os.cpu_count() or 1, MOST_CALLS, len(chosen) // LEAST_SHARE))
    with ThreadPoolExecutor(shares) as calls:
        failed = [reason for reason in calls.map(lambda k: by_pip(chosen[k::shares], quiet), range(shares)) if reason]
    # Nothing was resolved: whether another platform needs a package more is seen afterwards.
    return failed[0] if failed else failure(subprocess.run([*PIP, "check"], capture_output=True, text=True))


def by_pip(chosen: list[Entry], quiet: Iterable[str]) -> str | None:
    """Install just these packages; None, or why that is not possible. Calls side by side do not meet: packages are folders."""
    sources = [f"--no-binary={entry.name}" for entry in chosen if not entry.wheels]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requirements.txt"
        file.write_text("\n".join(entry.text() for entry in chosen), encoding="utf-8")
        how = ["--no-deps", "--require-hashes", "--only-binary=:all:", *sources, "--requirement", str(file)]
        return failure(subprocess.run([*PIP, *quiet, *how], capture_output=True, text=True))


def failure(done: subprocess.CompletedProcess[str]) -> str | None:
    """Why a call of pip failed, in one line; None if it did not."""
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    said = [*errors, *done.stderr.splitlines(), *done.stdout.splitlines(), "pip failed"]
    return None if done.returncode == 0 else said[0][:300]


# ------------------------------------------------------------------------------------------------------ renewing


def renew() -> None:
    """Write the lock anew, from what pip would install now."""
    versions = resolved(EVERYTHING)
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "constraints.txt"
        pins.write_text("\n".join(f"{name}=={version}" for name, version in versions.items()), encoding="utf-8")
        needed = {name: resolved(extras, "--constraint", str(pins)) for name, extras in SETS.items()}
    found = []
    for name, version in sorted(versions.items()):
        wheels, sources = published(name, version)
        sets = tuple(one for one, packages in needed.items() if name in packages)
        found.append(Entry(name, version, tuple(sorted(wheels or sources)), sets, bool(wheels)))
    head = f"# Written by `make update` with {here()}.\n# ranges {ranges_digest()}\n"
    LOCK.write_text(head + "\n".join(entry.text() for entry in found) + "\n", encoding="utf-8")
    print(f"{LOCK.name}: {len(found)} packages, {sum('runtime' in entry.sets for entry in found)} of them for a run")


def resolved(extras: str, *more: str) -> dict[str, str]:
    """Versions by name of all packages that pip would install for this one with extras, itself left out."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        how = ["install", "--quiet", "--dry-run", "--ignore-installed", "--report", str(report), *more]
        subprocess.run([*PIP, *how, f"{ROOT}[{extras}]" if extras else str(ROOT)], check=True)
        items = json.loads(report.read_text(encoding="utf-8"))["install"]
    found = {normalized(item["metadata"]["name"]): item["metadata"]["version"] for item in items}
    return {name: version for name, version in found.items() if name != "draisine"}


def published(name: str, version: str) -> tuple[list[str], list[str]]:
    """Hashes of the wheels and of the source distributions of a release, from the pages of the index (PEP 503)."""
    request = Request(f"{index()}/{name}/", headers={"Accept": "text/html"})
    with urlopen(request, context=ssl.create_default_context(cafile=os.environ.get("PIP_CERT")), timeout=60) as answer:
        page = answer.read().decode("utf-8")
    return hashes_of(page, name, version)


def hashes_of(page: str, name: str, version: str) -> tuple[list[str], list[str]]:
    """Hashes of the wheels and of the sources of a version on a page of links."""
    wheels, sources = [], []
    for address, digest in re.findall(r'href="([^"#]+)#sha256=([0-9a-f]{64})[^"]*"', page):
        file = unquote(urlsplit(address).path.rpartition("/")[2])
        if file.endswith(".whl"):
            title, of = file.split("-")[:2]
            if (normalized(title), of) == (name, version):
                wheels.append(digest)
        elif re.fullmatch(rf"(.+)-{re.escape(version)}(\.tar\.gz|\.zip)", file):
            sources.append(digest)
    if not (wheels or sources):
        raise SystemExit(f"the index has no hash of {name} {version}; is it a mirror without hashes?")
    return wheels, sources


def index(surroundings: Mapping[str, str] = os.environ) -> str:
    """The index that pip is configured for."""
    asked = subprocess.run([*PIP, "config", "get", "global.index-url"], capture_output=True, text=True)
    configured = asked.stdout.strip() if asked.returncode == 0 else ""
    return (surroundings.get("PIP_INDEX_URL") or configured or "https://pypi.org/simple").rstrip("/")


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    match sys.argv[1:]:
        case ["renew"]:
            renew()
        case ["install", *names] if names and set(names) <= SETS.keys():
            install(*names)
        case _:
            raise SystemExit(f"usage: {Path(sys.argv[0]).name} renew | install {'|'.join(SETS)} …")


if __name__ == "__main__":
    main()
