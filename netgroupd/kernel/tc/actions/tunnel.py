# SPDX-License-Identifier: GPL-2.0-or-later
"""The action tunnel_key: the tunnel that a packet is to go through, or has come through."""

import struct
from collections.abc import Mapping

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import attr, nest, u8
from netgroupd.kernel.tc.actions.rows import read, simple
from netgroupd.kernel.tc.flower_nests import options, unpack_options
from netgroupd.model.tc.action import TUNNEL_STEPS
from netgroupd.model.value import Value, ip_bytes, ip_text

_TUNNEL = {"id": 7, "dst_port": 9, "tos": 12, "ttl": 13}
_TUNNEL_IP = {"src_ip": {4: 3, 16: 5}, "dst_ip": {4: 4, 16: 6}}
_NO_CSUM, _OPTS, _NO_FRAG = 10, 11, 14
_UNTOLD = ("dst_port", "tos", "ttl")  # where they are 0
_OPTIONS = frozenset({"geneve_opts", "vxlan_opts", "erspan_opts"})
_TUNNEL_WORDS = {number: word for word, number in TUNNEL_STEPS.items()}


def pack(fields: Mapping[str, Value], _names: Names) -> tuple[bytes, bytes]:
    """What follows the common structure, and the attributes beside it."""
    more = simple("tunnel_key", _TUNNEL, fields)
    for name, numbers in _TUNNEL_IP.items():
        if name in fields:
            whole = ip_bytes(str(fields[name]))
            more += attr(numbers[len(whole)], whole)
    if "csum" in fields:
        more += u8(_NO_CSUM, int(not fields["csum"]))
    more += b"".join(nest(_OPTS, options(name, fields[name])) for name in sorted(_OPTIONS & fields.keys()))
    more += attr(_NO_FRAG, b"") if fields.get("nofrag") else b""
    return struct.pack("=i", TUNNEL_STEPS[str(fields["do"])]), more


def unpack(rest: bytes, found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    """What a dump tells."""
    fields: dict[str, Value] = {
        "do": _TUNNEL_WORDS[struct.unpack_from("=I", rest)[0]],
        **read("tunnel_key", _TUNNEL, found),
    }
    for name, numbers in _TUNNEL_IP.items():
        for number in numbers.values():
            if number in found:
                fields[name] = ip_text(bytes(found[number]))
    if _OPTS in found:
        fields |= unpack_options(found[_OPTS])
    if fields["do"] == "set":
        fields = {**dict.fromkeys(_UNTOLD, 0), **fields}
        fields |= {"csum": not (_NO_CSUM in found and found[_NO_CSUM][0]), "nofrag": _NO_FRAG in found}
    return fields
