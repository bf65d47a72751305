# SPDX-License-Identifier: GPL-2.0-or-later
"""Random edits of files: each makes of a host what a new one becomes, and goes back.

The files are those that the documentation shows, and from the seed 100 on random ones.  Run as a program in a guest,
``python -m tests.vm.random_edits SEED…``, it says what the kernel refused, and what went wrong.
"""

import base64
import json
import random
import re
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from netgroupd.config import desired_from
from netgroupd.config.known import Known
from netgroupd.engine.engine import Engine
from netgroupd.errors import ConfigError, KernelError, NetgroupError
from netgroupd.model.state import State
from netgroupd.plan import present
from netgroupd.plan.serialise import singles
from tests.config.reading import rendered as read
from tests.test_docs import CARDS, PORTS, Example, examples, rendered
from tests.vm.hosts import Hosts, here, leaving_with
from tests.vm.link_cases import KEY_FILES
from tests.vm.random_configs import CARD, START, changed, moves_of
from tests.vm.random_configs import text as as_text
from tests.vm.test_edits_alike import TEXT

Place: TypeAlias = tuple[Any, ...]
_EDITS = 4
_RANDOM = 100
_CARDS = (*CARDS, *PORTS)
# What a dummy in the place of a card cannot do.
_OF_CARDS = (
    "vfs",
    "eth0: {token",
    "ethtool",
    "hw:",
    "offload:",
    "flags: 2",
    "pinned",
    "skip_sw",
    "guest",
    "host.links",
)
_SPAN = re.compile(r"(?<=[\[=,])(\d+)-(\d+)(?=[\],/])")
_MOST = 3
_NUMBER = re.compile(r"(?:0x)?\d+")
_ADDRESS = re.compile(r"(.*:(?=[0-9a-f/]+$)|.*\.(?=[0-9/]+$))([0-9a-f]+)(/\d+)?")
_WORDS = (
    ("true", "false"),
    ("pass", "drop"),
    ("forwarding", "blocking"),
    ("blackhole", "unreachable"),
    ("802.1q", "802.1ad"),
)
_OTHERS = {one: other for pair in _WORDS for one, other in (pair, pair[::-1])}
_STAYING = frozenset({"ethtool", "mst", "sysctl", "token", "vlan_global"})
"""What stays as it was told when no file mentions it any more."""
_OF_LINKS = ("addresses", "vlans", "vlan_global", "mst", "vnis", "mdb", "ports", "links", "altnames")


def without_cards(found: Iterable[Example]) -> dict[str, str]:
    """Those of the examples that a host without such cards can be, with less of each range."""
    fitting = (one for one in found if not any(word in one.text for word in _OF_CARDS))
    texts = {f"{one.page}:{one.line}": _SPAN.sub(_less, rendered(one).text) for one in fitting}
    return {name: text for name, text in texts.items() if _sound(text)}


def bases() -> list[str]:
    """What is edited."""
    return [_SPAN.sub(_less, TEXT), *without_cards(examples()).values()]


def _base(seed: int, rng: random.Random) -> str:
    if seed < _RANDOM:
        texts = bases()
        return json.dumps(yaml.load(texts[seed % len(texts)], yaml.CBaseLoader))
    for number, path in enumerate(KEY_FILES, 1):
        Path(path).write_bytes(base64.b64encode(bytes([number] * 32)))
    while True:
        found = changed(rng, START, rng.randrange(2, 20), moves_of(rng, patched=False))
        text = json.dumps(yaml.load(as_text(found), yaml.CBaseLoader))
        if "netns" not in text and CARD not in found.get("links", {}) and _sound(text):
            return text


def _less(span: "re.Match[str]") -> str:
    first, last = span[1], min(int(span[2]), int(span[1]) + _MOST)
    return f"{first}-{last:0{len(first)}}"


