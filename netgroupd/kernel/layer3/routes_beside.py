# SPDX-License-Identifier: GPL-2.0-or-later
"""IPv4 routes of other programs beside one of ours: `ip route prepend` and `append` make such.

They have its destination, tos and metric.  NLM_F_REPLACE replaces the first of them,
whoever made it, so it must be known whether that is ours.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from netgroupd.kernel.layer3.routes_identity import HEADER, LENGTH, PROTOCOL, RTM_GETROUTE, key_of, lengths_of
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.model.family import INET
from netgroupd.model.owner import PROTO
from netgroupd.model.state import Key
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.step import AnyStep, Op, Step


def takes_turns(step: AnyStep) -> bool:
    """Whether a step changes a route of ours that may be among others': the other families keep no order of them."""
    if not isinstance(step, Step) or step.op is not Op.CHANGE or step.before is None:
        return False
    return step.object.cls == "route" and step.object.key[0] == "inet" and UNOWNED not in step.before.attrs


def beside(socket: Socket, steps: Iterable[AnyStep]) -> Mapping[Key, bool]:
    """Which routes that are about to change others have too, and whether ours is the first; one that is gone was.

    The kernel has no filter for them.
    """
    keys = {step.object.key for step in filter(takes_turns, steps) if isinstance(step, Step)}
    if not keys:
        return {}
    lengths = lengths_of(keys)

    def take(_kind: int, payload: memoryview) -> tuple[Key, bool] | None:
        if payload[LENGTH] not in lengths:
            return None
        key = key_of(payload)
        return (key, payload[PROTOCOL] == PROTO) if key in keys else None

    rows: dict[Key, list[bool]] = defaultdict(list)
    for key, ours in socket.dump(_asked(), take, "dump of routes"):
        rows[key].append(ours)
    return {key: row[0] or not any(row) for key, row in rows.items() if not all(row)}


def again(socket: Socket, key: Key, deletion: bytes, creation: bytes) -> None:
    """Make a route of ours anew that may be gone already: then this would delete one of another metric.

    Raises:
        OSError: The kernel refuses.
    """
    ours = socket.dump(_asked(PROTO), lambda _kind, payload: key_of(payload), "dump of routes")
    for told in (deletion, creation) if key in ours else (creation,):
        answer, _ = socket.ask(told)
        if answer.errno:
            raise OSError(answer.errno, answer.sentence)


def _asked(protocol: int = 0) -> bytes:
    header = HEADER.pack(INET, 0, 0, 0, 0, protocol, 0, 0, 0)
    return message.request(RTM_GETROUTE, message.NLM_F_DUMP, header)
