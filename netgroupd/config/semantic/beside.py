# SPDX-License-Identifier: GPL-2.0-or-later
"""What a link of some kind cannot have beside other things that it has: the kernel refuses it, or forgets it."""

from collections.abc import Mapping, Sequence

from netgroupd.config.checked import Checked
from netgroupd.model.beside import BESIDE, MACVLANS
from netgroupd.model.value import Value


def fields(checked: Checked) -> None:
    """What a field is said beside lets the link have it."""
    links = checked.links
    for row in BESIDE:
        for name, attrs in checked.saying(row.field, row.kinds):
            if attrs[row.field] in row.nothing or (row.other not in attrs and name in links.known):
                continue
            if not row.fits(attrs.get(row.other, row.usual)):
                _, port, field = row.field.rpartition("port.")
                checked.refuse_link(name, port[:-1] or field, f"{name!r} cannot have {field!r}: {row.told}")


def families(checked: Checked) -> None:
    """What is of one IP version is of a tunnel that sends by it."""
    links = checked.links
    for kind, field, version, nothing in _OF_FAMILIES:
        for name, attrs in checked.saying(field, [kind]):
            end = str(attrs.get("remote") or attrs.get("local") or "")
            unknown = not end and name in links.known and not attrs.get("external")
            if attrs[field] not in nothing and not unknown and (6 if ":" in end else 4) != version:
                told = f"{name!r} cannot have {field!r}: that is for sending over IPv{version}"
                checked.refuse_link(name, field, told, "say by 'remote' where to")


_OF_FAMILIES: Sequence[tuple[str, str, int, Sequence[Value]]] = (
    ("vxlan", "label", 6, (None, 0)),
    ("vxlan", "label_policy", 6, (None, "fixed")),
    ("geneve", "label", 6, (None, 0)),
    ("geneve", "udpcsum", 4, (None, False)),
    ("geneve", "udp6zerocsumtx", 6, (None, False)),
    ("geneve", "udp6zerocsumrx", 6, (None, True)),
)
"""Of a kind a field, the version that it is for, and its values that need none."""


def lower_links(checked: Checked) -> None:
    """What the kernel keeps once for all that stand on a link is the same for each of them."""
    links = checked.links
    seen: dict[tuple[Value, ...], tuple[str, Value]] = {}
    for kinds, fields_ in _OF_LOWER_LINKS.items():
        for name, attrs in checked.of_kinds(kinds):
            for field, usual in fields_.items():
                value = attrs.get(field, None if name in links.known else usual)
                if value is None:
                    continue
                place = (kinds[0], attrs.get("link"), attrs.get("netns"), field)
                other, others = seen.setdefault(place, (name, value))
                if value != others:
                    told = f"{name!r} and {other!r} on {attrs.get('link')!r} have {field} {value} and {others}"
                    checked.refuse_link(name, field, told, "the kernel has one for all on that link")


_OF_LOWER_LINKS: Mapping[tuple[str, ...], Mapping[str, Value]] = {
    ("ipvlan", "ipvtap"): {"mode": "l3", "private": None, "vepa": None},
    MACVLANS: {"bclim": None},
}
