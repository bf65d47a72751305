# SPDX-License-Identifier: GPL-2.0-or-later
"""WireGuard.  Keys are named by the files that hold them and are never in a value."""

import base64
import binascii
from collections import Counter
from collections.abc import Iterable, Mapping

from netgroupd.model.attr import Attr, table
from netgroupd.model.kinds.kind import MARK, Kind
from netgroupd.model.value import NETWORK, Type, Value, ip_bytes, ip_text, number, record, several, string


def _parse_key(raw: object) -> Value:
    try:
        key = base64.b64decode(str(raw), validate=True)
    except (ValueError, binascii.Error):
        key = b""
    if len(key) != 32:
        raise ValueError("expected a public key of 44 characters")
    return base64.b64encode(key).decode()


def _parse_endpoint(raw: object) -> Value:
    host, _, port = str(raw).rpartition(":")
    try:
        address = ip_text(ip_bytes(host.removeprefix("[").removesuffix("]")))
    except ValueError:
        raise ValueError("expected an endpoint like 192.0.2.1:51820 or [2001:db8::1]:51820") from None
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError("expected an endpoint with a port from 1 to 65535")
    return f"[{address}]:{int(port)}" if ":" in address else f"{address}:{int(port)}"


def _parse_allowed(raw: object) -> Value:
    if raw == "default":
        raise ValueError("expected a network like 10.0.0.0/8; that of all is 0.0.0.0/0 or ::/0")
    return NETWORK.parse(raw)


PUBLIC_KEY = Type("a public key of 44 characters", _parse_key, {"type": "string", "minLength": 43, "maxLength": 44})
_ENDPOINT = Type("an endpoint like 192.0.2.1:51820", _parse_endpoint, {"type": "string"})
_PATH = string(255, r"/[^\0]+", "the absolute path of a file")


def _parse_file(raw: object) -> Value:
    try:
        return _PATH.parse(raw)
    except ValueError as error:  # which must not tell a key that somebody has put there
        raise ValueError(f"{error}; a key itself stands in no configuration") from None


_FILE = _PATH._replace(parse=_parse_file)
_INTERVAL = number(16)

_PEER = record(
    {
        "public_key": PUBLIC_KEY,
        "preshared_key_file": _FILE,
        "endpoint": _ENDPOINT,
        "allowed_ips": several(NETWORK._replace(parse=_parse_allowed), ordered=False),
        "persistent_keepalive": _INTERVAL,
    },
    frozenset({"public_key"}),
)

KEY_FILES = frozenset({"private_key_file", "preshared_key_file"})
ANOTHER_KEY = ""
"""In place of the file of a key that is in none of those which are known."""
_UNSAID: Mapping[str, Value] = {"preshared_key_file": None, "allowed_ips": (), "persistent_keepalive": 0}


def whole(peer: Mapping[str, Value]) -> Mapping[str, Value]:
    """All that a file says of a peer: what it does not mention the peer has not, but for where it was last heard from.

    A preshared key that stayed in one end alone would end the session, and nothing would tell why.
    """
    return {**_UNSAID, **peer}


_LIST = several(_PEER)


def _networks(peer: Mapping[str, Value]) -> Iterable[Value]:
    allowed = peer.get("allowed_ips")
    return allowed if isinstance(allowed, tuple) else ()


def _parse_peers(raw: object) -> Value:
    rows = _LIST.parse(raw)
    assert isinstance(rows, tuple)
    by_key = {str(row["public_key"]): row for row in rows if isinstance(row, Mapping)}
    if len(by_key) < len(rows):
        raise ValueError("expected peers with different public keys")
    # The kernel would take each from the one before.
    allowed = Counter(network for row in by_key.values() for network in dict.fromkeys(_networks(row)))
    if shared := next((network for network, count in allowed.items() if count > 1), None):
        raise ValueError(f"expected peers with different allowed_ips; {shared} are those of two")
    return tuple(by_key[key] for key in sorted(by_key))


_PEERS = _LIST._replace(parse=_parse_peers)

WIREGUARD = Kind(
    "wireguard",
    "An encrypted tunnel to each of its peers.",
    table(
        (
            Attr("private_key_file", _FILE, "The file of its private key, compared by the public one.", nullable=True),
            Attr("listen_port", number(16, 1), "The port it listens on."),
            Attr("fwmark", MARK, "The mark of what it sends, 0 for none."),
            Attr("peers", _PEERS, "Its peers: public_key, endpoint, allowed_ips and more."),
        )
    ),
)
