# SPDX-License-Identifier: GPL-2.0-or-later
"""Declarative network configuration for hosts with very many interfaces."""

__version__ = "0.1.0"
