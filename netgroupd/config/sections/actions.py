# SPDX-License-Identifier: GPL-2.0-or-later
"""The section ``actions``, by kind and index -> actions that filters share.

As in ``police 7: {rate: 10mbit, burst: 15k}``; a text alone is the ``control``.
"""

from collections.abc import Sequence

from netgroupd.config.merge import Item
from netgroupd.config.sections.entries import Form, Sink, compile_entry
from netgroupd.config.sections.links import Links
from netgroupd.model.attr import Attr
from netgroupd.model.tc.action import COMMON, FIELDS, NEEDED, shared
from netgroupd.model.tc.action_whole import whole

FORMS = {
    kind: Form(
        "action",
        {name: Attr(name, known, f"What {kind} says of it.") for name, known in {**fields, **COMMON}.items()},
        frozenset(),
        frozenset(NEEDED.get(kind, ())),
        "control",
    )
    for kind, fields in FIELDS.items()
}


def expand_actions(items: Sequence[Item], links: Links, sink: Sink) -> None:
    """Make the actions; an index may be a range."""
    values = links.values
    for item in items:
        pattern = values.pattern(item.key, item.at)
        if pattern is None:
            continue
        form = FORMS.get(item.key.partition(" ")[0])
        named = [(shared(str(text)), str(text), env) for text, env in pattern.instances()]
        if form is None or not all(key for key, _, _ in named):
            hint = f"a kind and an index, such as police 7; kinds are {', '.join(FORMS)}"
            links.report.error(item.at, f"{item.key!r} is no action that filters can share", hint)
            continue
        entry = compile_entry(item.node, form, pattern.ranges, values)
        for key, text, env in named if entry else ():
            assert entry
            assert key
            for made in entry.each(values, env, text):
                try:
                    record = {"kind": key[0], **whole(key[0], made.attrs)}
                except ValueError as error:
                    links.report.once(entry.at, f"{text}: {error}")
                    break
                sink.add("action", key, {"actions": (record,)}, entry)
