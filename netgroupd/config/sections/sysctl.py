# SPDX-License-Identifier: GPL-2.0-or-later
"""``sysctl``, of the host or under a link -> kernel settings.

The host's are written as sysctl(8) has them, ``net.ipv4.ip_forward``.  Those of
a link begin with the protocol, ``ipv4.rp_filter`` or ``ipv6.neigh.gc_stale_time``;
a mapping stands for the dots.
"""

from collections.abc import Iterator, Sequence

from netgroupd.config.expression import Env
from netgroupd.config.merge import Item
from netgroupd.config.node import Entry, Node
from netgroupd.config.node import Mapping as MappingNode
from netgroupd.config.sections.entries import Compiled, Sink
from netgroupd.config.sections.links import Block, Links, instances
from netgroupd.config.values import Scope, Values
from netgroupd.model.sysctl import CLASS
from netgroupd.model.value import Value

_PATH = CLASS.key[0].type
_VALUE = CLASS.attrs["value"]
PROTOCOLS = ("ipv4", "ipv6", "mpls")
_TREES = ("conf", "neigh")


def expand_sysctl(items: Sequence[Item], links: Links, sink: Sink) -> None:
    """Make the settings of the host and of every link that has some."""
    values = links.values
    for item in items:
        for path, entry in _leaves(item.key, Entry(item.at, item.node)):
            pattern = values.pattern(path, item.at)
            if pattern is not None:
                setting = _setting(entry, pattern.ranges, values)
                for text, env in pattern.instances():
                    _add(str(text), setting, env, "", links, sink)
    for block in links.blocks:
        node = block.nested("sysctl")
        if node is None:
            continue
        if not isinstance(node, MappingNode):
            links.report.error(node.at, "'sysctl' must be a mapping like {ipv4.rp_filter: 0}")
            continue
        for place in _of_link(node, links):
            if links.values.admits(block.pattern.size, node.at, "setting"):
                _under_link(place, block, links, sink)


def _leaves(path: str, entry: Entry) -> Iterator[tuple[str, Entry]]:
    if not isinstance(entry.value, MappingNode):
        yield path, entry
        return
    separator = "/" if "/" in path else "."
    for key, inner in entry.value.entries.items():
        yield from _leaves(f"{path}{separator}{key}", inner)


def _setting(entry: Entry, scope: Scope, values: Values) -> Compiled:
    record = values.record({"value": entry}, {"value": _VALUE}, scope)
    return Compiled(entry.at, {"value": entry}, (), record, {}, record.shared, frozenset())


def _add(path: str, setting: Compiled, env: Env, link: str, links: Links, sink: Sink) -> None:
    try:
        key: Value = _PATH.parse(path)
    except ValueError as error:
        links.report.once(setting.at, f"{error}, not {path!r}")
        return
    for made in setting.each(links.values, env, link):
        if made.attrs:
            sink.add("sysctl", (key,), made.attrs, setting)


def _of_link(node: Node, links: Links) -> Iterator[tuple[str, str, Entry]]:
    """What a link's settings are called around its name: before it, behind it, and the value."""
    assert isinstance(node, MappingNode)
    for first, entry in node.entries.items():
        for path, leaf in _leaves(first, entry):
            protocol, *rest = path.replace("/", ".").split(".")
            if protocol not in PROTOCOLS or not rest:
                links.report.error(entry.at, f"unknown setting {path!r} of a link", "begin with ipv4., ipv6. or mpls.")
                continue
            tree = rest.pop(0) if rest[0] in _TREES else "conf"
            yield f"net/{protocol}/{tree}", "/".join(rest), leaf


def _under_link(place: tuple[str, str, Entry], block: Block, links: Links, sink: Sink) -> None:
    before, behind, entry = place
    setting = _setting(entry, block.pattern.ranges, links.values)
    for name, env in instances(block):
        _add(f"{before}/{name}/{behind}", setting, env, name, links, sink)
