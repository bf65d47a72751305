# SPDX-License-Identifier: GPL-2.0-or-later
"""What a class of objects needs to speak with the kernel, and what it answers with."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from netgroupd.kernel.features import Features
from netgroupd.kernel.layer3.rules_beside import Standing
from netgroupd.kernel.links.seen import Seen
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.model.owner import PROTO
from netgroupd.model.state import Key, Object
from netgroupd.plan.step import AnyStep

Away: TypeAlias = frozenset[tuple[str, str]]
"""Links that live in other network namespaces, each as the name of the namespace and its own."""


class Context(NamedTuple):
    """One network namespace as the modules of the classes see it.

    ``spare`` is told of each link that is about to lose an IPv4 address, and tells what
    to say before; ``came`` of each that gets one.  ``beside`` are IPv4 routes of ours that others
    have too, and whether ours comes first.
    ``standing`` are the rules, where some are about to be deleted.
    """

    socket: Socket
    names: Names
    features: Features
    netns: str | None
    generic: Generic
    proto: int = PROTO
    seen: Seen | None = None
    spare: Callable[[int], bytes] = lambda _link: b""
    came: Callable[[int], None] = lambda _link: None
    beside: Mapping[Key, bool] = MappingProxyType({})
    standing: Standing | None = None


class Selection(NamedTuple):
    """What a dump shall bring.

    ``links`` are wanted by name, the ports of ``masters``, and everything in ``groups`` (ids; of a whole
    range of ids where ``group_mask`` says so).  Of ``bridges`` the options of all
    VLANs are, of ``cards`` all virtual functions, of ``tokens`` those of these links.
    Routes are wanted of ``tables`` alone, where some are named, addresses and neighbours of the links ``places``.
    ``settings`` are paths
    below /proc/sys.  ``key_files`` are by link the files that its keys may be in: the
    kernel tells keys, not files.  ``hooks`` of traffic control are a link (or shared
    block) and the parent that rules hang on.  ``rows`` are the attributes of links that
    matter, where not all do.  ``entries`` are forwarding entries that are wanted whoever
    made them.  ``ethtool`` are the parts of links that drivers are told of, and which of their
    attributes matter.
    ``held`` are keys by class: instead of what is netgroupd's comes what of others,
    be it DHCP or the kernel itself, keeps these from being made.
    ``taken`` are shared actions whose indices rules have for actions of their own: such a rule tells it.
    ``rules`` of traffic control are expected: one that is there takes its key from them.  Without ``handles``
    rules that are as expected share what is said of them.
    ``nexthops`` are ids: of routes those of others come that go with these.
    With ``vlans_apart`` what ranges of VLANs do not tell matters.
    ``everything`` is what ``capture`` wants.
    """

    classes: frozenset[str] = frozenset({"link"})
    links: frozenset[str] = frozenset()
    masters: frozenset[str] = frozenset()
    groups: frozenset[int] = frozenset()
    group_mask: int = 0xFFFFFFFF
    bridges: frozenset[str] = frozenset()
    cards: frozenset[str] = frozenset()
    tokens: frozenset[str] = frozenset()
    tables: frozenset[int] = frozenset()
    places: frozenset[str] = frozenset()
    settings: frozenset[str] = frozenset()
    hooks: frozenset[tuple[str, str]] = frozenset()
    key_files: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    rows: frozenset[str] | None = None
    entries: Set[Key] = frozenset()
    ethtool: Mapping[Key, frozenset[str]] = MappingProxyType({})
    held: Mapping[str, frozenset[Key]] = MappingProxyType({})
    taken: frozenset[Key] = frozenset()
    rules: Mapping[Key, Object] = MappingProxyType({})
    handles: bool = True
    nexthops: frozenset[int] = frozenset()
    vlans_apart: bool = False
    everything: bool = False

    def has_link(self, name: str, group: int) -> bool:
        """Whether a link of that name in that group is wanted."""
        return self.everything or name in self.links or group in self.groups or group & self.group_mask in self.groups


EVERYTHING = Selection(everything=True)


class Call(NamedTuple):
    """What is no rtnetlink message: an ioctl, a file under /proc/sys, generic netlink.

    ``run`` raises OSError where the kernel refuses.  It runs in its place in the
    order, after all messages before it.
    """

    run: Callable[[], None]


Request: TypeAlias = "bytes | Call"
Form: TypeAlias = Callable[[bytes], bytes]
"""What is made of a message before it is sent: all that it does depends on its header alone."""


class Run(NamedTuple):
    """The messages of so many steps, one behind the other, in the form that they are sent in.

    ``masks`` are those of the rules that they make, each with its preference; None where one may have several.
    """

    taken: int
    messages: bytes
    masks: Sequence[tuple[Key, object]] | None = ()


class Codec(NamedTuple):
    """How one class of objects is read and written.

    ``encode`` yields the messages (of ``message.request``) and calls that one
    step takes; it may raise UnknownLinkError.  ``blame`` names the attribute at a
    path of attribute numbers in such a message, "" where it is none of ours.
    """

    dump: Callable[[Context, Selection], Iterable[Object]]
    encode: Callable[[AnyStep, Context], Iterable[Request]]
    blame: Callable[[AnyStep, tuple[int, ...]], str] = lambda _step, _path: ""
    body: int = 16
    """Where the attributes start behind the header of its messages, as the size of its struct."""
    run: Callable[[Sequence[AnyStep], int, Names, int, Form], Run] | None = None
    """The messages of steps from one place on, at most so many, that may go in any order and are one for each."""