def _places(node: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value with the way to it."""
    parts = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in parts:
        yield (*at, key), value
        yield from _places(value, (*at, key))


def _parent(config: Any, place: Place) -> Any:
    for key in place[:-1]:
        config = config[key]
    return config


def _remove(rng: random.Random, config: Any) -> str:
    place, value = rng.choice([*_places(config)])
    del _parent(config, place)[place[-1]]
    return f"without {place}: {value}"


def _another(rng: random.Random, value: str) -> str:
    """A value that may be legal where this one is."""
    if value in _OTHERS:
        return _OTHERS[value]
    if span := _SPAN.search(value):
        first, last = int(span[1]), int(span[2])
        first, last = rng.choice([(first, last + 2), (first + 1, last + 1), (first, max(first, last - 1))])
        return f"{value[: span.start()]}{first:0{len(span[1])}}-{last}{value[span.end() :]}"
    if _NUMBER.fullmatch(value):
        return str(max(1, int(value, 0) + rng.choice([-1, 1, 7, int(value, 0)])))
    if found := _ADDRESS.fullmatch(value):
        before, last_part, length = found[1], found[2], found[3] or ""
        if length and rng.random() < 0.3:
            return f"{before}{last_part}/{max(1, int(length[1:]) - 1)}"
        base = 16 if ":" in value else 10
        return f"{before}{(int(last_part, base) + rng.choice([1, 2, 100])) % 250:{'x' if base == 16 else 'd'}}{length}"
    return value + rng.choice(["1", "x"])


def _change(rng: random.Random, config: Any) -> str:
    place, value = rng.choice([(place, value) for place, value in _places(config) if isinstance(value, str)])
    _parent(config, place)[place[-1]] = other = _another(rng, value)
    return f"{place}: {value} -> {other}"


def _rename(rng: random.Random, config: Any) -> str:
    """Another name of a key, and perhaps of all that refers to it."""
    keys = [place for place, _ in _places(config) if len(place) == 2 and isinstance(place[1], str)]
    if not keys:
        return ""
    place = rng.choice(keys)
    old = place[1]
    new = _another(rng, old)
    section = config[place[0]]
    config[place[0]] = {new if key == old else key: value for key, value in section.items()}
    if rng.random() < 0.7 and not _SPAN.search(old):
        for path, value in [*_places(config)]:
            if value == old:
                _parent(config, path)[path[-1]] = new
    return f"{old} is called {new}"


def _swap(rng: random.Random, config: Any) -> str:
    """Two values of one name change places, or two in a list."""
    kinds: dict[Any, list[Place]] = {}
    for place, _ in _places(config):
        last = place[-1]
        kinds.setdefault((place[0], len(place), place[:-1] if isinstance(last, int) else last), []).append(place)
    pairs = [places for places in kinds.values() if len(places) > 1]
    if not pairs:
        return ""
    one, other = rng.sample(rng.choice(pairs), 2)
    first, second = _parent(config, one), _parent(config, other)
    if first[one[-1]] == second[other[-1]]:
        return ""
    first[one[-1]], second[other[-1]] = second[other[-1]], first[one[-1]]
    return f"{one} and {other} change places"


def _move(rng: random.Random, config: Any) -> str:
    """An item goes to another list of its kind."""
    places = [*_places(config)]
    lists = [(place, value) for place, value in places if isinstance(value, list) and value and place[-1] in _OF_LINKS]
    bodies = [place for place, value in places if isinstance(value, dict) and place[0] == "links" and len(place) == 2]
    if not lists or not bodies:
        return ""
    place, items = rng.choice(lists)
    item = items.pop(rng.randrange(len(items)))
    target = _parent(config, (*rng.choice(bodies), ""))
    there = target.setdefault(place[-1], [])
    if not isinstance(there, list):
        return ""
    there.append(item)
    return f"{item} goes from {place}"


def _copy(rng: random.Random, config: Any) -> str:
    """Another one of what there is, with another value."""
    items = [place for place, _ in _places(config) if isinstance(place[-1], int)]
    keys = [place for place, _ in _places(config) if len(place) == 2 and isinstance(place[1], str)]
    if not (items or keys):
        return ""
    place = rng.choice(items or keys)
    parent = _parent(config, place)
    copied = json.loads(json.dumps(parent[place[-1]]))
    if isinstance(place[-1], int):
        if isinstance(copied, str):
            copied = _another(rng, copied)
        else:
            _change(rng, copied)
        parent.insert(rng.randrange(len(parent) + 1), copied)
        return f"{copied} beside {place}"
    parent[_another(rng, place[-1])] = copied
    return f"another {place}"


_KINDS: tuple[Callable[[random.Random, Any], str], ...] = (_remove, _change, _change, _rename, _swap, _move, _copy)


def edited(rng: random.Random, text: str) -> tuple[str, str]:
    """The text after one edit that the check of it lets pass, and what was edited."""
    for _ in range(200):
        config = yaml.load(text, yaml.CBaseLoader)  # all words stay as they are
        what = rng.choice(_KINDS)(rng, config)
        after = json.dumps(config, indent=1)
        if what and _sound(after):
            return after, what
    raise LookupError(text)


def _sound(text: str) -> bool:
    try:
        found = desired_from([read(text)], Known(_CARDS))
    except ConfigError:
        return False
    return 0 < len(found.state) < 200


class Edits:
    """A host that is as an example says, and edits of it, each of them compared with a new host, and taken back."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.failed: list[str] = []
        self.refused: list[str] = []
        self.done: Counter[str] = Counter()
        self._seed = seed
        self._rng = random.Random(seed)
        self._take(_base(seed, self._rng))
        self._hosts = Hosts(directory)
        self._names = (f"host{number}" for number in count())
        self._host = ""

    def _take(self, base: str) -> None:
        self._base = base
        self._was = _state(base)
        self._cards = [card for card in _CARDS if not (link := self._was.link(card)) or not link.attrs.get("kind")]
        self._links = frozenset(link.name for link in self._was.of("link").values())

    def run(self, edits: int) -> None:
        """Make edits; what goes wrong with one does not keep the others from being made."""
        try:
            while self._seed >= _RANDOM and self._refused(self._hosts.engine(self._new(), self._base)):
                self._take(_base(self._seed, self._rng))
            for _ in range(edits):
                after, what = self._base, ""
                for _ in range(self._rng.choice([1, 1, 1, 2, 4])):
                    after, more = edited(self._rng, after)
                    what += f"{more}; "
                try:
                    self._edit(after, what)
                except (AssertionError, NetgroupError):
                    self._host = ""
                    self.failed.append(f"{what}\n{self._base}\n{after}\n{traceback.format_exc(limit=-1)}")
        finally:
            self._hosts.close()

    def _new(self) -> str:
        """A host with the cards that the example speaks of."""
        name = next(self._names)
        self._hosts.engine(name, "{}")
        for card in self._cards:
            here(f"ip link add {card} numtxqueues 4 type dummy", name)
        return name

    def _edit(self, after: str, what: str) -> None:
        if not self._host:
            self._host = self._new()
            assert not (said := self._refused(self._hosts.engine(self._host, self._base))), said
        base = partial(self._hosts.engine, self._host, self._base)
        before, current, left_with = seen(base()), base().in_effect(), leaving_with(self._host)
        assert current
        other = self._new()
        new = self._hosts.engine(other, after)
        engine = partial(self._hosts.engine, self._host, after)
        links = {link.name for state in (self._was, _state(after)) for link in state.of("link").values()}
        self._links = frozenset(links.union(_CARDS))  # any may be cut
        refused, got = self._refused(new), self._refused(engine())
        kept = _kept(self._was, _state(after))
        if refused or got:
            self.refused.append(f"{what}: {got or refused}")
            assert refused or not got, f"a new host is not refused this: {got}"
        if got:
            _same(before, seen(base()))
        else:
            self.done["applied"] += 1
            _nothing_left(engine())
            if kept is not None and not refused:
                _same(_but_for(seen(new), kept), _but_for(seen(engine()), kept))
                _leave_alike(left_with, leaving_with(other), leaving_with(self._host))
                self.done["compared"] += 1
            engine().rollback(current.number, allow=self._links)
            _same(before, seen(base()))
            _nothing_left(base())
        self._hosts.forget(other)

    def _refused(self, engine: Engine) -> str:
        try:
            engine.apply(allow=self._links)
        except (ConfigError, KernelError) as error:
            return str(error)
        return ""


def _state(text: str) -> State:
    return desired_from([read(text)], Known(_CARDS)).state


def _kept(before: State, after: State) -> frozenset[str] | None:
    """The links that keep what no file says of them any more; None where other things do, or a new host has no link."""
    names = set()
    for obj in before:
        later = after.of(obj.cls).get(obj.key)
        less = obj.attrs.keys() - later.attrs.keys() if later else ()
        if (obj.cls != "link" or "kind" in less) and (less or (not later and obj.cls in _STAYING)):
            return None
        if obj.cls == "link" and (less or not (later or obj.attrs.get("kind"))):
            names.add(obj.name)
    return frozenset(names)


Leaving: TypeAlias = dict[tuple[str, str], tuple[frozenset[str], str]]
Seen: TypeAlias = dict[tuple[Any, ...], Any]


def seen(engine: Engine) -> Seen:
    """What there is, without what was drawn."""
    told = desired_from([read(engine.capture())], Known(_CARDS)).state
    return {
        (obj.cls, *obj.key, name): value
        for obj in told
        for name, value in {**obj.attrs, "": None}.items()
        if name not in ("mac", "sci", "active_slave", "group", "listen_port")
    }


def _but_for(told: Seen, links: frozenset[str]) -> Seen:
    return {place: value for place, value in told.items() if links.isdisjoint(place)}


def _leave_alike(before: Leaving, want: Leaving, got: Leaving) -> None:
    """Packets leave with the same address as on a new host, where the subnet has others than before."""
    for place, (addresses, first) in got.items():
        if before.get(place, ("",))[0] != addresses == want.get(place, ("",))[0]:
            assert first == want[place][1], f"{place}: {first}, not {want[place][1]}"


def _same(want: Seen, got: Seen) -> None:
    nothing = object()
    lines = [f"- {place}: {value}" for place, value in want.items() if got.get(place, nothing) != value]
    lines += [f"+ {place}: {value}" for place, value in got.items() if want.get(place, nothing) != value]
    assert not lines, "\n".join(lines)


def _nothing_left(engine: Engine) -> None:
    left = engine.diff()
    assert all(step.object.attrs.get("optional") for step in singles(left.steps)), present.text(left)


def main(seeds: list[str]) -> None:
    """Edit for each seed, and say what came of it."""
    done: Counter[str] = Counter()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as directory:
            edits = Edits(int(seed), Path(directory))
            edits.run(_EDITS)
            for told in edits.failed:
                sys.stdout.write(f"== seed {seed}: {told}\n")
            for told in edits.refused:
                sys.stdout.write(f"-- seed {seed} refused: {told}\n")
            done.update(edits.done)
            done["refused"] += len(edits.refused)
            done["failed"] += len(edits.failed)
            sys.stdout.flush()
    sys.stdout.write(f"{dict(done)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
