# SPDX-License-Identifier: GPL-2.0-or-later
"""The names a template has beside Python's own.

host                        facts: ``host.name``, ``host.memory``, ``host.links`` with name, driver, mac
names("swp1-6.100")         a port list in ifupdown2's notation, as names
numbers("1000-1100,2000")   a VLAN list, as numbers;  fold([1, 2, 3]) is "1-3"
address("10.0.0.1/24", 5)   an address plus a number; it may not leave its prefix
mac("02:00:00:00:00:00", 5) a MAC plus a number
subnet("10.0.0.0/8", 24, 5) the network of that length and position in a larger one
variables("vars/site.yaml") what a YAML file beside the configuration says
fail("sentence")            stop here, with this sentence at this line
${value | yaml}             a value written so that YAML reads the same value back
"""

import json
import re
from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_interface, ip_network
from types import SimpleNamespace
from typing import Any, NoReturn

import yaml as pyyaml

from netgroupd.config import notations
from netgroupd.config.worker.template import Fetched

_Loader: type[Any] = getattr(pyyaml, "CSafeLoader", pyyaml.SafeLoader)
MODULES = ("collections", "functools", "ipaddress", "itertools", "json", "math", "operator", "re", "string")
_OCTETS = re.compile(r"[0-9a-fA-F]{1,2}(:[0-9a-fA-F]{1,2}){5}")
# What JSON leaves as it is, and YAML takes in quotes for the end of a line or not at all.
_UNREADABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_HALF = re.compile(r"[\ud800-\udfff]")


class FailedError(Exception):
    """A template said that it cannot go on."""


class VariablesError(Exception):
    """A variables file is not YAML: which file, by the renderer's number, and where in it."""

    def __init__(self, file: int, place: tuple[int, int], problem: str) -> None:
        super().__init__(f"the variables file is not YAML: {problem}")
        self.file = file
        self.place = place


def address(base: str, offset: int) -> str:
    """Add to an address; with a prefix length the sum stays inside the prefix."""
    if "/" not in base:
        return str(ip_address(base) + offset)
    start = ip_interface(base)
    moved = start.ip + offset
    if moved not in start.network:
        raise ValueError(f"{base} + {offset} is {moved}, outside of {start.network}")
    return f"{moved}/{start.network.prefixlen}"


def mac(base: str, offset: int) -> str:
    """Add to a MAC address."""
    if not _OCTETS.fullmatch(base):
        raise ValueError(f"{base!r} is not a MAC address such as 02:00:00:00:00:01")
    total = int.from_bytes(int(octet, 16) for octet in base.split(":")) + offset
    if not 0 <= total < 1 << 48:
        raise ValueError(f"{base} + {offset} is beyond the last MAC address")
    return ":".join(f"{octet:02x}" for octet in total.to_bytes(6, "big"))


def subnet(network: str, length: int, position: int) -> str:
    """Name the ``position``-th network of ``length`` inside a larger one, from 0."""
    whole = ip_network(network)
    room = length - whole.prefixlen
    if room < 0 or length > whole.max_prefixlen:
        raise ValueError(f"{network} has no networks of length /{length}")
    if not 0 <= position < 1 << room:
        raise ValueError(f"{network} has {1 << room} networks of length /{length}, from 0: no {position}")
    first = int(whole.network_address) + (position << (whole.max_prefixlen - length))
    return f"{type(whole.network_address)(first)}/{length}"


def fail(sentence: object) -> NoReturn:
    """Stop the template."""
    raise FailedError(str(sentence))


def to_yaml(value: object) -> str:
    """Write a value as JSON, which is YAML without its traps; only its escapes in two halves YAML cannot read."""
    text = json.dumps(value, default=_plain, ensure_ascii=False)
    if half := _HALF.search(text):
        raise ValueError(f"{half[0]!r} is half of a character, which cannot be written")
    return _UNREADABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(value: object) -> object:
    if isinstance(value, set | frozenset | range):
        return sorted(value)
    return str(value)


def _load(fetched: Fetched) -> Any:
    try:
        return pyyaml.load(fetched.text, _Loader)
    except pyyaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        context = f" ({error.context})" if error.context else ""
        raise VariablesError(fetched.file, place, f"{error.problem}{context}") from error
    except (pyyaml.YAMLError, ValueError) as error:  # the latter of a date that is none, or a number too long
        before = fetched.text.encode()[: getattr(error, "position", 0)].decode(errors="replace")
        place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise VariablesError(fetched.file, place, str(error).partition("\n")[0]) from error
    except (LookupError, AttributeError) as error:  # of PyYAML, for `!!bool x`, `!!int ""` or `!!timestamp x`
        raise VariablesError(fetched.file, (1, 1), "a value is not what its tag says") from error


def vocabulary(facts: Mapping[str, Any], fetch: Callable[[str], Fetched]) -> dict[str, object]:
    """Name everything a template can use; ``fetch`` brings a variables file."""
    links = tuple(SimpleNamespace(**link) for link in facts["links"])
    loaded: dict[str, Any] = {}

    def variables(name: str) -> Any:
        if name not in loaded:
            loaded[name] = _load(fetch(name))
        return loaded[name]

    return {
        "host": SimpleNamespace(name=facts["name"], memory=facts["memory"], links=links),
        "names": lambda text: list(notations.names(text)),
        "numbers": lambda text: list(notations.numbers(text)),
        "fold": notations.fold,
        "address": address,
        "mac": mac,
        "subnet": subnet,
        "variables": variables,
        "fail": fail,
        "yaml": to_yaml,
    }
