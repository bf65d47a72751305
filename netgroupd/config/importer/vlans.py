# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs of VLAN-aware bridges: what the bridge says of all its ports, and each port of itself."""

from collections.abc import Callable

from netgroupd.config import notations
from netgroupd.config.importer.attributes import switch
from netgroupd.config.importer.draft import Draft
from netgroupd.config.importer.stanzas import Option
from netgroupd.model.bridge_vlan import OUT

_DEFAULT_PVID = 1
_TAGGED = {"pvid": False, "untagged": False}


class VlanAware:
    """Takes VLAN options as they come, and joins them when all bridges are known."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._said: dict[str, dict[str, str]] = {}
        self._options: list[tuple[str, Option]] = []

    def take(self, name: str, option: Option) -> bool:
        """Keep an option of ours; say whether it is."""
        if option.name in ("bridge-vids", "bridge-pvid", "bridge-access", "bridge-allow-untagged"):
            check: dict[str, Callable[[str], object]] = {
                "bridge-allow-untagged": switch,
                "bridge-vids": notations.numbers,
            }
            check.get(option.name, int)(option.value)
            self._options.append((name, option))
            first = self._said.setdefault(name, {}).setdefault(option.name, option.value)
            if first != option.value:
                hint = f"{option.value} is left out, as ifupdown2 does"
                self._draft.remark(option.place, f"{option.name} is {first} already", hint, name)
            return True
        if option.name == "bridge-vlan-vni-map":
            self._map(name, option)
            return True
        return False

    def _map(self, name: str, option: Option) -> None:
        """Turn VLAN=VNI pairs into tunnel ids of a VXLAN in metadata mode."""
        for key in ("port", "vlans"):
            self._draft.mention(option.place, name, key)
        body = self._draft.link(name)
        body.pop("id", None)
        body["external"] = True
        body.setdefault("port", {})["vlan_tunnel"] = True
        for pair in option.value.split():
            vids, _, networks = pair.partition("=")
            pairs = list(zip(notations.numbers(vids), notations.numbers(networks), strict=True))
            if not pairs:
                raise ValueError(pair)
            first, network = pairs[0]
            if all(there - vid == network - first for vid, there in pairs) and len(pairs) > 1:
                entry = {
                    "vid": f"[v={notations.fold(vid for vid, _ in pairs)}]",
                    "tunnel_id": f"{{v+{network - first}}}",
                }
                self._draft.append(name, "vlans", entry)
            else:
                for vid, there in pairs:
                    self._draft.append(name, "vlans", {"vid": vid, "tunnel_id": there})

    def finish(self) -> None:
        """Give every port of a VLAN-aware bridge its VLANs, and the bridge those of its own VLAN devices."""
        heard: set[str] = set()
        for bridge, body in list(self._draft.links.items()):
            if body.get("vlan_filtering"):
                ports = [str(port) for port in body.get("ports", ())]
                heard |= {bridge, *ports}
                for port in ports:
                    self._port(port, self._said.get(bridge, {}))
                own = {*self._devices_of(bridge)} - {_DEFAULT_PVID}
                if own:
                    self._draft.append(bridge, "vlans", _text(own))

        self._list_unheard(heard)

    def _list_unheard(self, heard: set[str]) -> None:
        """List what is said of VLANs where nothing comes of it."""
        for name, option in self._options:
            hint = ""
            if name not in heard:
                hint = "it is neither a VLAN-aware bridge nor a port of one"
            elif option.name != "bridge-access" and "bridge-access" in self._said[name]:
                hint = "its bridge-access counts alone, as for ifupdown2"
            if hint:
                self._draft.remark(option.place, f"{option.name} {option.value} is left out", hint, name)

    def _port(self, port: str, of_bridge: dict[str, str]) -> None:
        own = self._said.get(port, {})
        untagged, tagged = None, set[int]()
        if "bridge-access" in own:
            untagged = int(own["bridge-access"])
        else:
            if switch(own.get("bridge-allow-untagged", "yes")):
                untagged = int(own.get("bridge-pvid", of_bridge.get("bridge-pvid", _DEFAULT_PVID)))
            tagged = set(notations.numbers(own.get("bridge-vids", of_bridge.get("bridge-vids", ""))))
        entries = [entry for entry in self._draft.link(port).get("vlans", ()) if isinstance(entry, dict)]
        told = [entry["vid"] for entry in entries if "tunnel_id" in entry or isinstance(entry["vid"], int)]
        mapped = {vid for vids in told for vid in _vids(vids)}
        if untagged != _DEFAULT_PVID:  # which its bridge puts every port into
            if untagged is not None:
                self._draft.append(port, "vlans", {"vid": untagged, "pvid": True, "untagged": True})
            stays = _DEFAULT_PVID in tagged | mapped
            self._draft.append(port, "vlans", {"vid": _DEFAULT_PVID, **(_TAGGED if stays else OUT)})
        if tagged := tagged - mapped - {_DEFAULT_PVID, untagged}:
            self._draft.append(port, "vlans", _text(tagged))

    def _devices_of(self, bridge: str) -> list[int]:
        found = []
        for name, body in self._draft.links.items():
            lower, _, vid = name.rpartition(".")
            if body.get("kind") == "vlan" and body.get("link") == bridge and isinstance(body.get("id"), int):
                found.append(int(body["id"]))
            elif lower == bridge and vid.isdecimal():
                found.append(int(vid))
        return found


def _vids(vid: int | str) -> tuple[int, ...]:
    return notations.numbers(str(vid).removeprefix("[v=").removesuffix("]"))


def _text(vids: set[int]) -> str:
    return f"[{notations.fold(vids)}]"
