# SPDX-License-Identifier: GPL-2.0-or-later
"""One stack, ports × VLANs in bridges, in the language of every tool that the peers' bench runs.

The ports are there already, as hardware is.  Each function writes the whole
configuration for ``vlans`` VLANs into a directory; none of it means: remove all.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.costs import MONITOR


class Size(NamedTuple):
    """So many VLANs on so many ports, and a bridge for each VLAN."""

    vlans: int
    ports: int

    @property
    def links(self) -> int:
        """Links beside the ports."""
        return self.vlans * (self.ports + 1)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Every VLAN with every port."""
        return ((vlan, port) for vlan in range(1, self.vlans + 1) for port in range(self.ports))

    def __str__(self) -> str:
        return f"{self.vlans:,} VLANs × {self.ports} ports"


def netgroupd(size: Size, directory: Path) -> None:
    """Two lines."""
    bridges = f"  br[v=1-{size.vlans}]: {{kind: bridge, up: true, ports: 'p[0-{size.ports - 1}].{{v}}'}}\n"
    vlans = f"  p[0-{size.ports - 1}].[1-{size.vlans}]: {{up: true}}\n"
    (directory / "stack.yaml").write_text("links:\n" + bridges + vlans if size.vlans else "{}\n")


def ip_lines(size: Size, first: int = 1) -> str:
    """What ``ip -batch`` reads to add the VLANs from ``first``."""
    lines = []
    for vlan in range(first, size.vlans + 1):
        lines.append(f"link add br{vlan} up type bridge")
        names = ((f"p{port}", f"p{port}.{vlan}") for port in range(size.ports))
        lines += [f"link add link {port} name {name} up master br{vlan} type vlan id {vlan}" for port, name in names]
    return "".join(line + "\n" for line in lines)


def ip_removal(size: Size) -> str:
    """What it reads to remove them all."""
    lines = [f"link del br{vlan}\n" for vlan in range(1, size.vlans + 1)]
    return "".join(lines + [f"link del p{port}.{vlan}\n" for vlan, port in size.pairs()])


def ifupdown2(size: Size, directory: Path) -> None:
    """Its own template language; it makes the VLANs that a bridge names."""
    ports = " ".join(f"p{port}.${{v}}" for port in range(size.ports))
    loop = f"%for v in range(1, {size.vlans + 1}):\nauto br${{v}}\niface br${{v}}\n    bridge-ports {ports}\n"
    stanzas = "".join(f"auto p{port}\niface p{port}\n\n" for port in range(size.ports))
    text = stanzas + loop + "    bridge-stp off\n\n%endfor\n" if size.vlans else stanzas
    (directory / "interfaces").write_text(text)


def ifstate(size: Size, directory: Path) -> None:
    """Each link for itself; what is not named it deletes."""
    lines = [f"parameters: {{ignore: {{ifname: ['^{MONITOR}$']}}}}", "interfaces:"]
    lines += [f"  p{port}: {{link: {{state: up, kind: dummy}}}}" for port in range(size.ports)]
    lines += [f"  br{vlan}: {{link: {{state: up, kind: bridge}}}}" for vlan in range(1, size.vlans + 1)]
    lines += [
        f"  p{port}.{vlan}: {{link: {{state: up, kind: vlan, link: p{port}, vlan_id: {vlan}, master: br{vlan}}}}}"
        for vlan, port in size.pairs()
    ]
    (directory / "ifstate.yaml").write_text("\n".join(lines) + "\n")


def nmstate(size: Size, directory: Path) -> None:
    """Each link for itself."""
    lines = ["interfaces:"]
    lines += [
        f"- {{name: p{port}.{vlan}, type: vlan, state: up, vlan: {{base-iface: p{port}, id: {vlan}}}}}"
        for vlan, port in size.pairs()
    ]
    for vlan in range(1, size.vlans + 1):
        ports = ", ".join(f"{{name: p{port}.{vlan}}}" for port in range(size.ports))
        lines.append(f"- {{name: br{vlan}, type: linux-bridge, state: up, bridge: {{port: [{ports}]}}}}")
    (directory / "nmstate.yml").write_text("\n".join(lines) + "\n")


def nmstate_absent(size: Size, directory: Path) -> None:
    """It removes only what it is told to remove."""
    lines = ["interfaces:"]
    lines += [f"- {{name: br{vlan}, type: linux-bridge, state: absent}}" for vlan in range(1, size.vlans + 1)]
    lines += [f"- {{name: p{port}.{vlan}, type: vlan, state: absent}}" for vlan, port in size.pairs()]
    (directory / "nmstate.yml").write_text("\n".join(lines) + "\n")


def networkd(size: Size, directory: Path) -> None:
    """Two files for each link."""
    for old in directory.glob("*.net*"):
        old.unlink()
    vids = range(1, size.vlans + 1)

    def write(name: str, text: str) -> None:
        (directory / name).write_text(text)

    for port in range(size.ports):
        vlans = "".join(f"VLAN=p{port}.{vlan}\n" for vlan in vids)
        write(f"10-p{port}.network", f"[Match]\nName=p{port}\n[Network]\nLinkLocalAddressing=no\n{vlans}")
    for vlan, port in size.pairs():
        name = f"p{port}.{vlan}"
        write(f"20-{name}.netdev", f"[NetDev]\nName={name}\nKind=vlan\n[VLAN]\nId={vlan}\n")
        write(f"20-{name}.network", f"[Match]\nName={name}\n[Network]\nLinkLocalAddressing=no\nBridge=br{vlan}\n")
    quiet = "[Network]\nLinkLocalAddressing=no\nConfigureWithoutCarrier=yes\n"
    for vlan in vids:
        write(f"30-br{vlan}.netdev", f"[NetDev]\nName=br{vlan}\nKind=bridge\n")
        write(f"30-br{vlan}.network", f"[Match]\nName=br{vlan}\n{quiet}")


def netplan(size: Size, directory: Path) -> None:
    """YAML, from which it writes networkd's files."""
    lines = ["network:", "  version: 2", "  renderer: networkd", "  ethernets:"]
    lines += [f"    p{port}: {{link-local: []}}" for port in range(size.ports)]
    if size.vlans:
        lines += ["  vlans:"]
        lines += [f"    p{port}.{vlan}: {{id: {vlan}, link: p{port}, link-local: []}}" for vlan, port in size.pairs()]
        lines += ["  bridges:"]
    for vlan in range(1, size.vlans + 1):
        ports = ", ".join(f"p{port}.{vlan}" for port in range(size.ports))
        lines.append(f"    br{vlan}: {{interfaces: [{ports}], link-local: [], parameters: {{stp: false}}}}")
    file = directory / "stack.yaml"
    file.write_text("\n".join(lines) + "\n")
    file.chmod(0o600)
