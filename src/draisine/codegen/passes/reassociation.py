"""Reassociation: sums and products regrouped where that saves operations, and reciprocals in place of repeated divisions.

A sum is flattened with all inner sums that have no other reader, a product likewise. Then

- operands that are known earlier are combined, so that they are computed earlier: (x p₁) p₂ = x (p₁ p₂);
- a factor of several terms is factored out: a b + c d + a e = a (b + e) + c d;
- pairs that several sums, or several products, have in common are computed once: x y z and x w z share x z.

Sums and products that gain nothing are unchanged. Rounding errors change, but keep their size: that of the largest term. Sums
with inputs or constants, which may be exact, are unchanged.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from draisine.program import opcodes as op
from draisine.program.ssa import FREE, SSA, live_values, rewrite

_LONGEST_GROUP = 64  # members; pairs of larger groups are not searched
_TOO_SMALL, _TOO_LARGE = 1e-150, 1e150  # no reciprocals of constants beyond
_SUMS = frozenset({op.ADD, op.SUB, op.NEG})
_SIGNS = {op.ADD: (False, False), op.SUB: (False, True), op.NEG: (True,), op.MUL: (False, False)}  # which operands are negative


class Member(NamedTuple):
    """A term of a sum, or a factor of a product; factors are never negative."""

    node: int
    negative: bool = False


_member = partial(tuple.__new__, Member)  # of (node, negative): Member(…) takes twice as long, and most time goes here


class Group(NamedTuple):
    """A sum, or a product, of all its members."""

    is_sum: bool
    members: tuple[Member, ...]


def reassociate(ssa: SSA, rates: Sequence[int] = ()) -> SSA:
    """The same results with fewer operations; `rates` are how often values are computed, compared with each other."""
    if ssa.callees:  # a call and its results must stay adjacent
        return ssa
    groups = _Reassociation(ssa, rates)
    groups.combine_early_members()
    groups.factor_out()
    groups.share_pairs(is_sum=False)
    groups.share_pairs(is_sum=True)
    return groups.result()


class _Reassociation:
    """Nodes are the values of the list, by their indices, and new groups, by indices after these."""

    def __init__(self, ssa: SSA, rates: Sequence[int]) -> None:
        self.ssa = ssa
        self.rates = dict(enumerate(rates)) if rates else dict.fromkeys(range(len(ssa.values)), 0)
        self.changed: set[int] = set()  # groups that differ from their values
        live = live_values(ssa)
        self.readers = Counter([o for v in live for o in ssa.values[v].operands])
        self.readers.update([v for _, _, v in ssa.results])
        self.groups: dict[int, Group] = {}
        absorbed: set[int] = set()  # groups that belong to others
        for v in live:
            kind, operands, _ = ssa.values[v]
            if kind == op.MUL or (kind in _SUMS and not self._is_exact(operands)):
                self.groups[v] = self._group(v, kind, operands, absorbed)
        for o in absorbed:
            del self.groups[o]

    def _group(self, v: int, kind: int, operands: tuple[int, ...], absorbed: set[int]) -> Group:
        """The group of a value. An operand belongs to it if it is alike, has no other reader, and is of the same stage."""
        is_sum, rate, members = kind != op.MUL, self.rates[v], list[Member]()
        for o, negative in zip(operands, _SIGNS[kind], strict=True):
            inner = self.groups.get(o)
            if inner is None or inner.is_sum != is_sum or self.readers[o] != 1 or self.rates[o] != rate:
                members.append(_member((o, negative)))
                continue
            absorbed.add(o)
            members += [_member((node, not sign)) for node, sign in inner.members] if negative else inner.members
        return Group(is_sum, tuple(members))

    def _is_exact(self, operands: tuple[int, ...]) -> bool:
        """Whether a sum has an input or a constant among its terms: x − x₀ may be exact."""
        return any([self.ssa.values[o].kind in FREE for o in operands])

    def _new(self, group: Group) -> int:
        """The node of a new group; that of its member if it has only one, which is not negative."""
        if len(group.members) == 1 and not group.members[0].negative:
            return group.members[0].node
        node = len(self.rates)
        self.groups[node] = group
        self.changed.add(node)
        self.rates[node] = max(self.rates[m.node] for m in group.members)
        for m in group.members:
            self.readers[m.node] += 1
        return node

    def _change(self, node: int, members: Iterable[Member]) -> None:
        for m in self.groups[node].members:
            self.readers[m.node] -= 1
        self.groups[node] = Group(self.groups[node].is_sum, tuple(members))
        for m in self.groups[node].members:
            self.readers[m.node] += 1
        self.changed.add(node)

    # ---------------------------------------------------------------- members known earlier

    def combine_early_members(self) -> None:
        for node, group in list(self.groups.items()):
            early = [m for m in group.members if self.rates[m.node] < self.rates[node]]
            if len(early) > 1:
                flipped = all(m.negative for m in early)
                inner = self._new(Group(group.is_sum, tuple(Member(m.node, m.negative != flipped) for m in early)))
                self._change(node, [Member(inner, flipped), *(m for m in group.members if m not in early)])

    # ---------------------------------------------------------------- factors

    def factor_out(self) -> None:
        for node, group in list(self.groups.items()):
            if group.is_sum:
                members = self._factored(group.members, self.rates[node])
                if members != group.members:
                    self._change(node, members)

    def _factors(self, member: Member, rate: int) -> tuple[Member, ...]:
        """The factors of a product that belongs to one sum alone; otherwise none."""
        group = self.groups.get(member.node)
        own = group is not None and not group.is_sum and self.readers[member.node] <= 1 and self.rates[member.node] == rate
        return group.members if group is not None and own else ()

    def _factored(self, members: tuple[Member, ...], rate: int) -> tuple[Member, ...]:
        while True:
            factors = [self._factors(m, rate) for m in members]
            counts: dict[Member, int] = {}
            for taken in factors:
                for f in dict.fromkeys(taken):
                    counts[f] = counts.get(f, 0) + 1
            if max(counts.values(), default=0) < 2:
                return members
            best = max(counts, key=lambda f: (counts[f], -f.node))
            group = [k for k, taken in enumerate(factors) if best in taken]
            inner: list[Member] = []
            for k in group:
                rest = list(factors[k])
                rest.remove(best)
                inner.append(Member(self._new(Group(False, tuple(rest))), members[k].negative))
            flipped = all(m.negative for m in inner)
            plain = tuple(Member(m.node, m.negative != flipped) for m in inner)
            total = self._new(Group(True, self._factored(plain, rate)))
            product = Member(self._new(Group(False, (best, Member(total)))), flipped)
            members = tuple(product if k == group[0] else m for k, m in enumerate(members) if k == group[0] or k not in group)

    # ---------------------------------------------------------------- pairs

    def share_pairs(self, is_sum: bool) -> None:
        """Pairs of members that several groups have become groups, the most frequent first."""
        where: defaultdict[tuple[int, int, bool], set[int]] = defaultdict(set)
        for node in self._needed():  # in any order: that of the pairs is by how many have them
            group = self.groups.get(node)
            if group is not None and group.is_sum == is_sum and len(group.members) <= _LONGEST_GROUP:
                for pair in _pairs(group.members):
                    where[pair].add(node)
        waiting = [(-len(nodes), pair) for pair, nodes in where.items() if len(nodes) > 1]
        heapq.heapify(waiting)
        while waiting:
            count, pair = heapq.heappop(waiting)
            nodes = where[pair]
            if len(nodes) < 2:
                continue
            if -count != len(nodes):
                heapq.heappush(waiting, (-len(nodes), pair))
                continue
            a, b, differ = pair
            shared = self._new(Group(is_sum, (Member(a), Member(b, differ))))
            for node in sorted(nodes):
                self._put_in(node, pair, shared, where, waiting)

    def _put_in(
        self,
        node: int,
        pair: tuple[int, int, bool],
        shared: int,
        where: defaultdict[tuple[int, int, bool], set[int]],
        waiting: list[tuple[int, tuple[int, int, bool]]],
    ) -> None:
        """The pair of a group replaced by its node."""
        members = list(self.groups[node].members)
        for old in _pairs(members):
            where[old].discard(node)
        one = next(m for m in members if m.node == pair[0] and Member(pair[1], m.negative != pair[2]) in members)
        members.remove(one)
        members.remove(Member(pair[1], one.negative != pair[2]))
        self._change(node, [Member(shared, one.negative), *members])
        for new in _pairs(self.groups[node].members):
            where[new].add(node)
            if len(where[new]) > 1:
                heapq.heappush(waiting, (-len(where[new]), new))

    # ---------------------------------------------------------------- the new list

    def _needed(self) -> dict[int, tuple[int, ...]]:
        """The nodes that results need, with those that each needs itself."""
        needs: dict[int, tuple[int, ...]] = {}
        stack = [value for _, _, value in self.ssa.results]
        while stack:
            node = stack.pop()
            if node not in needs:
                own = tuple([m for m, _ in self.groups[node].members]) if node in self.changed else self.ssa.values[node].operands
                needs[node] = own
                stack += own
        return needs

    def _order(self) -> list[int]:
        """The nodes that results need, each after its operands; values in the order in which they were."""
        needs = self._needed()
        order: list[int] = []
        done: set[int] = set()
        for root in sorted(needs):
            if root not in done and done.issuperset(needs[root]):  # nearly always
                done.add(root)
                order.append(root)
                continue
            stack = [root]
            while stack:
                node = stack[-1]
                missing = [n for n in needs[node] if n not in done] if node not in done else []
                if missing:
                    stack += reversed(missing)
                    continue
                stack.pop()
                if node not in done:
                    done.add(node)
                    order.append(node)
        return order

    def result(self) -> SSA:
        new = SSA(numbers=self.ssa.numbers, callees=self.ssa.callees)
        known: dict[int, int] = {}
        for node in self._order():
            if node in self.changed:
                group = self.groups[node]
                known[node] = (_sum if group.is_sum else _product)(new, [(known[m.node], m.negative) for m in group.members])
            else:
                kind, operands, detail = self.ssa.values[node]
                known[node] = new.add(kind, tuple([known[o] for o in operands]), detail)
        new.results = [(slot, entry, known[value]) for slot, entry, value in self.ssa.results]
        return new


def _pairs(members: Sequence[Member]) -> set[tuple[int, int, bool]]:
    """All pairs of members: the smaller node, the larger one, whether their signs differ."""
    found = set()
    for k, one in enumerate(members):
        for other in members[:k]:
            (a, first), (b, second) = (one, other) if one <= other else (other, one)
            found.add((a, b, first != second))
    return found


def _sum(new: SSA, members: Sequence[tuple[int, bool]]) -> int:
    first = next((k for k, (_, negative) in enumerate(members) if not negative), None)
    if first is None:
        return new.add(op.NEG, (_sum(new, [(value, False) for value, _ in members]),))
    total = members[first][0]
    for k, (value, negative) in enumerate(members):
        if k != first:
            total = new.add(op.SUB if negative else op.ADD, (total, value))
    return total


def _product(new: SSA, members: Sequence[tuple[int, bool]]) -> int:
    total = members[0][0]
    for value, _ in members[1:]:
        total = new.add(op.MUL, (total, value))
    return total


# ------------------------------------------------------------------------------------------- reciprocals


def use_reciprocals(ssa: SSA, rates: Sequence[int] = ()) -> SSA:
    """Divisions by the same number as products with its reciprocal; `rates` are how often values are computed.

    A division takes as long as five products or more. a/d and b/d become a r and b r with r = 1/d, which costs one more rounding.
    So does a/d if r is computed less often than the quotient.
    """
    divisors = Counter(operands[-1] for kind, operands, _ in ssa.values if kind in (op.DIV, op.INV))

    def rule(new: SSA, value: int, operands: tuple[int, ...]) -> int | None:
        kind, (*_, divisor), _ = ssa.values[value]
        constant = ssa.number(divisor)
        if constant is not None and not _TOO_SMALL < abs(constant) < _TOO_LARGE:
            return None
        if divisors[divisor] < 2 and constant is None and not (rates and rates[divisor] < rates[value]):
            return None
        inverse = new.add(op.INV, (operands[-1],))  # of a constant: folded by the compiler
        return inverse if kind == op.INV else new.add(op.MUL, (operands[0], inverse))

    return rewrite(ssa, {op.DIV: rule, op.INV: rule})
