# SPDX-License-Identifier: GPL-2.0-or-later
"""``ports`` of masters and ``master`` of ports, which are the same thing -> the attribute ``master``.

Then every name that a link refers to must be there: named in a file, on the
host, or shaped as a VLAN, which is then made.
"""

import re
from collections.abc import Mapping

from netgroupd.config.node import Mapping as MappingNode
from netgroupd.config.node import Node, Scalar
from netgroupd.config.node import Sequence as SequenceNode
from netgroupd.config.notations import SEPARATOR
from netgroupd.config.sections.links import Block, Links, instances, references_of
from netgroupd.config.values import Record
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.state import NOTHING
from netgroupd.model.value import Value

_SPAN = re.compile(r"(.*?)([0-9]+)-(?:\1)?([0-9]+)(\..*)?", re.ASCII)
_ROLES = {"link": "lower link"}


class Ports:
    """Joins the links of one configuration."""

    def __init__(self, links: Links) -> None:
        self.links = links
        self.report = links.report
        self.by: dict[str, int] = {}  # port -> where its master says so
        self._astray = False  # whether there is no link of a name that may stand for some

    def join(self) -> None:
        """Make the other ends of cables, give every port its master, and make the VLANs that are missing."""
        self._peers()
        for block in self.links.blocks:
            for key in ("ports", "links"):
                node = block.nested(key)
                if node is not None:
                    self._ports(block, key, node)
        self._complete()
        for block in self.links.blocks:
            node = block.nested("port")
            if node is not None:
                self._port_attrs(block, node)

    def _peers(self) -> None:
        links = self.links
        for name, attrs in list(links.attrs.items()):
            if attrs.get("kind") in PAIRS and attrs.get("peer") is not None:
                links.make_peer(name, str(attrs["peer"]), links.place(name, "peer"))

    def _ports(self, block: Block, key: str, node: Node) -> None:
        if block.kind and not KINDS[block.kind].master:
            hint = "ports have bridges, bonds, teams and VRFs"
            self.report.error(block.entries[key].at, f"a {block.kind} has no {key}", hint)
            return
        if key == "links" and block.kind != "vrf" and block.sound:
            self.report.error(block.entries[key].at, "only a VRF has 'links'", "write `ports`")
            return
        scalars = self._scalars(node)
        if not self.links.values.affords(len(scalars) * block.pattern.size, node.at, "this list"):
            return
        patterns = [(item, self.links.values.scalar(item, block.pattern.ranges)) for item in scalars]
        named = [
            (str(port), master, item.at)
            for master, env in instances(block)
            for item, pattern in patterns
            if pattern is not None
            for port, _ in pattern.instances(env)
        ]
        self.links.known.expect({port for port, _, _ in named} - self.links.attrs.keys())
        for port, master, at in named:
            self._enslave(port, master, at)

    def _scalars(self, node: Node) -> list[Scalar]:
        items = node.items if isinstance(node, SequenceNode) else [node]
        found = []
        for item in items:
            if isinstance(item, Scalar) and not item.null:
                found.append(item)
            else:
                self.report.error(item.at, "expected the names of links")
        return found

    def _enslave(self, port: str, master: str, at: int) -> None:
        links = self.links
        attrs = links.attrs.get(port)
        if attrs is None:
            made = links.make_vlan(port, master, at)
            if made:
                # A name that cannot be was told, and is no link.
                if netns := links.attrs.get(master, NOTHING).get("netns"):
                    made["netns"] = netns
            elif port in links.known:
                made = links.attrs[port] = {}
                links.places[port] = at
            else:
                self._missing(port, at, "port", master)
                return
            self.by[port] = at
            made["master"] = master
            return
        before = attrs.get("master", master)
        if before != master:
            where = self.by.get(port) or links.place(port, "master")
            told = f"{port!r} is a port of both {before!r} and {master!r}"
            if before is None:
                told = f"{port!r} is a port of {master!r}, and is said to have no master"
            self.report.once(at, told, f"the other is at {self.report.where(where)}")
            return
        self.by[port] = at
        if "master" not in attrs:
            links.attrs[port] = {**attrs, "master": master}

    def _complete(self) -> None:
        """Look for everything that a link stands on."""
        links = self.links
        every, references = list(links.attrs), dict[Value, tuple[str, ...]]()
        for name in every:  # which grows by what is made on the way
            attrs = links.attrs[name]
            kind = attrs.get("kind", "")
            if (keys := references.get(kind)) is None:
                keys = references[kind] = references_of(str(kind))
            for key in keys:
                other = attrs.get(key)
                if other is None or other in links.attrs or other in links.known:
                    continue
                at = links.place(name, key)
                if links.make_vlan(str(other), name, at):
                    every.append(str(other))
                else:
                    self._missing(str(other), at, _ROLES.get(key, key), name)

    def _missing(self, name: str, at: int, role: str, asker: str) -> None:
        if name in self.links.unsound:
            return
        # Neither who asks nor a VLAN of what is asked for can be meant.
        others = (one for one in self.links.attrs if one != asker and not one.startswith(f"{name}."))
        hint = meant_by(name) or self.links.known.meant(name) or self.report.nearest(name, others)
        self._astray = self._astray or role == "port"
        hint = hint or "name it under `links`, or is it misspelt?"
        self.report.missing(at, f"there is no link {name!r} ({role} of {asker!r})", hint)

    def _port_attrs(self, block: Block, node: Node) -> None:
        """Read ``port``, whose rows are those of the master's kind."""
        links = self.links
        if not isinstance(node, MappingNode):
            self.report.error(node.at, "'port' must be a mapping of attributes")
            return
        records: dict[str, Record] = {}
        for name, env in instances(block):
            attrs = links.attrs.get(name, {})
            kind = self._kind_of_master(name, attrs.get("master"), node)
            if not kind:
                return
            if kind not in records:
                records[kind] = links.values.record(node.entries, KINDS[kind].port, block.pattern.ranges)
            got = {**records[kind].shared, **links.values.evaluate(records[kind], env, name)}
            self._references(name, kind, got, node)
            for key, value in got.items():
                if attrs.get(f"port.{key}", value) != value:
                    self._clash(name, key, block, node)
            links.attrs[name] = {**{f"port.{key}": value for key, value in got.items()}, **attrs}

    def _clash(self, name: str, key: str, block: Block, node: MappingNode) -> None:
        others = (one.nested("port") for one in self.links.blocks_of(name) if one is not block)
        places = (other.entries[key].at for other in others if isinstance(other, MappingNode) and key in other.entries)
        first = self.report.where(next(places, node.entries[key].at))
        told = f"{key!r} of the port {name!r} was set to another value"
        self.report.once(node.entries[key].at, told, f"the other is at {first}")

    def _kind_of_master(self, name: str, master: Value, node: Node) -> str:
        """The kind whose ports have attributes; "" where there is none, which is told."""
        if not master and self._astray:
            return ""
        if not master:
            hint = "say its `master`, or name it under the `ports` of a bridge or bond"
            self.report.missing(node.at, f"{name!r} has no master, so it has no attributes of a port", hint)
            return ""
        if master in self.links.unsound:
            return ""
        kind = self.links.kind(str(master))
        if kind in KINDS and KINDS[kind].port:
            return kind
        if kind:
            self.report.once(node.at, f"ports of a {kind}, as {master!r} is, have no attributes")
        else:
            hint = f"say the `kind` of {master!r} under `links`"
            self.report.missing(node.at, f"what a port of {master!r} can have depends on its kind", hint)
        return ""

    def _references(self, name: str, kind: str, got: Mapping[str, Value], node: MappingNode) -> None:
        for key, value in got.items():
            names_link = KINDS[kind].port[key].type.ref == "link" and value is not None
            if names_link and value not in self.links.attrs and value not in self.links.known:
                self._missing(str(value), node.entries[key].value.at, key, name)


def meant_by(name: str) -> str:
    """What was probably meant by a name in the notation of another program."""
    if len(names := SEPARATOR.split(name)) > 1:
        return f"several names are a list: [{', '.join(map(_in_brackets, names))}]"
    written = _in_brackets(name)
    return f"a range has brackets: {written}" if written != name else ""


def _in_brackets(name: str) -> str:
    span = _SPAN.fullmatch(name)
    return f"{span[1]}[{span[2]}-{span[3]}]{span[4] or ''}" if span else name
