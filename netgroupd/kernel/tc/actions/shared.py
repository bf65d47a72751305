# SPDX-License-Identifier: GPL-2.0-or-later
"""Actions that stand by themselves: RTM_NEWACTION, RTM_DELACTION, and a question for each, many at once."""

import errno
import os
import time
from collections.abc import Iterator, Mapping

from netgroupd.errors import KernelError
from netgroupd.kernel import grace
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attributes, nest, text, u32, walk
from netgroupd.kernel.netlink.request import Call, Codec, Context, Request, Selection
from netgroupd.kernel.netlink.socket import Answer
from netgroupd.kernel.rows import single
from netgroupd.kernel.tc.actions.codec import pack_action, unpack_action
from netgroupd.kernel.tc.holders import rules_with
from netgroupd.kernel.tc.tcmsg import RTM_DELACTION, RTM_GETACTION, RTM_NEWACTION
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.tc.action import FIELDS
from netgroupd.model.tc.shared import OF_RULES
from netgroupd.model.value import Value
from netgroupd.plan.step import AnyStep, Op
from netgroupd.plan.tc.hooks import SHARED

_HEADER = bytes(4)  # struct tcamsg
_TAB, _ROOT_FLAGS = 1, 2
_KIND, _INDEX = 1, 3
_LARGE = b"\1\0\0\0" * 2  # TCA_ACT_FLAG_LARGE_DUMP_ON
_TRIES, _PAUSE_S = 200, 0.01
_TAKEN = "a rule that is not netgroupd's has an action of its own under this index; choose another one"


def dump(context: Context, selection: Selection) -> list[Object]:
    """The selected actions, those of rules marked; of all that there are, those that stand by themselves."""
    if selection.everything:
        return [obj for kind in FIELDS for obj in _standing(context, kind)]
    named = sorted(
        (where.removeprefix(SHARED), int(index)) for where, index in selection.hooks if where.startswith(SHARED)
    )
    asked = [message.request(RTM_GETACTION, 0, _HEADER, _named(kind, index)) for kind, index in named]
    told = context.socket.ask_all(asked, lambda _kind, payload: bytes(payload))
    found = (read for payload in told for read in _read(payload, context.names))
    return [obj if stands else obj.having({OF_RULES: True}) for obj, stands in found]


def _named(kind: str, index: int) -> bytes:
    return nest(_TAB, nest(1, text(_KIND, kind), u32(_INDEX, index)))


def _standing(context: Context, kind: str) -> list[Object]:
    return [obj for obj, stands in of_kind(context, kind) if stands]


def of_kind(context: Context, kind: str) -> list[tuple[Object, bool]]:
    """All actions of a kind, those of rules too, and whether each stands by itself."""
    asked = message.request(
        RTM_GETACTION,
        message.NLM_F_DUMP,
        _HEADER,
        nest(_TAB, nest(1, text(_KIND, kind))),
        message.attr(_ROOT_FLAGS, _LARGE),
    )
    try:
        told = context.socket.dump(asked, lambda _kind, payload: bytes(payload), "dump of actions")
    except KernelError:
        return []  # a kernel without this kind
    return [read for payload in told for read in _read(payload, context.names)]


def _read(payload: bytes, names: Names) -> Iterator[tuple[Object, bool]]:
    told = attributes(memoryview(payload), len(_HEADER)).get(_TAB, memoryview(b""))
    for _, start, end in walk(told):
        whose, fields = unpack_action(told[start:end], names)
        yield Object("action", (whose.kind, whose.number), {"actions": (fields,)}), whose.stands


def _record(attrs: Attrs) -> Mapping[str, Value]:
    actions = attrs["actions"]
    assert isinstance(actions, tuple)
    (record,) = actions
    assert isinstance(record, Mapping)
    return record


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes."""
    one = single(step)
    kind, index = _identity(one.object.key)
    if one.op is Op.DELETE:
        yield Call(lambda: _delete(context, kind, index))
        return
    how = message.NLM_F_EXCL if one.op is Op.CREATE else message.NLM_F_REPLACE
    packed = nest(_TAB, pack_action(1, index, _record(one.object.attrs), context.names))
    if one.op is Op.CREATE and one.why:
        yield Call(lambda: _create(context, packed))
        return
    yield message.request(RTM_NEWACTION, message.NLM_F_CREATE | how, _HEADER, packed)


def _identity(key: Key) -> tuple[str, int]:
    kind, index = key
    assert isinstance(index, int)
    return str(kind), index


def _create(context: Context, packed: bytes) -> None:
    """Make an action whose index a rule has had for one of its own."""
    how = message.NLM_F_ACK | message.NLM_F_CREATE | message.NLM_F_EXCL
    answer = _when_let_go(context, message.request(RTM_NEWACTION, how, _HEADER, packed), errno.EEXIST)
    if answer.errno == errno.EEXIST:
        raise OSError(answer.errno, _TAKEN)
    if answer.errno:
        raise OSError(answer.errno, answer.sentence or os.strerror(answer.errno))


def _delete(context: Context, kind: str, index: int) -> None:
    """Delete an action."""
    asked = message.request(RTM_DELACTION, message.NLM_F_ACK, _HEADER, _named(kind, index))
    answer = _when_let_go(context, asked, errno.EPERM)
    named = f"{kind} {index}"
    if answer.errno == errno.EPERM and (rules := rules_with(context, lambda action: action["kind"] == named)):
        told = f"rules that are not netgroupd's have it: {rules}"
        raise OSError(answer.errno, f"{told}; delete these first, or leave the action in the files")
    if answer.errno:
        raise OSError(answer.errno, answer.sentence or os.strerror(answer.errno))


def _when_let_go(context: Context, asked: bytes, refusal: int) -> Answer:
    """Ask until the answer is another than ``refusal``: what filters had they let go of some time later."""
    for _ in range(_TRIES):
        answer, _ = context.socket.ask(asked)
        if answer.errno != refusal:
            break
        grace.passed()
        time.sleep(_PAUSE_S)
    return answer


CODEC = Codec(dump, encode, body=len(_HEADER))
