# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects and the state they make up: the one vocabulary of desired and actual.

An object is its class, its key and its attributes.  The key is everything the
kernel cannot change in place.  In a desired object an attribute that is not in
``attrs`` was not mentioned, one that is ``None`` shall be absent, and zero is
zero; an actual object holds what the kernel reports.

Instances of one range share what they have in common, so ``attrs`` must never
be modified once it is in an object: 500,000 links are a matter of memory.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from netgroupd.errors import Problem
from netgroupd.model.value import Value

Key: TypeAlias = tuple[Value, ...]
Attrs: TypeAlias = Mapping[str, Value]
NOTHING: Attrs = MappingProxyType({})
_DICTS = frozenset({dict})


class Origin(NamedTuple):
    """The line of the template or file that asked for an object."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Object(NamedTuple):
    """One thing the kernel holds or shall hold, such as a link or a route."""

    cls: str
    key: Key
    attrs: Attrs
    origin: Origin | None = None

    @property
    def name(self) -> str:
        """The first field of the key: the name of a link, the link of an address."""
        return str(self.key[0])

    def having(self, attrs: Attrs) -> "Object":
        """The same with these attributes, in place of what it had of them."""
        return self._replace(attrs={**self.attrs, **attrs})

    def only(self, names: Container[str]) -> "Object":
        """The same with no other attributes than some."""
        return self._replace(attrs={name: value for name, value in self.attrs.items() if name in names})

    def without(self, *names: str) -> "Object":
        """The same without some attributes."""
        return self._replace(attrs={name: value for name, value in self.attrs.items() if name not in names})


def called(cls: str) -> str:
    """A class as files and people call it: the one of tc would be a word of Python's."""
    return "class" if cls == "tclass" else cls


def problem_of(obj: Object, message: str, hint: str) -> Problem:
    """What is wrong with what the configuration asks for, at the line that does."""
    file, line, column = obj.origin or ("the configuration", 0, 0)
    return Problem(file, line, column, message, hint)


def integer(attrs: Attrs, field: str, default: int = 0) -> int:
    """The number that an attribute is; ``default`` where it is none."""
    found = attrs.get(field)
    return found if isinstance(found, int) else default


def integers(attrs: Attrs, field: str, default: tuple[int, ...] = ()) -> tuple[int, ...]:
    """The numbers of an attribute that has several."""
    found = attrs.get(field)
    return tuple(each for each in found if isinstance(each, int)) if isinstance(found, tuple) else default


def records(attrs: Attrs, field: str) -> tuple[Mapping[str, Value], ...]:
    """The records of an attribute that has several."""
    found = attrs.get(field)
    if not found:
        return ()
    assert isinstance(found, tuple)
    if _DICTS.issuperset(map(type, found)):  # nearly all are, and very many rules have some of their own
        return found  # type: ignore[return-value]
    return tuple([record for record in found if isinstance(record, Mapping)])


class Group(NamedTuple):
    """A named set of links that share attributes and are changed together.

    ``within`` are the groups that it is a member of.  ``drift`` is what happens
    to changes made behind netgroupd's back: "report", "repair" or "ignore".
    ``online``: the host is not online without its links.
    """

    name: str
    id: int
    attrs: Attrs
    within: tuple[str, ...] = ()
    drift: str = "report"
    origin: Origin | None = None
    online: bool = True


class State:
    """Objects by class and key, and the groups that the links refer to."""

    __slots__ = ("__weakref__", "classes", "groups")

    def __init__(self, objects: Iterable[Object] = (), groups: Mapping[str, Group] | None = None) -> None:
        self.classes: dict[str, dict[Key, Object]] = {}
        self.groups: dict[str, Group] = dict(groups or {})
        for obj in objects:
            self.add(obj)

    def add(self, obj: Object) -> None:
        """Hold ``obj``, in the place of one with the same class and key."""
        self.classes.setdefault(obj.cls, {})[obj.key] = obj

    def of(self, cls: str) -> Mapping[Key, Object]:
        """All objects of one class, in the order they came."""
        return self.classes.get(cls, {})

    def link(self, name: str) -> Object | None:
        """The link called ``name``, if there is one."""
        return self.of("link").get((name,))

    def having(self, **classes: dict[Key, Object]) -> "State":
        """The same with these objects of some classes."""
        other = State(groups=self.groups)
        other.classes = {**self.classes, **classes}
        return other

    def copied(self) -> "State":
        """The same, to be changed."""
        return self.having(**{cls: dict(objects) for cls, objects in self.classes.items()})

    def __iter__(self) -> Iterator[Object]:
        for objects in self.classes.values():
            yield from objects.values()

    def __len__(self) -> int:
        return sum(map(len, self.classes.values()))
