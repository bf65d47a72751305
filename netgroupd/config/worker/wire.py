# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages between renderer and worker: a JSON header, then bytes.

The renderer never trusts what it reads: no pickle, no code, sizes bounded.
"""

import json
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

Header: TypeAlias = dict[str, Any]
_LENGTHS = struct.Struct(">IQ")
HEADER_LIMIT = 1 << 20


def payload_limit(text_limit: int) -> int:
    """How large a message may be for a text of this size: the text, and 8 bytes for each line of it."""
    return 2 * text_limit


class GarbledError(Exception):
    """The other side sent something that is not a message, or too large a one."""


def pack(header: Header, payload: bytes = b"") -> bytes:
    """Frame one message."""
    encoded = json.dumps(header).encode()
    return _LENGTHS.pack(len(encoded), len(payload)) + encoded + payload


def read(receive: Callable[[int], bytes], payload_limit: int) -> tuple[Header, bytes]:
    """Read one message; ``receive`` gives exactly as many bytes as asked for.

    Raises:
        GarbledError: It is too large or not a message.
    """
    header_size, payload_size = _LENGTHS.unpack(receive(_LENGTHS.size))
    if header_size > HEADER_LIMIT or payload_size > payload_limit:
        raise GarbledError(f"a message of {payload_size} bytes, more than the {payload_limit} allowed")
    try:
        header = json.loads(receive(header_size))
    except (ValueError, RecursionError) as error:
        raise GarbledError("a message that is not JSON") from error
    if not isinstance(header, dict):
        raise GarbledError("a message without a header")
    return header, receive(payload_size)
