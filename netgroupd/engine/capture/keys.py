# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys that the kernel holds -> files that a configuration can name, and how they are filled.

Of WireGuard, that is; those of MACsec are in no file.
"""

from collections.abc import Mapping

from netgroupd.model.kinds.wireguard import ANOTHER_KEY
from netgroupd.model.state import Attrs, State
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of

_PRIVATE, _PRESHARED = "private_key_file", "preshared_key_file"
_WHERE = "/etc/wireguard"
_HOW = f"""\
# Keys are in no configuration, but in files that it names.  Where the links are, this writes them:
#   umask 077; mkdir -p {_WHERE}
#   wg show all private-key | while read -r link key; do echo "$key" > "{_WHERE}/$link.key"; done
#   wg show all preshared-keys | while read -r link peer key; do
#     [ "$key" = "(none)" ] || echo "$key" > "{_WHERE}/$link.$(echo "$peer" | tr / -).psk"; done
"""
_NO_KEYS = "# left out (no configuration has keys and channels of MACsec, `ip macsec show` does): {}\n"


def secured(actual: State) -> tuple[str, ...]:
    """A comment on links whose keys are nowhere else than in the kernel, if there are any."""
    names = [link.name for link in actual.of("link").values() if kind_of(link) == "macsec"]
    return (_NO_KEYS.format(", ".join(names)),) if names else ()


def keyed(actual: State) -> tuple[State, tuple[str, ...]]:
    """``actual`` with files for the keys that are known from nowhere, and a comment if there are any."""
    named = {
        key: link._replace(attrs=_attrs(link.name, link.attrs))
        for key, link in actual.of("link").items()
        if kind_of(link) == "wireguard"
    }
    if all(named[key].attrs == actual.of("link")[key].attrs for key in named):
        return actual, ()
    return actual.having(link={**actual.of("link"), **named}), (_HOW,)


def _attrs(link: str, attrs: Attrs) -> Attrs:
    peers = attrs.get("peers")
    said: dict[str, Value] = {**attrs}
    if attrs.get(_PRIVATE) == ANOTHER_KEY:
        said[_PRIVATE] = f"{_WHERE}/{link}.key"
    if isinstance(peers, tuple):
        said["peers"] = tuple(_peer(link, peer) if isinstance(peer, Mapping) else peer for peer in peers)
    return said


def _peer(link: str, peer: Mapping[str, Value]) -> Mapping[str, Value]:
    if peer.get(_PRESHARED) != ANOTHER_KEY:
        return peer
    return {**peer, _PRESHARED: f"{_WHERE}/{link}.{str(peer['public_key']).replace('/', '-')}.psk"}
