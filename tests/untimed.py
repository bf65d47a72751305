# SPDX-License-Identifier: GPL-2.0-or-later
"""No example of a property may fail for how long it or its making takes: the machine may be busy."""

from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=(HealthCheck.too_slow,))
settings.load_profile("untimed")
