"""XML files of robots as plain elements with line numbers, read safely.

Documents with a DTD or entities are refused, nothing is fetched, and size, depth and number of elements are limited. Further
files (meshes, includes) are opened only if they lie below one of the roots, links resolved.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote
from xml.parsers import expat

from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import did_you_mean
from draisine.results.control_characters import one_line
from draisine.results.files import read_bytes

MAX_ELEMENTS = 200_000
MAX_DEPTH = 200
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?", re.ASCII | re.IGNORECASE)


@dataclass
class Element:
    """An element of an XML file, with its children and its line."""

    tag: str
    attributes: dict[str, str]
    file: Path
    line: int
    children: list[Element] = field(default_factory=list)
    content: str = ""

    def refuse(self, message: str) -> NoReturn:
        """Raise an error that begins with file and line."""
        raise ModelError(f"{self.file}, line {self.line}: {message}")

    def find(self, tag: str) -> Element | None:
        """The only child of this name, or None."""
        found = self.all(tag)
        if len(found) > 1:
            found[1].refuse(f"<{self.tag}> has several <{tag}>; keep one (the first is in line {found[0].line})")
        return found[0] if found else None

    def need(self, tag: str, where: str) -> Element:
        """The only child of this name, which must be there."""
        return self.find(tag) or self.refuse(f"{where}: <{tag}> is missing")

    def all(self, *tags: str) -> list[Element]:
        """Children of these names, in the order of the file."""
        return [child for child in self.children if child.tag in tags]

    def walk(self) -> Iterator[Element]:
        """This element and all below it."""
        pending = [self]
        while pending:
            element = pending.pop()
            yield element
            pending += reversed(element.children)

    def text(self, key: str, where: str, default: str | None = None) -> str:
        """An attribute, without surrounding blanks."""
        value = self.attributes.get(key, default)
        if value is None:
            self.refuse(f'{where}: <{self.tag}> has no {key!r}; give it as {key}="…"')
        return value.strip()

    def choice(self, key: str, where: str, known: Sequence[str], default: str | None = None) -> str:
        """An attribute that is one of `known`."""
        value = self.text(key, where, default)
        if value not in known:
            hint = did_you_mean(value, known).partition("did you mean")
            near = f"; {hint[1]}{hint[2]}" if hint[1] else ""
            self.refuse(f"{where}: {key} {_shown(value)} is unknown; known are {', '.join(known)}{near}")
        return value

    def numbers(self, key: str, where: str, count: int, default: Sequence[float] | None = None) -> tuple[float, ...]:
        """An attribute of `count` finite numbers."""
        if key not in self.attributes and default is not None:
            return tuple(default)
        parts = self.text(key, where).split()
        if len(parts) != count:
            expected = "one number" if count == 1 else f"{count} numbers"
            self.refuse(f"{where}: {key} of <{self.tag}> needs {expected}, got {_shown(self.attributes[key])}")
        values = tuple(self._number(part, key, where) for part in parts)
        if not all(map(math.isfinite, values)):
            self.refuse(f"{where}: {key} of <{self.tag}> must be finite, got {_shown(self.attributes[key])}")
        return values

    def number(self, key: str, where: str, default: float | None = None, infinite: bool = False) -> float:
        """An attribute that is a number; `infinite` allows ±inf."""
        if infinite and key in self.attributes:
            return self._number(self.text(key, where), key, where)
        return self.numbers(key, where, 1, None if default is None else (default,))[0]

    def _number(self, part: str, key: str, where: str) -> float:
        if not _NUMBER.fullmatch(part):
            self.refuse(f"{where}: {key} of <{self.tag}> must be a number, got {_shown(part)}")
        return float(part)


def _shown(value: str) -> str:
    value = one_line(value)
    return repr(value if len(value) <= 60 else f"{value[:57]}…")


# -------------------------------------------------------------------- reading


def read_xml(path: str | Path, verb: str) -> Element:
    """The root element of the file `path`; `verb` names the caller in errors."""
    if not isinstance(path, str | Path):
        raise ArgumentError(f"{verb}: expected the name of a file such as 'robot.urdf', got {path!r}")
    return parse_xml(read_bytes(path, ModelError), Path(path))


def parse_xml(data: bytes, source: Path = Path("XML")) -> Element:
    """The root element of a document; errors begin with `source`."""
    return _Builder(source).parse(data)


class _Builder:
    """Elements from the events of a parser."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.open: list[Element] = []
        self.root: Element | None = None
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = lambda *_: self._refuse("a document type (DTD)")
        self.parser.EntityDeclHandler = lambda *_: self._refuse("an entity")
        self.parser.ExternalEntityRefHandler = lambda *_: self._refuse("an external entity")

    def parse(self, data: bytes) -> Element:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as problem:
            reason = expat.ErrorString(problem.code)
            raise ModelError(f"{self.source}, line {problem.lineno}: not valid XML: {reason}; check the tags there") from None
        except (LookupError, ValueError) as problem:
            if isinstance(problem, ModelError):
                raise
            raise ModelError(f"{self.source}: not valid XML: {problem}; save the file as UTF-8") from None
        assert self.root is not None
        return self.root

    def _refuse(self, what: str) -> NoReturn:
        raise ModelError(
            f"{self.source}, line {self.parser.CurrentLineNumber}: the file declares {what}, which is not read; "
            "remove the declaration and write what it stands for"
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        self.count += 1
        if self.count > MAX_ELEMENTS or len(self.open) >= MAX_DEPTH:
            limit = f"more than {MAX_ELEMENTS:,} elements" if self.count > MAX_ELEMENTS else f"nested deeper than {MAX_DEPTH}"
            raise ModelError(f"{self.source}, line {line}: {limit}; is it the right file?")
        element = Element(tag, dict(attributes), self.source, line)
        if tag.startswith("xacro:"):
            element.refuse(f"<{tag}> is a macro of xacro; expand the file first: xacro robot.xacro > robot.urdf")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def _end(self, _: str) -> None:
        self.open.pop()

    def _characters(self, text: str) -> None:
        if self.open and text.strip():
            self.open[-1].content += text


# -------------------------------------------------------------------- other files


@dataclass(frozen=True)
class Roots:
    """The folders below which files may be opened, and the folder of the file that names them."""

    home: Path
    folders: tuple[Path, ...]

    @staticmethod
    def of(path: Path, given: Sequence[str | Path] | str | Path | None, verb: str) -> Roots:
        """Those given, or the folder of the file and that of its package, the nearest above with a package.xml."""
        home = path.resolve().parent
        if given is None:
            package = next((folder for folder in (home, *home.parents) if (folder / "package.xml").is_file()), None)
            return Roots(home, (home,) if package is None else (home, package))
        listed = [given] if isinstance(given, str | Path) else given
        if not isinstance(listed, Sequence) or not all(isinstance(folder, str | Path) for folder in listed):
            raise ArgumentError(f"{verb}: roots must be folders such as ['meshes', 'robots/arm'], got {given!r}")
        folders = tuple(Path(folder).resolve() for folder in listed)
        missing = next((folder for folder in folders if not folder.is_dir()), None)
        if missing is not None:
            raise ArgumentError(f"{verb}: the folder {str(missing)!r} of roots does not exist")
        return Roots(home, folders)

    def find(self, name: str) -> tuple[Path | None, str]:
        """The file that a name or a URI (package://, file://) stands for; None with the reason if it must not be opened."""
        if "\0" in name:
            return None, "is not a valid file name"
        scheme, separator, rest = name.partition("://")
        rest = unquote(rest) if separator else rest
        if separator and scheme not in ("package", "model", "file"):
            return None, f"has the scheme {scheme}://, and only package://, model:// and file:// are read"
        if separator and scheme in ("package", "model"):
            package, _, inside = rest.partition("/")
            candidates = [folder / rest for folder in self.folders]
            candidates += [folder / inside for folder in self.folders if package in _names(folder)]
        else:
            wanted = Path(rest) if separator else Path(name.replace("\\", "/"))
            candidates = [wanted] if wanted.is_absolute() else [folder / wanted for folder in (self.home, *self.folders)]
        allowed = [path for path in map(Path.resolve, candidates) if any(path.is_relative_to(root) for root in self.folders)]
        if not allowed:
            return None, f"lies outside of {' and '.join(map(repr, map(str, self.folders)))}; name its folder by roots="
        found = next((path for path in allowed if path.is_file()), None)
        if found is None:
            return None, f"is not in {' or '.join(map(repr, map(str, self.folders)))}; name its folder by roots="
        return found, ""


def _names(folder: Path) -> set[str]:
    """The names of a package: that of its folder, and that in its package.xml."""
    listing = folder / "package.xml"
    if not listing.is_file():
        return {folder.name}
    name = read_xml(listing, "read_urdf").find("name")
    return {folder.name} | ({name.content.strip()} if name is not None else set())
