# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel in a virtual machine, on a copy-on-write view of this host's own root."""
