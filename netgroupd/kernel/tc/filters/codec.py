# SPDX-License-Identifier: GPL-2.0-or-later
"""Filters: RTM_NEWTFILTER and RTM_DELTFILTER.

What the rules of one line have in common is laid out once; of each rule there is
then only its match to write.
"""

from collections.abc import Iterator

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import nest, text, u32
from netgroupd.kernel.netlink.request import Call, Codec, Context, Request
from netgroupd.kernel.rows import single
from netgroupd.kernel.tc import u32 as words
from netgroupd.kernel.tc.classifiers import CLASSIFIERS, Match
from netgroupd.kernel.tc.filters import read as filters_read
from netgroupd.kernel.tc.filters import run as filters_run
from netgroupd.kernel.tc.filters.frame import NEW, frames, handle_of, said_by
from netgroupd.kernel.tc.hash_tables import delete_preference, delete_table
from netgroupd.kernel.tc.tcmsg import CHAIN, HEADER, KIND, OPTIONS, RTM_DELTFILTER, RTM_NEWTFILTER, Place
from netgroupd.model.tc.protocol import protocol_number, swapped
from netgroupd.plan.step import AnyStep, Op, RangeStep, Step
from netgroupd.plan.tc.anew import has_other_flags, takes_two
from netgroupd.plan.tc.tables import table_of

_ALL = 0  # in place of a handle


def _write(step: Step, names: Names) -> bytes:
    key = step.object.key
    create = step.op is Op.CREATE
    frame = frames.of_step(step, names)
    form = CLASSIFIERS[str(frame.attrs["kind"])]
    said: Match = key[4]  # type: ignore[assignment]  # what filter.key makes
    # One that the kernel drops on the way gets another handle where that is the kernel's to give.
    if step.before and not step.why and not has_other_flags(step):
        handle = handle_of(step.before.attrs)
    else:  # the old one was of a table that may have gone with it, or others have its handle by now
        wanted = (step.object.attrs,) if step.why else said_by(step)
        handle = next((handle_of(attrs) for attrs in wanted if "handle" in attrs), 0)
        handle &= words.OF_RULE if frame.attrs["kind"] == "u32" else -1
    place = frame.place
    header = place.header(handle or form.handle(said), frame.info)
    options = nest(OPTIONS, frame.begin, form.pack(said), frame.end)
    return message.request(RTM_NEWTFILTER, NEW if create else message.NLM_F_CREATE, header, frame.front, options)


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The message that a step takes; two for a classifier whose rules the kernel does not change."""
    if isinstance(step, RangeStep):
        first, whole = step.steps[0], _delete(step.steps[0], context.names, _ALL)
        if first.object.attrs["kind"] != "u32":
            yield whole
            return
        yield from encode(first, context)
        yield Call(lambda: delete_preference(context.socket, whole))
        return
    one = single(step)
    if one.op is Op.DELETE and table_of(one.object):
        yield Call(lambda: delete_table(context.socket, _delete(one, context.names)))
        return
    if one.op is Op.DELETE or takes_two(one):
        yield _delete(one, context.names)
    if one.op is not Op.DELETE:
        yield _write(one, context.names)


def _delete(step: Step, names: Names, handle: int | None = None) -> bytes:
    """The message that deletes a rule, or all of its preference where ``handle`` says so."""
    where, parent, chain, pref, _ = step.object.key
    assert step.before
    assert isinstance(pref, int)
    place, attrs = Place.of(str(where), str(parent), names), step.before.attrs
    info = pref << 16 | swapped(protocol_number(attrs.get("protocol", "all")))
    front = text(KIND, str(attrs["kind"])) + (u32(CHAIN, chain) if isinstance(chain, int) and chain else b"")
    if attrs["kind"] not in CLASSIFIERS:
        handle = _ALL  # not every classifier deletes single rules, and none of its preference is wanted
    which = handle_of(attrs) if handle is None else handle
    return message.request(RTM_DELTFILTER, 0, place.header(which, info), front)


def blame(_step: AnyStep, path: tuple[int, ...]) -> str:
    """Which part of a rule an attribute is of."""
    if path[:1] == (CHAIN,):
        return "chain"
    return "kind" if path[:1] == (KIND,) else ""


CODEC = Codec(filters_read.dump, encode, blame, HEADER.size, filters_run.run)
