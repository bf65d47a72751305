# SPDX-License-Identifier: GPL-2.0-or-later
"""The model's rows -> the reference manual of the configuration, as Markdown.

``python -m netgroupd.config.reference`` prints what docs/reference.md holds.
"""

import sys
from collections.abc import Iterator, Mapping

from netgroupd.config.sections import table as sections
from netgroupd.config.sections.ethtool import FORMS as ETHTOOL_FORMS
from netgroupd.config.sections.links import rows_of
from netgroupd.config.sections.table import Part
from netgroupd.model.attr import Attr, Change
from netgroupd.model.encap import FIELDS, NEEDED
from netgroupd.model.ethtool import FAMILIES, FEATURES, PARTS, SHORT, WORDS
from netgroupd.model.kinds import KINDS
from netgroupd.model.link import COMMON
from netgroupd.model.tc.qdisc import KINDS as QDISCS

_HEAD = """\
# Configuration reference

Every section, and every key in it. This page and the JSON Schema `schemas/netgroup.schema.json` are made of the
same descriptions that the files are read by; `make schema` makes both again.

A key that a file does not mention keeps the kernel's value. `null` takes a thing away, where that is possible;
0 is zero.

## Ranges and references

| written | stands for |
|---|---|
| `[1-6]` | 1 to 6 |
| `[1,3,10-20]` | 1, 3, and 10 to 20 |
| `[v=1-6]` | 1 to 6, referred to as `{v}` |
| `[001-100]` | 001 to 100: the zeros are kept |
| `[0-100/10]` | 0, 10, 20, … 100 |
| `{v}`, `{1}` | the value of the range named v, or of the first |
| `{v+1}` `{v-1}` `{v*2}` `{v//256}` `{v%256}` `{(v+1)*2}` | whole numbers calculated with it |
| `{v:04}` `{v:x}` `{v:02x}` | with zeros in front, hexadecimal, both |
| `[[`, `]]`, `{{`, `}}` | one of each, as text |
| `{10.0.0.0 + v}` `{2001:db8:: + v}` `{02:00:00:00:00:00 + v}` | an address that counts up |

Several ranges in one text multiply. In keys and in lists, a range makes one of each; a value elsewhere refers to the
ranges of its key, and the fields of an entry (a route, an address) to the ranges of each other. YAML reads a value
that begins with `{` or `[` as something else, so it has to be quoted. All objects of a configuration together are at
most 2,000,000.
"""


def text() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    yield from _part(sections.GROUPS, "##")
    yield from _links()
    yield f"## vrfs\n\n{sections.VRFS}\n\n```yaml\nvrfs:\n  red: {{table: 1001, up: true, links: 'swp[1-4]'}}\n```\n"
    for part in sections.LISTS:
        yield from _part(part, "##")
    yield f"## encap\n\n{sections.ENCAP}\n"
    yield "| type | key | accepts |"
    yield "|---|---|---|"
    for kind, rows in FIELDS.items():
        for name, row in rows.items():
            needed = " *needed*" if name in NEEDED.get(kind, ()) else ""
            yield f"| `{kind}` | `{name}` | {_cell(row.expected)}{needed} |"
    yield ""
    yield f"## sysctl\n\n{sections.SYSCTL} A mapping may stand for the dots.\n"
    yield f"## actions\n\n{sections.ACTIONS}\n"
    yield "| kind | what it may say |"
    yield "|---|---|"
    for kind, form in sections.ACTION_FORMS.items():
        yield f"| `{kind}` | {', '.join(f'`{name}`' for name in form.rows)} |"
    yield ""
    yield from _tc()


