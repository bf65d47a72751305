# SPDX-License-Identifier: GPL-2.0-or-later
"""What cannot be where a chain, or a whole hook, is replaced as one."""

from collections.abc import Mapping

from netgroupd.config.checked import Checked
from netgroupd.config.sections.entries import told
from netgroupd.model.state import Key, Object, records
from netgroupd.model.tc.action import chain_led_to
from netgroupd.model.tc.chain import ALL, MOST_OF_HOOK, chain_of, led_to


def atomic(checked: Checked) -> None:
    """All of a hook that is replaced as one can be built beside what is there."""
    chains = checked.state.of("chain")
    hooks = {key[:2]: chain for key, chain in chains.items() if key[2] is ALL}
    _shared_actions(checked)
    if not hooks:
        return
    for chain in chains.values():
        if (whole := hooks.get(chain.key[:2])) and whole is not chain:
            _apart(checked, chain, whole)
    for rule in checked.rules:
        if rule.key[:2] in hooks:
            _number(checked, rule)


def is_atomic(chains: Mapping[Key, Object], rule: Object) -> bool:
    """Whether the chain of a rule, or its hook, is replaced as one."""
    chain = chains.get(rule.key[:3])
    return (*rule.key[:2], ALL) in chains or (chain is not None and chain.attrs.get("atomic") is True)


def _apart(checked: Checked, chain: Object, whole: Object) -> None:
    """Nothing is said of one chain of such a hook: a template would stand where its rules are not."""
    there = checked.report.where(checked.entry(whole).at)
    where = " ".join(filter(None, map(str, chain.key[:2])))
    told_ = f"all chains of {where} are atomic together, and nothing more can be said of chain {chain.key[2]}"
    checked.refuse(chain, "", told_, f"that is said at {there}; leave out one of them")


def _number(checked: Checked, rule: Object) -> None:
    """Each chain that rules are in or lead to has room for the two beside it."""
    for number, place in ((chain_of(rule.key), "chain"), *((number, "action") for number in led_to(rule.attrs))):
        if number > MOST_OF_HOOK:
            told_ = f"the chains of a hook that is atomic have numbers up to {MOST_OF_HOOK}, not {number}"
            checked.refuse(rule, place, told_, "those that they change between are above")


def _shared_actions(checked: Checked) -> None:
    """No action that filters share leads to a chain: there is one of that number in each hook."""
    for action in checked.state.of("action").values():
        if any(chain_led_to(record) is not None for record in records(action.attrs, "actions")):
            hint = "each hook has chains of its own; let the rule itself do it, in an action behind this one"
            checked.refuse(action, "", f"{told('action', action.key)} cannot go to a chain", hint)
