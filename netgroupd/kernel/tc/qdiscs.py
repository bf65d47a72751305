# SPDX-License-Identifier: GPL-2.0-or-later
"""Qdiscs and their classes: RTM_NEWQDISC, RTM_NEWTCLASS and their like.

Those that the kernel puts on a link by itself have no handle, and are left out.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attr, attributes, nest, text, u32
from netgroupd.kernel.netlink.request import Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, goal, single
from netgroupd.kernel.tc.qdisc_options import CLASSES, QDISCS
from netgroupd.kernel.tc.sizes import STAB, pack_stab, unpack_stab
from netgroupd.kernel.tc.tcmsg import (
    EGRESS_BLOCK,
    HEADER,
    INGRESS_BLOCK,
    KIND,
    OPTIONS,
    RTM_DELQDISC,
    RTM_DELTCLASS,
    RTM_GETCHAIN,
    RTM_GETQDISC,
    RTM_GETTCLASS,
    RTM_NEWQDISC,
    RTM_NEWTCLASS,
    Located,
    Place,
)
from netgroupd.model.state import NOTHING, Attrs, Key, Object
from netgroupd.model.tc.handle import handle_number, handle_text
from netgroupd.model.value import Value
from netgroupd.plan.step import AnyStep, Op, Step
from netgroupd.plan.tc.hooks import CLSACT, CLSACT_HOOKS, ROOT, SHARED, WITHOUT_RULES, Hook, asked_at

_HANDLE = 4  # of the header's fields
_FEW = 16  # dumps of classes, which the kernel tells by link
_RATES = frozenset({"rate", "ceil"})
_FROM_RATES = frozenset({"ceil", "burst", "cburst", "quantum"})
_BLOCKS = {"ingress_block": INGRESS_BLOCK, "egress_block": EGRESS_BLOCK}


def dump(context: Context, selection: Selection) -> list[Object]:
    """The qdiscs of the selected hooks; of clsact, whether somebody else uses it too."""
    asked = message.request(RTM_GETQDISC, message.NLM_F_DUMP, bytes(HEADER.size))
    found = []

    def take(_kind: int, payload: memoryview) -> bytes | None:
        return bytes(payload) if HEADER.unpack_from(payload)[_HANDLE] else None  # most links have the kernel's alone

    for payload in context.socket.dump(asked, take, "dump of qdiscs"):
        obj = _decode(memoryview(payload), context.names)
        if obj is None or selection.everything:
            found += [obj] if obj else []
        elif obj.key[1] != CLSACT:
            found += [obj] if (obj.name, ROOT) in selection.hooks else []
        elif (in_use := _in_use(context, obj, selection.hooks)) is not None:
            found.append(obj.having({"in_use": in_use}))
    return found


def _in_use(context: Context, qdisc: Object, selected: frozenset[Hook]) -> bool | None:
    """Whether somebody else uses a qdisc of hooks; None where neither it nor a block that it shares is selected."""
    if selected.isdisjoint((qdisc.name, part) for part in (*CLSACT_HOOKS, *WITHOUT_RULES)):
        # Whose link shares a block of ours is somebody else.
        return None if selected.isdisjoint(asked_at(qdisc, hook) for hook in CLSACT_HOOKS) else True
    named = ((hook, f"{hook}_block" if f"{hook}_block" in qdisc.attrs else hook) for hook in CLSACT_HOOKS)
    others = [hook for hook, name in named if (qdisc.name, name) not in selected]
    return any(_has_rules(context, qdisc, hook) for hook in others)


def _has_rules(context: Context, qdisc: Object, hook: str) -> bool:
    if qdisc.attrs["kind"] == "ingress" and hook == "egress":
        return False
    place = Place.of(*asked_at(qdisc, hook), context.names)
    # A chain is there as long as it has rules or a template, and is one message where its rules may be 100,000.
    asked = message.request(RTM_GETCHAIN, message.NLM_F_DUMP, place.header())
    return bool(context.socket.dump(asked, lambda _kind, _payload: True, "dump of chains"))


def hooks(context: Context, selection: Selection) -> frozenset[tuple[str, str]]:
    """Where classes and rules are to be looked for: as selected, or wherever some can hang."""
    if not selection.everything:
        return frozenset(
            (where, parent)
            for where, parent in selection.hooks
            if parent not in WITHOUT_RULES and not where.startswith(SHARED)
        )
    found = set()
    for obj in dump(context, selection):
        if obj.key[1] == CLSACT:
            hooks_of_kind = CLSACT_HOOKS if obj.attrs["kind"] == CLSACT else {"ingress"}
            found |= {asked_at(obj, hook) for hook in hooks_of_kind}
        else:
            found |= {(obj.name, str(obj.attrs["handle"])), (obj.name, ROOT)}
    return frozenset(found)


def hooks_of_rules(context: Context, selection: Selection) -> Iterator[Located]:
    """Where rules hang: those of a root qdisc on its handle; for "root" the kernel tells those of an ingress qdisc.

    They hang on classes too.
    """
    found = {hook for hook in hooks(context, selection) if hook[1] != ROOT}
    if selection.everything:
        found |= {(tclass.name, str(tclass.key[1])) for tclass in dump_classes(context, selection)}
    for where, parent in sorted(found):
        with suppress(UnknownLinkError):
            yield Located.of(where, parent, context.names)


def _decode(payload: memoryview, names: Names) -> Object | None:
    _, _, _, index, handle, parent, _ = HEADER.unpack_from(payload)
    where = Place(index, parent).names(names)
    found = attributes(payload, HEADER.size)
    kind = bytes(found[KIND]).rstrip(b"\0").decode()
    if where is None:
        return None
    attrs: dict[str, Value] = {"kind": kind, "handle": handle_text(handle)}
    if kind in QDISCS and OPTIONS in found:
        attrs |= QDISCS[kind].unpack(found[OPTIONS])
    if STAB in found:
        attrs["stab"] = unpack_stab(found[STAB])
    attrs |= {name: int.from_bytes(found[number], "little") for name, number in _BLOCKS.items() if number in found}
    return Object("qdisc", where, attrs)


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes."""
    one = single(step)
    link, parent = one.object.key
    attrs: Attrs = one.object.attrs if one.op is Op.DELETE else goal(one)
    handle = handle_number(str(attrs["handle"])) if "handle" in attrs else 0
    place = Place.of(str(link), str(parent), context.names)
    if parent == CLSACT:
        handle = 0xFFFF0000
    header = place.header(handle)
    if one.op is Op.DELETE:
        yield message.request(RTM_DELQDISC, 0, header)
        return
    kind = str(attrs["kind"])
    form = QDISCS[kind]
    # What was lost meanwhile is made anew, by a change that says why.
    changes = one.op is Op.CHANGE and not one.why
    options = form.pack(one.attrs if changes and not form.whole else attrs)
    if changes and one.attrs.keys() == {"stab"}:
        options = b""  # which not every kind takes a change of
    stab = attrs.get("stab")  # which any change takes away that does not say it
    how = message.NLM_F_EXCL if one.op is Op.CREATE else message.NLM_F_REPLACE
    blocks = (u32(number, attrs[name]) for name, number in _BLOCKS.items() if isinstance(attrs.get(name), int))  # type: ignore[arg-type]
    yield message.request(
        RTM_NEWQDISC,
        message.NLM_F_CREATE | how,
        header,
        text(KIND, kind),
        (nest if form.nested else attr)(OPTIONS, options) if options else b"",
        pack_stab(stab) if isinstance(stab, Mapping) else b"",
        *blocks,
    )


