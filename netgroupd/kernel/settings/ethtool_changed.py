# SPDX-License-Identifier: GPL-2.0-or-later
"""Which features of links somebody has changed: those that a new link of the same kind has otherwise.

What the driver of a card began with nobody can tell, nor what a link that stands on another
one took from that; of these nothing is said.  Of a link that goes and may come back all is kept.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.netlink.request import Context
from netgroupd.kernel.netns import fresh
from netgroupd.kernel.settings.ethtool import read_part, unpack
from netgroupd.kernel.settings.ethtool_features import Features, changed, features_of, places, said_in, values
from netgroupd.kernel.usual import Likeness, SampleKernel, sample_steps
from netgroupd.model.ethtool import FEATURES
from netgroupd.model.kinds import KINDS
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.plan.compare import kind_of

_TOLD = (FEATURES, "rings", "channels", "coalesce")
_OF_THE_HOST = frozenset({"netdevsim"})  # it cannot be made by name, and is a card to those who look at it


def changed_features(
    context: Context, links: Mapping[Key, Object], connect: Callable[[], tuple[SampleKernel, Context]]
) -> list[Object]:
    """The features of ``links`` that were changed, where that can be told."""
    known = {link.name: Likeness.of(link, None) for link in links.values() if _is_told(link)}
    if not known:
        return []
    try:
        with fresh():
            usual = dict(_samples({known[link.name]: link for link in links.values() if link.name in known}, connect))
    except PermissionError:  # a confined daemon: nothing can be told
        return []
    numbers = places(context.generic)
    found: list[Object] = []
    for index, features in features_of(context.generic).items():
        try:
            name = context.names.name(index)
        except UnknownLinkError:
            continue
        if name in known and (by_itself := usual.get(known[name])):
            attrs = changed(features, by_itself, numbers)
            found += [Object("ethtool", (name, FEATURES), attrs)] if attrs else []
    return found


def of_links(context: Context, names: Collection[str]) -> Iterator[Object]:
    """All that the drivers of links can be told by netlink, as it is now."""
    numbers = places(context.generic)
    alike: dict[bytes, Attrs] = {}  # those of very many links
    indices: dict[int, str] = {}
    for name in names:
        with suppress(UnknownLinkError):  # it is in another namespace, or has gone
            indices[context.names.index(name)] = name
    for part in _TOLD:
        for index, told in read_part(context, part, indices):
            if part == FEATURES:
                said = said_in(told)
                if (attrs := alike.get(said)) is None:
                    features = Features.told(told)
                    can = [name for name, number in numbers.items() if features.changeable >> number & 1]
                    attrs = alike[said] = values(features, can, numbers)
            else:
                attrs = unpack(part, told, (), context.generic)
            yield Object("ethtool", (indices[index], part), attrs)


def _is_told(link: Object) -> bool:
    kind: Any = KINDS.get(kind_of(link))
    return bool(kind) and not kind.lower and kind.name not in _OF_THE_HOST and not link.attrs.get("netns")


def _samples(
    likes: Mapping[Likeness, Object], connect: Callable[[], tuple[SampleKernel, Context]]
) -> Iterator[tuple[Likeness, Features]]:
    """The features of one new link of each kind, in the namespace of the calling thread."""
    kernel, context = connect()
    try:
        for number, (like, link) in enumerate(likes.items()):
            name = f"sample{number}"
            if any(kernel.apply([step]) for step in sample_steps(name, "", like.kind, "", link)):
                continue
            if features := features_of(context.generic).get(context.names.index(name)):
                yield like, features
    finally:
        kernel.close()
