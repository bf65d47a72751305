# SPDX-License-Identifier: GPL-2.0-or-later
"""The states of bridge ports in spanning trees besides the common one, under ``bridge mst``'s names.

A port has one in every tree that a VLAN of it is in, from that moment on: they are
neither made nor deleted.  A port is shut in a tree that is new to it.
"""

from netgroupd.model.attr import Attr, Class, table
from netgroupd.model.bridge_vlan import STATES
from netgroupd.model.value import LINK, number, word

CLASS = Class(
    "mst",
    "The state of a bridge port in a spanning tree.",
    (
        Attr("link", LINK, "The port."),
        Attr("msti", number(16, 1, 4094), "The tree, which a VLAN of the port is in."),
    ),
    table((Attr("state", word(8, STATES), "What the port does with packets of the VLANs in this tree.", 2),)),
)