CODEC = Codec(
    dump, encode, blamer({(KIND,): "kind", **{(number,): name for name, number in _BLOCKS.items()}}), HEADER.size
)


def dump_classes(context: Context, selection: Selection) -> list[Object]:
    """The classes of the links whose tree of qdiscs is selected."""
    links = {where for where, parent in hooks(context, selection) if parent == ROOT}
    there = _with_classes(context) if len(links) > _FEW else None
    found: dict[Key, Object] = {}
    for link in sorted(links):
        try:
            index = context.names.index(link)
        except UnknownLinkError:
            continue
        if there is not None and index not in there:
            continue
        told = _classes_of(context, index)
        # One netem with no qdisc in it ends the list of those that are in classes of others.
        if any(HEADER.unpack_from(payload)[-1] for payload in told):
            there = _with_classes(context) if there is None else there
            for handle in there.get(index, ()):
                told += _classes_of(context, index, handle)
        found.update({obj.key: obj for payload in told if (obj := _decode_class(memoryview(payload), link))})
    return [*found.values()]


def _classes_of(context: Context, index: int, handle: int = 0) -> list[bytes]:
    """What the kernel tells of the classes of all qdiscs of a link, or of one."""
    asked = message.request(RTM_GETTCLASS, message.NLM_F_DUMP, Place(index, handle).header())
    return context.socket.dump(asked, lambda _kind, payload: bytes(payload), "dump of classes")


