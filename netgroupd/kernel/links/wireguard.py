# SPDX-License-Identifier: GPL-2.0-or-later
"""What WireGuard links have besides what all links have, by generic netlink.

Keys are read from their files when they are set and when they are compared, and
are in no value, message to the operator or journal.  Only peers that change are
touched: the others keep their sessions.
"""

import base64
import binascii
import errno
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.message import attr, attributes, nest, u8, u16, u32, walk
from netgroupd.model.family import BY_SIZE, INET
from netgroupd.model.kinds.wireguard import ANOTHER_KEY, whole
from netgroupd.model.state import Attrs
from netgroupd.model.value import Value, ip_bytes, ip_text, split_prefix

FAMILY = "wireguard"
_GET, _SET = 0, 1
_IFINDEX, _PRIVATE, _LISTEN_PORT, _FWMARK, _PEERS = 1, 3, 6, 7, 8
_PUBLIC, _PRESHARED, _FLAGS, _ENDPOINT, _KEEPALIVE, _ALLOWED = 1, 2, 3, 4, 5, 9
_IP_FAMILY, _IP_ADDRESS, _IP_LENGTH = 1, 2, 3
_REMOVE, _REPLACE_ALLOWED = 1, 2
_MOST = 16 << 10  # of peers in one message, and of networks in one peer: the length of an attribute has 16 bits
_NO_KEY = bytes(32)

Peer = Mapping[str, Value]


