# SPDX-License-Identifier: GPL-2.0-or-later
"""What links have that nobody configured: one of each kind is made in an empty namespace and read back.

So the defaults are those of the running kernel, and no table of them can be wrong.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from netgroupd.kernel.netlink.batch import Refused
from netgroupd.kernel.netlink.request import Selection
from netgroupd.kernel.netns import fresh
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.bridge import is_of_provider
from netgroupd.model.route import family_of
from netgroupd.model.state import NOTHING, Attrs, Object, State
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.step import AnyStep, Op, Step


class Likeness(NamedTuple):
    """What makes links alike by themselves: their kind, that of their master, and which of what they are is told."""

    kind: str
    master: str = ""
    told: tuple[str, ...] = ()

    @classmethod
    def of(cls, link: Object, master: Object | None) -> "Likeness":
        """What a link is like."""
        told = (_telling(name, value) for name, value in _told(link).items())
        return cls(kind_of(link), kind_of(master), tuple(told))


Usual: TypeAlias = Mapping[Likeness, Attrs]
_BELOW = {"link": "lower", "slave1": "one", "slave2": "two"}
_CARD = Object("link", ("",), NOTHING)
_BY_MODE = frozenset({"bond", "ipvlan", "ipvtap", "netkit", "tun"})
_KEYED = frozenset({"erspan", "ip6erspan"})
# A simulated card outlives the namespace, and of its number there is one in all of them: that which is wanted.
_OUTLIVING = frozenset({"netdevsim"})
# A port has a priority of LACP in a bond that speaks it, and else nothing that it has not there.
_MASTERS: Mapping[str, Attrs] = {"vrf": {"table": 4000}, "bond": {"mode": "802.3ad"}}
_LARGE = 9000
_LIKE_A_CARD = "dummy"  # as a port, of which a card has what its master gives it


class Sample(NamedTuple):
    """What one link that is up takes: bytes of memory, and seconds to make it."""

    bytes: int
    seconds: float


class SampleKernel(Protocol):
    """What making a sample takes."""

    def dump(self, selection: Selection) -> State:
        """What there is."""

    def apply(self, steps: Sequence[AnyStep]) -> tuple[Refused, ...]:
        """Do the steps."""

    def close(self) -> None:
        """End the conversation."""


def usual_attrs(links: Mapping[tuple[Value, ...], Object], connect: Callable[[], SampleKernel]) -> Usual:
    """The attributes that a link has by itself, by what it is like."""
    samples: dict[Likeness, Object] = {}
    for link in links.values():
        master = links.get((link.attrs.get("master"),))
        if kind_of(link) in KINDS and kind_of(link) not in _OUTLIVING:
            samples.setdefault(Likeness.of(link, master), link)
        if master:  # a card may be among its ports, or what is taken for one
            samples.setdefault(Likeness("", kind_of(master)), _CARD)
    try:
        with fresh():
            return _all_made(samples, connect)
    except PermissionError:  # a confined daemon: then all is said, also what goes without saying
        return {}


def _all_made(samples: Mapping[Likeness, Object], connect: Callable[[], SampleKernel]) -> Usual:
    usual: dict[Likeness, Attrs] = {}
    before: dict[str, Object] = {}
    kernel = connect()
    try:
        for number, (alike, link) in enumerate(samples.items()):
            kind, made = alike.kind or _LIKE_A_CARD, Object("link", (f"sample{number}",), NOTHING)
            if kind in before:  # of tunnels of which nothing is said there is one
                kernel.apply([Step(Op.DELETE, before[kind], None, NOTHING)])
            usual[alike] = _made(kernel, number, kind, alike.master, link)
            before[kind] = made
    finally:
        kernel.close()
    return usual


def _made(kernel: SampleKernel, number: int, kind: str, master: str, like: Object) -> Attrs:
    name, above = f"sample{number}", f"master{number}"
    for step in sample_steps(name, above, kind, master, like):
        if kernel.apply([step]):
            break  # one that may not be such a port has what it has alone
    made = kernel.dump(Selection(everything=True)).link(name)
    return {attr: value for attr, value in made.attrs.items() if attr not in _told(like)} if made else NOTHING


def _told(like: Object) -> Attrs:
    """What a link is besides its kind: without it none can be made, or what else it has by itself depends on it."""
    attrs, kind = like.attrs, kind_of(like)
    if kind not in KINDS:
        return {}
    told = {name: attrs.get(name) for name in ("id", "if_id", "external") if name not in KINDS[kind].required}
    if kind in _BY_MODE:
        told["mode"] = attrs.get("mode")
    if kind in _KEYED:
        told |= {name: attrs.get(name) for name in ("ikey", "okey", "erspan_ver")}
    if kind == "geneve":  # whose MTU is that of the way there, and of none to nowhere
        told["remote"] = attrs.get("remote")
    if kind == "bridge" and is_of_provider(attrs):
        told |= {name: attrs[name] for name in ("vlan_filtering", "vlan_protocol")}
    if told.get("id") == 0 and not told.get("external"):
        return {"id": 0, **{name: value for name, value in told.items() if value}}
    return {name: value for name, value in told.items() if value}


def _telling(name: str, value: Value) -> str:
    """What counts of an attribute: of few more than that it is there."""
    if name == "remote":
        return f"remote of {family_of(str(value))}"
    return f"mode {value}" if name == "mode" else name


def sample_steps(name: str, above: str, kind: str, master: str, like: Object) -> Iterator[Step]:
    """Make a link of a kind, like one that is there, and what it stands on or is a port of."""
    needed = {attr: like.attrs[attr] for attr in KINDS[kind].required if attr in like.attrs}
    needed |= _told(like)
    if "fwmark" in KINDS[kind].attrs:  # a tunnel of which nothing is said at all does not look for the path's MTU
        needed["fwmark"] = 0
    needed |= {"link": ""} if KINDS[kind].lower else {}
    # A dummy does not resolve addresses, and a VLAN on it then neither does nor looks for duplicates.
    lower: dict[str, Value] = {"kind": "dummy", **({"arp": True} if like.attrs.get("arp") else {})}
    if master in _MASTERS:  # a bond gives its MTU to what may have less beside its headers
        lower["mtu"] = _LARGE
    for attr in needed.keys() & _BELOW.keys():
        yield _create(below := f"{_BELOW[attr]}{name}", lower)
        needed[attr] = below
    sample = _create(name, {"kind": kind, **needed})
    yield sample
    if master:
        yield _create(above, {"kind": master, **_MASTERS.get(master, {})})
        yield Step(Op.CHANGE, sample.after, sample.after, {"master": above})


def _create(name: str, attrs: Mapping[str, Value]) -> Step:
    made = Object("link", (name,), attrs)
    return Step(Op.CREATE, None, made, attrs)


def differing_from(usual: Attrs, attrs: Attrs, ignore: Iterable[str]) -> dict[str, Value]:
    """The attributes that somebody set to what they are not by themselves."""
    skipped = frozenset(ignore)
    return {
        name: value
        for name, value in attrs.items()
        if name not in skipped and value is not None and (name not in usual or usual[name] != value)
    }