def _with_classes(context: Context) -> dict[int, list[int]]:
    """The qdiscs of kinds with classes by the numbers of their links; those below others only beside a netem."""
    found: dict[int, list[int]] = {}
    cut: set[int] = set()

    def take(_kind: int, payload: memoryview) -> None:
        name = bytes(attributes(payload, HEADER.size)[KIND]).rstrip(b"\0").decode()
        _, _, _, index, handle, *_ = HEADER.unpack_from(payload)
        if name == "netem":
            cut.add(index)
        elif name in CLASSES:
            found.setdefault(index, []).append(handle)

    asked = message.request(RTM_GETQDISC, message.NLM_F_DUMP, bytes(HEADER.size))
    context.socket.dump(asked, take, "dump of qdiscs")
    return {index: handles if index in cut else [] for index, handles in found.items()}


def _decode_class(payload: memoryview, link: str) -> Object | None:
    _, _, _, _, handle, parent, _ = HEADER.unpack_from(payload)
    found = attributes(payload, HEADER.size)
    kind = bytes(found[KIND]).rstrip(b"\0").decode()
    # A qdisc with classes is the class X:0 of itself.
    if kind not in CLASSES or OPTIONS not in found or not handle & 0xFFFF:
        return None
    over = handle & 0xFFFF0000 if parent == 0xFFFFFFFF else parent
    attrs: dict[str, Value] = {"kind": kind, "parent": handle_text(over), **CLASSES[kind].unpack(found[OPTIONS])}
    return Object("tclass", (link, handle_text(handle)), attrs)


def encode_class(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes."""
    one = single(step)
    link, classid = one.object.key
    attrs: Attrs = one.object.attrs if one.op is Op.DELETE else _without_what_follows(one)
    handle = handle_number(str(classid))
    parent = handle_number(str(attrs["parent"])) if "parent" in attrs else handle & 0xFFFF0000
    header = Place(context.names.index(str(link)), parent).header(handle)
    if one.op is Op.DELETE:
        yield message.request(RTM_DELTCLASS, 0, header)
        return
    kind = str(attrs["kind"])
    how = message.NLM_F_CREATE | (message.NLM_F_EXCL if one.op is Op.CREATE else 0)
    options = attr(OPTIONS, CLASSES[kind].pack(attrs))
    yield message.request(RTM_NEWTCLASS, how, header, text(KIND, kind), options)


def _without_what_follows(step: Step) -> Attrs:
    """What a class shall hold: at another rate nothing that followed from the last one and was not said."""
    attrs, before = goal(step), step.before.attrs if step.before else NOTHING
    if all(step.attrs[name] == before.get(name) for name in _RATES & step.attrs.keys()):
        return attrs
    said = step.object.attrs
    return {name: value for name, value in attrs.items() if name in said or name not in _FROM_RATES}


CLASS_CODEC = Codec(dump_classes, encode_class, blamer({(KIND,): "kind"}), HEADER.size)