def _links() -> Iterator[str]:
    yield f"## links\n\n{sections.LINKS}\n"
    yield from _table(COMMON)
    yield "### Under a link\n"
    yield from (f"- `{name}`: {doc}" for name, doc in sections.LINK_KEYS.items())
    yield ""
    for part in sections.UNDER_LINK:
        yield from _part(part, "###")
    yield from _ethtool()
    for name in sorted(KINDS):
        kind = KINDS[name]
        yield f"### kind: {name}\n\n{kind.doc}\n"
        needs = sorted(kind.required | ({"link"} if kind.lower else set()))
        if needs:
            yield f"Needed: {', '.join(f'`{one}`' for one in needs)}.\n"
        own = {key: row for key, row in rows_of(name).items() if key not in COMMON}
        if own:
            yield from _table(own)
        if kind.port:
            yield "Of its ports, under `port`:\n"
            yield from _table(kind.port)


def _ethtool() -> Iterator[str]:
    yield f"### ethtool\n\n{sections.ETHTOOL}\n"
    for name, form in ETHTOOL_FORMS.items():
        yield f"#### {name}\n\n{PARTS[name].doc}\n"
        if name == FEATURES:
            yield f"{sections.ETHTOOL_WORDS}\n"
            yield "| short word | stands for |"
            yield "|---|---|"
            yield from (f"| `{word}` | `{SHORT[word]}` |" for word in WORDS)
            yield from (f"| `{word}` | {', '.join(f'`{one}`' for one in ones)} |" for word, ones in FAMILIES.items())
            yield ""
        elif form.rows:
            yield from _table(form.rows)


def _tc() -> Iterator[str]:
    yield f"## tc\n\n{sections.TC}\n"
    for part in sections.HOOKS:
        if part.name in ("ingress", "chains"):
            yield from _part(part, "###")
    yield (
        "`egress` and `filters` have entries like those of `ingress`. `parent` is for `filters` alone: `1:` for rules"
        " of a qdisc, `1:10` for those of a class of htb or hfsc; `ingress` and `egress` are the hooks, if the link has"
        " a clsact. Under `block N` rules are `filters` or `ingress`, which is the same, and need no `parent`.\n"
    )
    yield "### qdiscs and classes\n"
    yield (
        "`parent` says where a qdisc is: `root`, which is the usual, or a class of another qdisc. `handle` names it for"
        " its classes (`1:` has the classes `1:1` to `1:ffff`) and for `filters`; these numbers are hexadecimal."
        " mq, mqprio, taprio, prio, ets, tbf, cbs, red and netem have classes by themselves, numbered from 1; those of"
        " htb, hfsc and drr are made, each with its `classid`, and, but for drr, the class that it is in as `parent`.\n"
    )
    for kind, form in sections.QDISC_FORMS.items():
        yield f"#### {kind}\n\n{QDISCS[kind].doc}\n"
        yield from _table(form.rows)
        if kind in sections.CLASS_FORMS:
            yield "Its classes:\n"
            yield from _table(sections.CLASS_FORMS[kind].rows)


def _part(part: Part, level: str) -> Iterator[str]:
    yield f"{level} {part.name}\n\n{part.doc}\n"
    form = part.form
    shape = f"A mapping by {part.key}." if part.key else "A list."
    if form.main:
        shape += f" A text alone is the `{form.main}`."
    needs = f" Needed: {', '.join(f'`{one}`' for one in sorted(form.required))}." if form.required else ""
    yield f"{shape}{needs}\n"
    yield from _table(form.rows)


def _table(rows: Mapping[str, Attr]) -> Iterator[str]:
    yield "| key | what it is | accepts |"
    yield "|---|---|---|"
    yield from (
        f"| `{name}` | {_cell(row.doc)}{_notes(row)} | {_cell(row.type.expected)} |" for name, row in rows.items()
    )
    yield ""


def _notes(row: Attr) -> str:
    notes = [note for note, applies in _NOTES if applies(row)]
    return f" *{'; '.join(notes)}*" if notes else ""


_NOTES = (
    ("null takes it away", lambda row: row.nullable),
    ("changed while the link is down", lambda row: row.change is Change.DOWN),
    ("changed while the link has no ports", lambda row: row.change is Change.VACANT),
    ("changed while the link is down and has no ports", lambda row: row.change is Change.EMPTY),
    ("a change makes it anew", lambda row: row.change is Change.RECREATE),
)


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(text())