def key_in(path: str) -> bytes:
    """Read a key as ``wg genkey`` writes it; what is wrong is said without what is in the file.

    Raises:
        OSError: There is none, or none that may be read.
    """
    try:
        key = base64.b64decode(Path(path).read_bytes().strip(), validate=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot read the key file {path}: {error.strerror}") from None
    except (ValueError, binascii.Error):
        key = b""
    if len(key) != len(_NO_KEY):
        raise OSError(errno.EINVAL, f"there is no key in {path}")
    return key


def _endpoint(value: str) -> bytes:
    host, _, port = value.rpartition(":")
    address = ip_bytes(host.removeprefix("[").removesuffix("]"))
    head = struct.pack("=H", BY_SIZE[len(address)]) + struct.pack(">H", int(port))
    return head + address + bytes(8) if len(address) == 4 else head + bytes(4) + address + bytes(4)


def _endpoint_text(payload: bytes) -> str:
    (port,) = struct.unpack_from(">H", payload, 2)
    if struct.unpack_from("=H", payload)[0] == INET:
        return f"{ip_text(payload[4:8])}:{port}"
    return f"[{ip_text(payload[8:24])}]:{port}"


def _allowed(prefix: str) -> bytes:
    address, length = split_prefix(prefix)
    family = BY_SIZE[len(address)]
    return nest(0, u16(_IP_FAMILY, family), attr(_IP_ADDRESS, address), u8(_IP_LENGTH, length))


def _pack_peer(peer: Peer) -> list[bytes]:
    """One peer; of one with thousands of networks the others are put to the first, peer by peer."""
    public = attr(_PUBLIC, base64.b64decode(str(peer["public_key"])))
    parts, more = [public], list[bytes]()
    if (path := peer.get("preshared_key_file")) != ANOTHER_KEY:
        parts.append(attr(_PRESHARED, key_in(str(path)) if path else _NO_KEY))
    if endpoint := peer.get("endpoint"):
        parts.append(attr(_ENDPOINT, _endpoint(str(endpoint))))
    keepalive, allowed = peer.get("persistent_keepalive"), peer.get("allowed_ips")
    if isinstance(keepalive, int):
        parts.append(u16(_KEEPALIVE, keepalive))
    if isinstance(allowed, tuple):
        first, *more = _portions([_allowed(str(prefix)) for prefix in allowed])
        parts += [u32(_FLAGS, _REPLACE_ALLOWED), nest(_ALLOWED, first)]
    return [nest(0, *parts), *(nest(0, public, nest(_ALLOWED, portion)) for portion in more)]


def _peers(value: Value) -> dict[str, Peer]:
    rows: Iterable[Value] = value if isinstance(value, tuple) else ()
    return {str(row["public_key"]): row for row in rows if isinstance(row, Mapping)}


def _changes(before: Value, wanted: Value) -> list[bytes]:
    old, new = ({key: whole(peer) for key, peer in _peers(value).items()} for value in (before, wanted))
    gone = (attr(_PUBLIC, base64.b64decode(key)) + u32(_FLAGS, _REMOVE) for key in old if key not in new)
    others = [peer for key, peer in new.items() if key not in old or not peer.items() <= old[key].items()]
    return [nest(0, peer) for peer in gone] + [part for peer in others for part in _pack_peer(peer)]


def _portions(parts: Sequence[bytes]) -> list[bytes]:
    portions = [b""]
    for part in parts:
        if len(portions[-1]) + len(part) > _MOST:
            portions.append(b"")
        portions[-1] += part
    return portions


def configure(generic: Generic, index: int, before: Attrs, attrs: Attrs) -> None:
    """Give the link what ``attrs`` has.

    Raises:
        OSError: A key file cannot be read, or the kernel refuses.
    """
    device = [u32(_IFINDEX, index)]
    path = attrs.get("private_key_file", ANOTHER_KEY)
    if path != ANOTHER_KEY:
        device.append(attr(_PRIVATE, _NO_KEY if path is None else key_in(str(path))))
    for name, number, pack in (("listen_port", _LISTEN_PORT, u16), ("fwmark", _FWMARK, u32)):
        value = attrs.get(name)
        if isinstance(value, int):
            device.append(pack(number, value))
    changes = _changes(before.get("peers"), attrs["peers"]) if "peers" in attrs else ()
    for portion in _portions(changes):
        generic.tell(FAMILY, _SET, *device, *([nest(_PEERS, portion)] if portion else ()))
        device = device[:1]


class _Keys(NamedTuple):
    """Which file holds which key, of those that one link may have."""

    paths: Mapping[bytes, str]

    def path(self, key: bytes) -> Value:
        """The file of a key; None for none."""
        return None if key == _NO_KEY else self.paths.get(key, ANOTHER_KEY)


def _clamped(key: bytes) -> bytes:
    """A private key as the kernel keeps it; `wg genkey` writes such, and other makers of keys any 32 bytes."""
    return bytes((key[0] & 248, *key[1:31], key[31] & 127 | 64))


def _known(paths: Iterable[str]) -> _Keys:
    found: dict[bytes, str] = {}
    for path in paths:
        try:
            key = key_in(path)
        except OSError:
            continue  # setting it will say what is wrong
        found[key] = found[_clamped(key)] = path
    return _Keys(found)


def _unpack_peer(payload: memoryview, keys: _Keys) -> Peer:
    told = attributes(payload)
    allowed = []
    for _, start, end in walk(told[_ALLOWED]) if _ALLOWED in told else ():
        row = attributes(told[_ALLOWED], start, end)
        allowed.append(f"{ip_text(bytes(row[_IP_ADDRESS]))}/{row[_IP_LENGTH][0]}")
    peer: dict[str, Value] = {
        "public_key": base64.b64encode(told[_PUBLIC]).decode(),
        "allowed_ips": tuple(sorted(allowed)),
        "persistent_keepalive": struct.unpack("=H", told[_KEEPALIVE])[0] if _KEEPALIVE in told else 0,
    }
    if _PRESHARED in told and (path := keys.path(bytes(told[_PRESHARED]))) is not None:
        peer["preshared_key_file"] = path
    if _ENDPOINT in told:
        peer["endpoint"] = _endpoint_text(bytes(told[_ENDPOINT]))
    return peer


def read(generic: Generic, index: int, key_files: Iterable[str]) -> dict[str, Value]:
    """What the link has; keys as the one of ``key_files`` that holds them.

    Raises:
        KernelError: The kernel refuses.
    """
    keys = _known(key_files)
    attrs: dict[str, Value] = {}
    peers: dict[str, dict[str, Value]] = {}

    # Not before the end of the dump, of which another reading may follow that brings less.
    for payload in generic.read(FAMILY, _GET, lambda _kind, payload: bytes(payload), u32(_IFINDEX, index)):
        told = attributes(memoryview(payload), 4)
        if _PRIVATE in told:
            attrs["private_key_file"] = keys.path(bytes(told[_PRIVATE]))
        if _LISTEN_PORT in told:
            attrs["listen_port"] = struct.unpack("=H", told[_LISTEN_PORT])[0]
            attrs["fwmark"] = struct.unpack("=I", told[_FWMARK])[0]
        for _, start, end in walk(told[_PEERS]) if _PEERS in told else ():
            peer = dict(_unpack_peer(told[_PEERS][start:end], keys))
            # A peer whose allowed addresses fill a message goes on in the next.
            known = peers.setdefault(str(peer["public_key"]), peer)
            if known is not peer:
                known["allowed_ips"] = tuple(sorted({*_texts(known["allowed_ips"]), *_texts(peer["allowed_ips"])}))

    attrs["peers"] = tuple(peers[key] for key in sorted(peers))
    return attrs


def _texts(value: Value) -> list[str]:
    return list(map(str, value)) if isinstance(value, tuple) else []
