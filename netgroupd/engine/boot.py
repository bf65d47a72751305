# SPDX-License-Identifier: GPL-2.0-or-later
"""files and generations -> a network, just after boot, when there is none to go back to and nobody to ask.

An operator's word is all or nothing; here something is better than nothing, and
what an operator has decided against does not come back by itself.
"""

from netgroupd.engine.engine import Engine
from netgroupd.engine.report import Result
from netgroupd.engine.transaction import Progress
from netgroupd.errors import ConfigError, NetgroupError


def configure(engine: Engine, progress: Progress | None = None) -> Result:
    """Apply the files, or what is in effect where they cannot be used or ask for what was rejected.

    The ``trouble`` of the result tells what is not as the files ask for.

    Raises:
        NetgroupError: Nothing was configured.
    """
    try:
        trouble: NetgroupError | None = engine.decided_against()
        if trouble is None:
            return engine.apply(progress=progress, in_part=True)
    except ConfigError as error:
        trouble = error
        if engine.in_effect() is None:
            raise
    try:
        result = engine.apply_again(progress=progress)
    except (NetgroupError, OSError) as error:  # the kernel may be out of reach: no descriptor is left
        trouble.add_note(str(error))
        raise trouble from error
    if result.trouble is not None:
        trouble.add_note(str(result.trouble))
    return result._replace(trouble=trouble)
