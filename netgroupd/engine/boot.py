# SPDX-License-Identifier: GPL-2.0-or-later
"""files and generations -> a network, just after boot, when there is none to go back to and nobody to ask.

An operator's word is all or nothing; here something is better than nothing, and
what an operator has decided against does not come back by itself.
"""

from contextlib import suppress
from pathlib import Path

from netgroupd.engine.engine import Engine
from netgroupd.engine.report import Result
from netgroupd.engine.transaction import Progress
from netgroupd.errors import ConfigError, JournalError, NetgroupError


def configure(engine: Engine, spare: Path, progress: Progress | None = None) -> Result:
    """Apply the files, or what is in effect where they cannot be used or ask for what was rejected.

    The ``trouble`` of the result tells what is not as the files ask for.  Where nothing can be
    written down, or read of what was, the records of this change are kept in ``spare``.

    Raises:
        NetgroupError: Nothing was configured.
    """
    try:
        return _configured(engine, progress)
    except JournalError as error:
        return _unrecorded(engine, spare, error, progress)


def _configured(engine: Engine, progress: Progress | None) -> Result:
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
    except JournalError:
        raise
    except (NetgroupError, OSError) as error:  # the kernel may be out of reach: no descriptor is left
        trouble.add_note(str(error))
        raise trouble from error
    if result.trouble is not None:
        trouble.add_note(str(result.trouble))
    return result._replace(trouble=trouble)


def _unrecorded(engine: Engine, spare: Path, trouble: JournalError, progress: Progress | None) -> Result:
    """Bring back what is in effect, since that anything else took its place could not be written down."""
    with suppress(NetgroupError, OSError):
        if rejected := engine.decided_against():
            trouble.add_note(str(rejected))
    try:
        engine.forget_attempt()
        apart = engine.apart(spare)
        if kept := engine.in_effect_if_known():
            result = apart.apply_again(progress=progress)
            trouble.add_note(f"generation {kept.number} is brought back; where the files ask for more, it waits")
        else:
            result = apart.apply(progress=progress, in_part=True)
            trouble.add_note(f"the files are applied, and what was done is known to {spare} alone")
    except (NetgroupError, OSError) as error:
        trouble.add_note(str(error))
        raise trouble from error
    if result.trouble is not None:
        trouble.add_note(str(result.trouble))
    return result._replace(generation=0, trouble=trouble)
