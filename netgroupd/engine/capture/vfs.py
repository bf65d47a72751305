# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual functions that a host has -> what is written of them under their card, but for what any new one has.

What several have alike is one entry for all of them; MACs, which are never alike, are
beside that by function.  Whether a function is checked for spoofing is always written:
what it is by itself differs between drivers.
"""

from collections import defaultdict
from collections.abc import Mapping

from netgroupd.engine.capture.yaml_text import quoted
from netgroupd.model.state import State
from netgroupd.model.value import Value
from netgroupd.model.vf import USUAL
from netgroupd.plan.fold import fold_names


def functions_of(actual: State) -> dict[str, dict[str, str]]:
    """What is written under each card, by the key that it is written under."""
    alike: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    macs: defaultdict[str, dict[str, Value]] = defaultdict(dict)
    for vf in actual.of("vf").values():
        chosen = {name: value for name, value in vf.attrs.items() if name not in USUAL or USUAL[name] != value}
        if mac := chosen.pop("mac", None):
            macs[vf.name][str(vf.key[1])] = mac
        if chosen:
            alike[vf.name][quoted(chosen)[1:-1]].append(str(vf.key[1]))
    cards = [obj for obj in actual.of("sriov").values() if obj.attrs["num_vfs"]]
    functions = {name: f"{{{_entries(alike[name], macs[name])}}}" for name in dict.fromkeys((*alike, *macs))}
    return {
        "num_vfs": {card.name: quoted(card.attrs["num_vfs"]) for card in cards},
        "vfs": {name: text for name, text in functions.items() if text != "{}"},
    }


def _entries(alike: Mapping[str, list[str]], macs: Mapping[str, Value]) -> str:
    """The entries of one card, each by a range of its functions or by one of them."""
    said: dict[str, list[str]] = {}
    for text, numbers in alike.items():
        for key in fold_names(numbers):
            said.setdefault(key, []).append(text)
    for number, mac in macs.items():
        said.setdefault(number, []).append(f"mac: {quoted(mac)}")
    return ", ".join(f'"{key}": {{{", ".join(texts)}}}' for key, texts in said.items())
