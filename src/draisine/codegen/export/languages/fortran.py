"""Fortran 2008: a module with one pure subroutine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from draisine.codegen.export.language import ARITHMETIC, Argument, Body, Language, Source, joined, listed, rows
from draisine.errors import ExportError

_SAME = listed("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp log sqrt erf")
_LONGEST_LINE = 124  # before the indentation of the module; the standard allows 132

_SEARCH = """
! the cell of x: the last knot that is not above it, never the last of all
pure function search(knots, x) result(cell)
    real(dp), intent(in) :: knots(:), x
    real(dp) :: cell
    integer :: low, middle, high
    low = 1
    high = size(knots)
    do while (high - low > 1)
        middle = (low + high)/2
        if (knots(middle) <= x) then
            low = middle
        else
            high = middle
        end if
    end do
    cell = real(low - 1, dp)
end function
"""
_FETCH = """
pure function fetch(numbers, k) result(found)
    real(dp), intent(in) :: numbers(:), k
    real(dp) :: found
    if (k >= 0.0_dp .and. k < real(size(numbers), dp)) then
        found = numbers(int(k) + 1)
    else
        found = numbers(1)
    end if
end function
"""


class Fortran(Language):
    key, title, suffix = "fortran", "Fortran 2008", ".f90"
    brackets, first_index, has_matrices = ("(", ")"), 1, True
    infinity, not_a_number = "ieee_value(1.0_dp, ieee_positive_inf)", "ieee_value(1.0_dp, ieee_quiet_nan)"
    case_matters = False
    longest_name = 48  # the standard allows 63; names of tables and modules get suffixes
    reserved = """
        abs aint aimag anint allocatable allocate assign associate backspace block call case character class close common
        complex contains continue cycle data deallocate default dimension do double dp elemental else elseif elsewhere end
        enddo endif entry equivalence error exit external final flush forall format function generic go goto if iff implicit
        import in include inout inquire int integer intent interface intrinsic iso_fortran_env ieee_arithmetic ieee_value
        ieee_positive_inf ieee_quiet_nan kind len logical max maxloc maxval merge min mod module namelist none nullify only
        open operator optional out parameter pause pointer precision print private procedure program protected public pure
        read real real64 recursive result return rewind rewrite save select sequence sign size stop subroutine sum target then
        to type unit use value where while write"""
    operations: ClassVar[Mapping[str, str]] = {
        **ARITHMETIC,
        **{"twice": "2.0_dp * {0}", "inv": "1.0_dp / {0}", "ne": "{0} /= {1}", "as_truth": "{0} /= 0.0_dp"},
        **{"and": "{0} .and. {1}", "or": "{0} .or. {1}", "not": ".not. {0}"},
        **{name: f"{name}({{0}})" for name in _SAME},
        **{
            "fabs": "abs({0})",
            "pow": "{0}**{1}",
            "atan2": "atan2({0}, {1})",
            "hypot": "hypot({0}, {1})",
            "fmod": "mod({0}, {1})",
        },
        "copysign": "sign({0}, {1})",
        # the intrinsic `floor` gives integers, which are too small for large numbers
        "floor": "merge(aint({0}) - 1.0_dp, aint({0}), aint({0}) > {0})",
        "ceil": "merge(aint({0}) + 1.0_dp, aint({0}), aint({0}) < {0})",
        "select": "merge({1}, {2}, {0})",
        "as_number": "merge(1.0_dp, 0.0_dp, {0})",
        "search": "search({table}, {0})",
        "fetch": "fetch({table}, {0})",
    }
    helpers: ClassVar[Mapping[str, str]] = {"search": _SEARCH, "fetch": _FETCH}

    def finite(self, value: float) -> str:
        return f"{value!r}_dp"

    def comment(self, text: str) -> str:
        return f"! {text}".rstrip()

    def assign(self, name: str, expression: str, truth: bool = False) -> str:
        return f"{name} = {expression}"

    def store(self, argument: Argument, k: int, expression: str) -> str:
        return f"{self.place(argument, k)} = {expression}"

    def call(self, name: str, function: str, operands: Sequence[str], count: int) -> list[str]:
        # pieces of an array constructor: a statement may not have more than 255 further lines
        lines = [f"{name}_given({k + 1}) = {text}" for k, text in enumerate(operands)]
        return [*lines, f"call {function}({name}_given, {name})"]

    def table(self, name: str, numbers: Sequence[str]) -> list[str]:
        lines = [f"real(dp), private, save :: {name}({len(numbers)})"]
        for begin in range(0, len(numbers), 200):
            part = numbers[begin : begin + 200]
            if any("ieee" in text for text in part):
                raise ExportError(f"the table {name!r} has an entry that is not finite, which Fortran cannot hold in a constant")
            values = [text.strip("()") for text in part]  # in a data statement a number has its sign, not a parenthesis
            head = f"data {name}({begin + 1}:{begin + len(part)}) / &"
            lines += [head, *(f"    {line} &" for line in rows(values, 100)), "    /"]
        return lines

    def defaults(self, name: str, numbers: Sequence[str]) -> list[str]:
        first, *more = rows(numbers, 100)
        lines = [f"real(dp), parameter, public :: {name}({len(numbers)}) = [ &", *(f"    {line} &" for line in (first, *more))]
        return [*lines, "    ]"]

    def small_function(self, name: str, arguments: Sequence[str], body: Body, result: str) -> list[str]:
        declared = [f"real(dp), intent(in) :: {', '.join(arguments)}", "real(dp) :: found", *self._declarations(body)]
        lines = [*declared, *body.lines, f"found = {result}"]
        return [f"pure function {name}({', '.join(arguments)}) result(found)", *self._statements(lines), "end function"]

    def inner_function(self, name: str, given: int, body: Body, results: Sequence[str]) -> list[str]:
        declared = [f"real(dp), intent(in) :: given({given})", f"real(dp), intent(out) :: taken({len(results)})"]
        stores = [f"taken({k + 1}) = {text}" for k, text in enumerate(results)]
        lines = [*declared, *self._declarations(body), *body.lines, *stores]
        return [f"pure subroutine {name}(given, taken)", *self._statements(lines), "end subroutine"]

    def elimination(self, name: str, n: int, sides: int) -> list[str]:
        text = _ELIMINATION.replace("NAME", name).replace("SIZE", str(n)).replace("SIDES", str(sides))
        return text.strip("\n").split("\n")

    def main_function(self, name: str, inputs: Sequence[Argument], outputs: Sequence[Argument], body: Body) -> list[str]:
        declared = [f"real(dp), intent(in) :: {a.name}{_shape(a)}" for a in inputs]
        declared += [f"real(dp), intent(out) :: {a.name}{_shape(a)}" for a in outputs]
        lines = [*declared, *self._declarations(body), "", *body.lines]
        arguments = ", ".join(a.name for a in (*inputs, *outputs))
        return [*self._continued(f"pure subroutine {name}({arguments})"), *self._statements(lines), "end subroutine"]

    def file(self, source: Source) -> str:
        body = [*self.needed_helpers(source), *([""] if self.needed_helpers(source) else []), *source.functions]
        body += [*([""] if body else []), *source.main]
        ieee = ["use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_positive_inf, ieee_quiet_nan"]
        uses = ["use, intrinsic :: iso_fortran_env, only: dp => real64", *(ieee if "ieee_" in "\n".join(body) else [])]
        module = f"{source.name}_module"
        top = [f"module {module}", *self.indented([*uses, "implicit none", "private", f"public :: {source.name}"])]
        tables = [*self.default_tables(source), *source.tables]
        parts = [
            self.header(source.header),
            top,
            self.indented(tables),
            ["contains"],
            self.indented(body),
            [f"end module {module}"],
        ]
        return joined(parts)

    def _declarations(self, body: Body) -> list[str]:
        lines = [f"real(dp) :: {line.rstrip(',')}" for line in rows(body.numbers, 100)] if body.numbers else []
        lines += [f"logical :: {line.rstrip(',')}" for line in rows(body.truths, 100)] if body.truths else []
        return [*lines, *(f"real(dp) :: {name}_given({given}), {name}({taken})" for name, given, taken in body.vectors)]

    def _statements(self, lines: Sequence[str]) -> list[str]:
        """Indented, with long lines continued. `!` begins a comment wherever it stands: no text holds another."""
        wrapped = []
        for line in self.indented(lines):
            code, mark, text = line.partition("  ! ")
            if mark and len(line) > _LONGEST_LINE:
                wrapped.append(f"{self.indent}! {text}")
                line = code
            wrapped += self._continued(line)
        return wrapped

    def _continued(self, line: str) -> list[str]:
        """A line cut between words where it is too long."""
        wrapped = []
        while len(line) > _LONGEST_LINE:
            cut = line.rindex(" ", 0, _LONGEST_LINE - 2)
            wrapped.append(f"{line[:cut]} &")
            line = f"{self.indent * 2}{line[cut + 1 :]}"
        return [*wrapped, line]


def _shape(argument: Argument) -> str:
    if argument.is_number:
        return ""
    rows_, columns = argument.slot.shape
    return f"({rows_}, {columns})" if argument.is_matrix else f"({rows_})"


_ELIMINATION = """
! K z = r by elimination with partial pivoting: K and then each r are given by columns, each z is taken
pure subroutine NAME(given, taken)
    real(dp), intent(in) :: given(SIZE*SIZE + SIZE*SIDES)
    real(dp), intent(out) :: taken(SIZE*SIDES)
    real(dp) :: a(SIZE, SIZE), z(SIZE, SIDES), row(SIZE), side(SIDES), factor
    integer :: i, k, pivot
    a = reshape(given(1:SIZE*SIZE), [SIZE, SIZE])
    z = reshape(given(SIZE*SIZE + 1:), [SIZE, SIDES])
    do k = 1, SIZE
        pivot = k - 1 + maxloc(abs(a(k:, k)), 1)
        if (pivot < k) pivot = k
        if (pivot /= k) then
            row = a(k, :)
            a(k, :) = a(pivot, :)
            a(pivot, :) = row
            side = z(k, :)
            z(k, :) = z(pivot, :)
            z(pivot, :) = side
        end if
        do i = k + 1, SIZE
            factor = a(i, k)/a(k, k)
            a(i, k + 1:) = a(i, k + 1:) - factor*a(k, k + 1:)
            z(i, :) = z(i, :) - factor*z(k, :)
        end do
    end do
    do k = SIZE, 1, -1
        z(k, :) = (z(k, :) - matmul(a(k, k + 1:), z(k + 1:, :)))/a(k, k)
    end do
    taken = reshape(z, [SIZE*SIDES])
end subroutine
"""
