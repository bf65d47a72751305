# SPDX-License-Identifier: GPL-2.0-or-later
"""``{v//256}``, ``{v:04}``, ``{10.0.0.0 + v}``: the text between braces -> a function of the ranges' values.

Whole numbers, ``+ - * // %`` and parentheses, a format, and an IP or MAC
address plus or minus a number.  A number alone is the position of a range.
Nothing else: no names but those of ranges, no calls, no loops.
"""

import re
from collections.abc import Callable, Sequence
from operator import add, floordiv, itemgetter, mod, mul, sub
from typing import NamedTuple, TypeAlias

from netgroupd.model.value import ip_bytes, ip_text, mac_text

Env: TypeAlias = tuple[int, ...]
Eval: TypeAlias = Callable[[Env], int]
Field: TypeAlias = Callable[[Env], "int | str"]

LONGEST = 200
_DEEPEST = 20
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<mac>[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}(?![0-9a-fA-F:]))
    |(?P<ip6>(?:[0-9a-fA-F]{0,4}:){2,7}(?:\d+\.\d+\.\d+\.\d+|[0-9a-fA-F]{0,4}))
    |(?P<ip4>\d+\.\d+\.\d+\.\d+)
    |(?P<number>0x[0-9a-fA-F]{1,32}|\d{1,39})(?![\w.])
    |(?P<name>[A-Za-z_]\w*)
    |(?P<operator>//|[-+*%()])
    |(?P<format>:.*)
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_FORMAT = re.compile(r":\s*(0?)([0-9]{0,2})([dxX]?)\s*", re.ASCII)
_BITS = {"ip4": 32, "ip6": 128, "mac": 48}
_NAMES = {"ip4": "IPv4 addresses", "ip6": "IPv6 addresses", "mac": "MAC addresses"}
_MOST = 1 << 128
_PRODUCTS: dict[str, Callable[[int, int], int]] = {"*": mul, "//": floordiv, "%": mod}


class BadTextError(ValueError):
    """A text that is not in the language; ``offset`` says where in it."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


class _Token(NamedTuple):
    kind: str
    text: str
    offset: int


class _Term(NamedTuple):
    """A part of an expression: "int" or the kind of address it comes to."""

    kind: str
    value: Eval


def compile_field(text: str, names: Sequence[str], widths: Sequence[int]) -> Field:
    """Turn what stands between braces into a function of the values of the ranges ``names``.

    Raises:
        BadTextError: It is not an expression, or names no range.
    """
    if len(text) > LONGEST:
        raise BadTextError(0, f"an expression has at most {LONGEST} characters")
    tokens = _tokens(text)
    style = ""
    if tokens and tokens[-1].kind == "format":
        style = _format(tokens.pop())
    if not tokens:
        raise BadTextError(0, "expected the name or number of a range between { and }")
    if len(tokens) == 1 and tokens[0].kind in ("number", "name"):
        return _reference(tokens[0], names, widths, style)
    term = _Parser(tokens, names, len(text)).parse()
    if term.kind != "int":
        if style:
            raise BadTextError(0, "an address takes no format")
        return _address(term)
    return _formatted(term.value, style) if style else _bounded(term.value)


_HINTS = {"/": "; use // to divide", ",": "; a range has brackets: [{}]"}


def _tokens(text: str) -> list[_Token]:
    found = []
    offset = 0
    end = len(text.rstrip())
    while offset < end:
        match = _TOKEN.match(text, offset)
        if not match or not match.lastgroup:
            start = offset + len(text[offset:]) - len(text[offset:].lstrip())
            wrong = text[start : start + 1]
            hint = _HINTS.get(wrong, "").format(text)
            raise BadTextError(start, f"{wrong!r} is not part of the language of {{…}}{hint}")
        found.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        offset = match.end()
    return found


def _format(token: _Token) -> str:
    match = _FORMAT.fullmatch(token.text)
    if not match:
        raise BadTextError(token.offset, f"expected a format like :04, :x or :02x, not {token.text!r}")
    return f"%{match[1]}{match[2]}{match[3] or 'd'}"


def _index(token: _Token, names: Sequence[str]) -> int:
    if token.text in names:
        return names.index(token.text)
    known = [name for name in names if name]
    told = f"there are {', '.join(known)}" if known else "no range here has a name: write [v=1-6] to give it one"
    raise BadTextError(token.offset, f"{token.text!r} is not the name of a range; {told}")


def _reference(token: _Token, names: Sequence[str], widths: Sequence[int], style: str) -> Field:
    if token.kind == "name":
        index = _index(token, names)
    else:
        index = int(token.text, 0) - 1 if token.text.startswith("0x") else int(token.text) - 1
        if not 0 <= index < len(names):
            have = f"there are {len(names)} here" if names else "there is none here"
            raise BadTextError(token.offset, f"there is no range number {token.text}; {have}")
    style = style or (f"%0{widths[index]}d" if widths[index] else "")
    get: Eval = itemgetter(index)
    return _formatted(get, style) if style else get


def _formatted(value: Eval, style: str) -> Field:
    return lambda env: style % value(env)


def _bounded(value: Eval) -> Field:
    def evaluate(env: Env) -> int:
        got = value(env)
        if not -_MOST < got < _MOST:
            raise ValueError("the number has over 128 bits")
        return got

    return evaluate


def _address(term: _Term) -> Field:
    bits = _BITS[term.kind]
    text = mac_text if term.kind == "mac" else ip_text
    kind = _NAMES[term.kind]
    value = term.value

    def evaluate(env: Env) -> str:
        got = value(env)
        if got < 0 or got >> bits:
            raise ValueError(f"leaves the range of {kind}")
        return text(got.to_bytes(bits // 8, "big"))

    return evaluate


class _Parser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, tokens: list[_Token], names: Sequence[str], length: int) -> None:
        self.tokens = tokens
        self.names = names
        self.length = length
        self.next = 0
        self.depth = 0
        self.named = False

    def parse(self) -> _Term:
        term = self._sum()
        if self.next < len(self.tokens):
            token = self.tokens[self.next]
            raise BadTextError(token.offset, f"{token.text!r} was not expected here")
        if not self.named:
            raise BadTextError(0, "nothing varies here: give the range a name, [v=1-6], and calculate with that")
        return term

    def _take(self, *texts: str) -> str:
        if self.next < len(self.tokens):
            token = self.tokens[self.next]
            if token.kind == "operator" and token.text in texts:
                self.next += 1
                return token.text
        return ""

    def _sum(self) -> _Term:
        left = self._product()
        while operator := self._take("+", "-"):
            offset = self.tokens[self.next - 1].offset
            left = self._added(left, operator, self._product(), offset)
        return left

    def _added(self, left: _Term, operator: str, right: _Term, offset: int) -> _Term:
        if right.kind != "int" and (left.kind != "int" or operator == "-"):
            raise BadTextError(offset, "an address takes only a number added or subtracted")
        kind = left.kind if right.kind == "int" else right.kind
        return _Term(kind, _both(add if operator == "+" else sub, left.value, right.value))

    def _product(self) -> _Term:
        left = self._atom()
        while operator := self._take("*", "//", "%"):
            offset = self.tokens[self.next - 1].offset
            right = self._atom()
            if left.kind != "int" or right.kind != "int":
                raise BadTextError(offset, "an address takes only a number added or subtracted")
            left = _Term("int", _both(_PRODUCTS[operator], left.value, right.value))
        return left

    def _atom(self) -> _Term:
        if self._take("-"):
            term = self._nested(self._atom)
            if term.kind != "int":
                raise BadTextError(self.tokens[self.next - 1].offset, "an address has no negative")
            return _Term("int", _both(sub, lambda env: 0, term.value))
        if self._take("("):
            term = self._nested(self._sum)
            if not self._take(")"):
                raise BadTextError(self._offset(), "expected )")
            return term
        if self.next == len(self.tokens):
            raise BadTextError(self.length, "expected a number, a range's name or an address")
        return self._operand(self.tokens[self.next])

    def _nested(self, rule: Callable[[], _Term]) -> _Term:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise BadTextError(self._offset(), f"over {_DEEPEST} levels deep")
        term = rule()
        self.depth -= 1
        return term

    def _operand(self, token: _Token) -> _Term:
        self.next += 1
        if token.kind == "name":
            self.named = True
            return _Term("int", itemgetter(_index(token, self.names)))
        if token.kind == "number":
            return _Term("int", _constant(int(token.text, 16) if token.text.startswith("0x") else int(token.text)))
        if token.kind in _BITS:
            return _Term(token.kind, _constant(_address_number(token)))
        raise BadTextError(token.offset, f"expected a number, a range's name or an address, not {token.text!r}")

    def _offset(self) -> int:
        return self.tokens[self.next].offset if self.next < len(self.tokens) else self.length


def _address_number(token: _Token) -> int:
    if token.kind == "mac":
        return int(token.text.replace(":", ""), 16)
    try:
        return int.from_bytes(ip_bytes(token.text), "big")
    except ValueError:
        raise BadTextError(token.offset, f"{token.text!r} is not an address") from None


def _constant(number: int) -> Eval:
    return lambda env: number


def _both(operation: Callable[[int, int], int], left: Eval, right: Eval) -> Eval:
    def evaluate(env: Env) -> int:
        try:
            return operation(left(env), right(env))
        except ZeroDivisionError:
            raise ValueError("division by zero") from None

    return evaluate
