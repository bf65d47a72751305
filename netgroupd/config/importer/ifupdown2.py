# SPDX-License-Identifier: GPL-2.0-or-later
"""/etc/network/interfaces as ifupdown2 reads it -> a draft.

Files are rendered first where they are Mako templates, by the same worker as
netgroupd's own; ``source`` lines are followed.  Stanzas of one name add up.
"""

import glob
import re
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from netgroupd.config.facts import Gather
from netgroupd.config.importer import Imported
from netgroupd.config.importer.draft import Draft, Place
from netgroupd.config.importer.stanzas import Stanza, stanzas
from netgroupd.config.importer.text import write
from netgroupd.config.importer.translate import Translation
from netgroupd.config.linemap import LineMap
from netgroupd.config.notations import in_brackets
from netgroupd.config.render import Limits, Rendered, render
from netgroupd.config.sections.linkname import objection
from netgroupd.config.sources import RefusedError, Source, Trust, read_text
from netgroupd.errors import Problem

# `${IFACE}` alone is a command's, which the shell reads.
_TEMPLATE = re.compile(r"^[ \t]*%|<%", re.MULTILINE)
_AUTOMATIC = ("auto", "allow-auto", "allow-hotplug")
_OF_DIRECTORY = re.compile(r"[A-Za-z0-9_-]+")  # source-directory leaves what editors and packages leave behind
_LIBRARY = Path("/etc/network/ifupdown2/templates")
_DEEPEST = 20
POLICIES = (Path("/var/lib/ifupdown2/policy.d"), Path("/etc/network/ifupdown2/policy.d"))


def import_files(
    paths: Sequence[Path],
    *,
    facts: Gather,
    trust: Trust,
    limits: Limits = Limits(),  # noqa: B008  # a frozen value
    policies: Sequence[Path] = (),
) -> Imported:
    """Import interfaces files and what they source; of policies, which change ifupdown2's defaults, tell."""
    draft = Draft()
    reader = _Reader(draft, facts, trust, limits)
    for path in paths:
        reader.read(path, 0)
    if reader.errors:
        return Imported("", tuple(reader.errors))
    translation = Translation(draft)
    for stanza in reader.found:
        if stanza.word not in (*_AUTOMATIC, "iface"):
            _set_aside(stanza, draft)
    automatic = {name: stanza.place for stanza in reader.found for name in _automatic(stanza, draft)}
    described = {"all"}
    for stanza in reader.found:
        if stanza.word == "iface":
            described.update(_translate(stanza, automatic.keys(), translation))
    translation.finish()
    for name in (name for name in automatic if name not in described):
        hint = "write the names of links out" if name[0] == "/" or "=" in name else "leave it out, or write one"
        draft.remark(automatic[name], "no iface stanza is about it", hint, name)
    for path in (path for place in policies for path in sorted(place.glob("*.json"))):
        hint = "write out those that your links need"
        draft.remark(Place(str(path), 1, ""), "the defaults of this policy are not taken over", hint)
    return Imported(write(draft), draft.remarks())


class _Reader:
    """Collects the stanzas of files and of those they source."""

    def __init__(self, draft: Draft, facts: Gather, trust: Trust, limits: Limits) -> None:
        self._draft = draft
        self._facts = facts
        self._trust = trust
        self._limits = limits
        self._seen: set[Path] = set()
        self.found: list[Stanza] = []
        self.errors: list[Problem] = []

    def read(self, path: Path, depth: int) -> None:
        """Read one file, once."""
        if path.resolve() in self._seen or depth > _DEEPEST:
            return
        self._seen.add(path.resolve())
        try:
            text = read_text(path, roots=(path.resolve().parent,), trust=self._trust)
        except RefusedError as refused:
            self.errors.append(refused.problem)
            return
        for stanza in stanzas(self._lines(path, text)):
            if stanza.word in ("source", "source-directory"):
                self._follow(stanza, path, depth)
            else:
                self.found.append(stanza)

    def _lines(self, path: Path, text: str) -> Iterator[Place]:
        rendered = self._rendered(path, text)
        if rendered is None:
            return
        for number, line in enumerate(rendered.text.splitlines(), 1):
            file, at = rendered.lines.origin(number)
            yield Place(file, at, line)

    def _rendered(self, path: Path, text: str) -> Rendered | None:
        if not _TEMPLATE.search(text):
            source = Source(str(path), path.name, text)
            return Rendered(source, text, LineMap((source,)))
        places = [place for place in (path.parent, _LIBRARY) if place.is_dir()]
        # The name decides that it is a template: ifupdown2's have no suffix.
        source = Source(str(path), f"{path.name}.mako", text)
        done, problems = render([source], facts=self._facts, templates=places, limits=self._limits, trust=self._trust)
        self.errors += problems
        return done[0] if done else None

    def _follow(self, stanza: Stanza, path: Path, depth: int) -> None:
        for word in stanza.rest.split():
            self._follow_one(word if stanza.word == "source" else f"{word}/*", stanza, path, depth)

    def _follow_one(self, pattern: str, stanza: Stanza, path: Path, depth: int) -> None:
        found = sorted(glob.glob(str(path.parent / pattern)))  # noqa: PTH207  # the pattern may be absolute
        if not found and not glob.has_magic(pattern):
            self._draft.remark(stanza.place, f"there is no {path.parent / pattern}", "it is left out")
        for name in map(Path, found):
            if name.is_dir():
                if stanza.word == "source":
                    self._draft.remark(stanza.place, f"{name} is a directory", f"write {name}/*")
            elif stanza.word == "source" or _OF_DIRECTORY.fullmatch(name.name):
                self.read(name, depth + 1)
            else:
                hint = "ifupdown reads names of letters, digits, - and _, ifupdown2 others too; source it if meant"
                self._draft.remark(stanza.place, f"{name} is not read", hint)


def _automatic(stanza: Stanza, draft: Draft) -> Iterator[str]:
    if stanza.word in _AUTOMATIC:
        try:
            for word in stanza.rest.split():
                yield from in_brackets(word)
        except ValueError as error:
            draft.remark(stanza.place, str(error))


def _set_aside(stanza: Stanza, draft: Draft) -> None:
    """List what is neither ``auto`` nor ``iface``."""
    what = stanza.word or "this line"
    hint = "write the link under the name it has" if stanza.word == "mapping" else ""
    draft.remark(stanza.place, f"{what} has no equivalent", hint)


def _translate(stanza: Stanza, automatic: Set[str], translation: Translation) -> Iterator[str]:
    """Translate a stanza for each link that it stands for, and give the names."""
    words = stanza.rest.split()
    try:
        links = in_brackets(words[0]) if words else ()
    except ValueError as error:
        translation.draft.remark(stanza.place, str(error))
        return
    if not links:
        translation.draft.remark(stanza.place, "iface needs a name")
    for name in links:
        yield from (name, name.partition(":")[0])
        if wrong := objection(name.partition(":")[0]):
            told, hint = wrong
            translation.draft.remark(stanza.place, f"{told}; all of its stanza is left out", hint)
            continue
        up = not automatic.isdisjoint((name, name.partition(":")[0], "all"))
        translation.stanza(name, stanza, words[1:], up=up)
