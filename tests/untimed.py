# SPDX-License-Identifier: GPL-2.0-or-later
"""No example of a property may fail for how long it takes: the machine may be busy."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
