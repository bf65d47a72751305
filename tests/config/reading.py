# SPDX-License-Identifier: GPL-2.0-or-later
"""Text -> what the configuration stage makes of it, for the tests."""

from netgroupd.config import Desired, desired_from
from netgroupd.config.known import Known
from netgroupd.config.linemap import LineMap
from netgroupd.config.node import Mapping, Node, Scalar, Sequence
from netgroupd.config.render import Rendered
from netgroupd.config.report import Report
from netgroupd.config.sources import Source
from netgroupd.errors import ConfigError, Problem
from netgroupd.model.state import Attrs, Key


def rendered(text: str, name: str = "a.yaml") -> Rendered:
    """A plain file."""
    source = Source(name, name, text)
    return Rendered(source, text, LineMap((source,)))


def report_on(*texts: str) -> Report:
    """A report that knows these texts."""
    return Report([rendered(text, f"{chr(97 + number)}.yaml") for number, text in enumerate(texts)])


def desired(*texts: str, known: tuple[str, ...] = ()) -> Desired:
    """What files called a.yaml, b.yaml, … ask for together."""
    files = [rendered(text, f"{chr(97 + number)}.yaml") for number, text in enumerate(texts)]
    return desired_from(files, Known(known))


def problems(*texts: str, known: tuple[str, ...] = ()) -> tuple[Problem, ...]:
    """Everything that is said about the files, warnings too."""
    try:
        return desired(*texts, known=known).problems
    except ConfigError as error:
        return error.problems


def told(*texts: str, known: tuple[str, ...] = ()) -> list[str]:
    """The problems as the operator reads them."""
    return [str(problem) for problem in problems(*texts, known=known)]


def keys(found: Desired, cls: str) -> list[Key]:
    """The keys of one class."""
    return list(found.state.of(cls))


def attrs(found: Desired, cls: str, *key: object) -> Attrs:
    """The attributes of one object."""
    return dict(found.state.of(cls)[key].attrs)  # type: ignore[index]


def plain(node: Node | None) -> object:
    """A node without its places, null as None."""
    if isinstance(node, Mapping):
        return {key: plain(entry.value) for key, entry in node.entries.items()}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return None if node is None or node.null else node.text


def scalars(node: Node | None) -> list[Scalar]:
    """Every scalar of a node, in order."""
    if isinstance(node, Mapping):
        return [scalar for entry in node.entries.values() for scalar in scalars(entry.value)]
    if isinstance(node, Sequence):
        return [scalar for item in node.items for scalar in scalars(item)]
    return [node] if node else []
