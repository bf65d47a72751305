# SPDX-License-Identifier: GPL-2.0-or-later
"""Random traffic control on a real kernel: one configuration after the other, each drawn or made of the last.

``python -m tests.vm.random_tc FIRST COUNT`` in a guest takes as many seeds from the first on,
and says what went wrong.
"""

import difflib
import json
import random
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from netgroupd.engine.engine import Engine
from netgroupd.errors import KernelError
from netgroupd.model.state import Key, Object
from netgroupd.plan import present
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Plan
from tests.vm import random_tc_trees
from tests.vm.hosts import Hosts
from tests.vm.random_tc_rules import ATOMIC, Groups, draw_groups, shared_actions, template, touch_groups
from tests.vm.random_tc_trees import Tree
from tests.vm.stumbling import Stumbling
from tests.vm.tc_flower_cases import Raw

_LINKS = {
    "v0": {"kind": "veth", "peer": "v1", "numtxqueues": 4, "up": True},
    "v1": {"up": True},
    "v2": {"kind": "dummy", "up": True},
}
_PASSING = "v3"  # one that comes and goes
_HOOKS = tuple((link, hook) for link in ("v0", "v1", _PASSING) for hook in ("ingress", "egress"))
_EXPLICIT = ("clsact", "ingress")
_BLOCKS = {"ingress": (7, 9), "egress": (8, 10)}
_REFUSALS = 3
_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """The rules of a hook or block, and what is said of its chains; or the block that the hook is in."""

    block: int | None = None
    chains: tuple[Raw, ...] = ()
    rules: Groups = field(default_factory=dict)

    def entries(self) -> list[Raw]:
        """The rules as a file has them."""
        groups = list(self.rules.values())
        if {"atomic": True} in self.chains:  # tables have one number, and cannot be beside themselves
            groups = [group for group in groups if "table" not in str(group)]
        return [rule for group in groups for rule in group]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A whole configuration."""

    shared: Raw
    trees: Mapping[str, Tree]
    hooks: Mapping[tuple[str, str], Hook | None]
    blocks: Mapping[int, Hook]
    explicit: Mapping[str, str]
    passing: bool

    def text(self) -> str:
        """The configuration as a file has it."""
        links = {**_LINKS, **({_PASSING: {"kind": "dummy", "up": True}} if self.passing else {})}
        tc: dict[str, dict[str, Any]] = {link: tree.text() for link, tree in self.trees.items() if link in links}
        blocks = set()
        for (link, hook), said in self.hooks.items():
            kind = self.explicit.get(link)
            if link not in links or said is None or (hook == "egress" and kind == "ingress"):
                continue
            _add_hook(tc[link], hook, said, by_itself=kind == "ingress")
            blocks.add(said.block)
        for link in [link for link, kind in self.explicit.items() if kind == "clsact" and link in links]:
            tc[link]["qdiscs"] = [*tc[link].get("qdiscs", ()), {"kind": "clsact"}]
        for number, block in self.blocks.items():
            if number in blocks:
                tc[f"block {number}"] = {"filters": block.entries(), "chains": block.chains}
        return json.dumps({"links": links, "actions": self.shared, "tc": tc}, indent=1)


def _add_hook(tc: dict[str, Any], hook: str, said: Hook, *, by_itself: bool) -> None:
    """Add what is said of a hook to what is said of its link; the qdisc ingress has rules as any other qdisc has."""
    rules = said.entries()
    if by_itself:
        block = {"ingress_block": said.block} if said.block else {}
        tc["qdiscs"] = [*tc.get("qdiscs", ()), {"kind": "ingress", **block}]
        tc["filters"] = [*tc.get("filters", ()), *({"parent": hook, **rule} for rule in rules)]
    elif said.block:
        tc[f"{hook}_block"] = said.block
    else:
        tc[hook] = rules
    if not said.block:
        tc["chains"] = [*tc.get("chains", ()), *({"parent": hook, **chain} for chain in said.chains)]


def draw(rng: random.Random) -> Policy:
    """A configuration out of nothing."""
    return Policy(
        shared=shared_actions(rng),
        trees={link: random_tc_trees.draw(rng, queues=link == "v0") for link in ("v0", "v1", _PASSING)},
        hooks={(link, hook): _hook(rng, hook) for link, hook in _HOOKS},
        blocks={number: _of_block(rng) for numbers in _BLOCKS.values() for number in numbers},
        explicit=_explicit(rng),
        passing=rng.random() < 0.5,
    )


def _explicit(rng: random.Random) -> Mapping[str, str]:
    """Links of which the qdisc that has the hooks is said, too."""
    return {link: rng.choice(_EXPLICIT) for link in ("v0", "v1", _PASSING) if rng.random() < 0.2}


def touch(rng: random.Random, policy: Policy) -> Policy:
    """The same configuration after somebody has worked on it."""
    hooks = {
        at: _worked(rng, hook, partial(_touch_hook, place=at[1]), partial(_hook, place=at[1]))
        for at, hook in policy.hooks.items()
    }
    blocks = {number: _worked(rng, block, _touch_block, _of_block) for number, block in policy.blocks.items()}
    trees = {
        link: _worked(rng, tree, random_tc_trees.touch, partial(random_tc_trees.draw, queues=link == "v0"))
        for link, tree in policy.trees.items()
    }
    shared = policy.shared if rng.random() < 0.5 else shared_actions(rng)
    return Policy(
        shared=shared,
        trees=trees,
        hooks=hooks,
        blocks=blocks,
        explicit=policy.explicit if rng.random() < 0.6 else _explicit(rng),
        passing=policy.passing if rng.random() < 0.6 else not policy.passing,
    )


def _worked(
    rng: random.Random,
    part: _Part,
    touched: Callable[[random.Random, _Part], _Part],
    fresh: Callable[[random.Random], _Part],
) -> _Part:
    how = rng.random()
    return part if how < 0.2 else fresh(rng) if how < 0.4 else touched(rng, part)


def _hook(rng: random.Random, place: str) -> Hook | None:
    how = rng.random()
    if how < 0.15:
        return None
    return Hook(block=rng.choice(_BLOCKS[place])) if how < 0.35 else _with_rules(rng, place)


def _of_block(rng: random.Random) -> Hook:
    return _with_rules(rng, "block")


def _with_rules(rng: random.Random, place: str) -> Hook:
    chains: tuple[Raw, ...] = tuple(chain for chain in (template(rng), ATOMIC) if rng.random() < 0.3)
    chains = ({"atomic": True},) if not chains and rng.random() < 0.2 else chains
    return Hook(chains=chains, rules=draw_groups(rng, place))


def _touch_hook(rng: random.Random, hook: Hook | None, place: str) -> Hook | None:
    if hook and hook.block:
        return replace(hook, block=rng.choice(_BLOCKS[place]))
    return _touch_rules(rng, hook, place) if hook else None


def _touch_block(rng: random.Random, block: Hook) -> Hook:
    return _touch_rules(rng, block, "block")


def _touch_rules(rng: random.Random, hook: Hook, place: str) -> Hook:
    chains = hook.chains if rng.random() < 0.7 else _with_rules(rng, place).chains
    return replace(hook, chains=chains, rules=touch_groups(rng, hook.rules, place))


class _Kernel(Stumbling):
    """One that does not look for settings of links, which no round changes and which would take most of its time."""

    def __init__(self, stumbles_at: int, netns: str | None) -> None:
        super().__init__(netns)
        self.stumbles_at = stumbles_at

    def changed_settings(self, links: Mapping[Key, Object]) -> list[Object]:
        """Nothing was."""
        return []


class Round:
    """One seed: a configuration out of nothing, then others of it, each looked at from all sides."""

    def __init__(self, hosts: Hosts, seed: int) -> None:
        self._rng = random.Random(seed)
        self._hosts = hosts

    def run(self, changes: int = 1) -> None:
        """Go through it."""
        policy = draw(self._rng)
        self._arrive(policy.text())
        for _ in range(changes):
            before = policy.text()
            while policy.text() == before:  # a change that is none makes no generation to go back from
                policy = touch(self._rng, policy)
            captured = self._captured()
            self._refused(before, policy.text(), captured)
            self._arrive(policy.text())
            self._here(policy.text()).rollback()
            _nothing(self._here(before).diff(), "after a rollback")
            _same(self._captured(), captured, "after a rollback")
            self._here(policy.text()).apply()

    def _engine(self, netns: str, text: str, stumbles_at: int = -1) -> Engine:
        return self._hosts.engine(netns, text, partial(_Kernel, stumbles_at))

    def _here(self, text: str) -> Engine:
        return self._engine("here", text)

    def _captured(self) -> str:
        return self._here("{}").capture()

    def _arrive(self, text: str) -> None:
        """Apply it: nothing is left to do, and what is captured is the same anywhere."""
        self._here(text).apply()
        _nothing(self._here(text).diff(), "applied again")
        captured = self._captured()
        _nothing(self._here(captured).diff(), "what was captured")
        assert "#" not in captured, captured
        self._engine("there", captured).apply()
        elsewhere = self._engine("there", captured).capture()
        self._hosts.forget("there")
        _same(elsewhere, captured, "captured elsewhere")

    def _refused(self, before: str, text: str, captured: str) -> None:
        """Have some steps of a change refused: it is as it was."""
        steps = len(self._here(text).diff().steps)
        for nth in sorted(self._rng.sample(range(steps), min(_REFUSALS, steps))):
            told = self._stumbled(text, nth)
            assert "put back" not in told, f"refused step {nth} of {steps}: {told}"
            if not told:  # it went with another step, and nothing was left to do
                self._here(text).rollback()
            _nothing(self._here(before).diff(), f"refused step {nth} of {steps}")
            _same(self._captured(), captured, f"refused step {nth} of {steps}")

    def _stumbled(self, text: str, nth: int) -> str:
        try:
            self._engine("here", text, nth).apply()
        except KernelError as error:
            assert "Cannot allocate memory" in str(error), f"refused step {nth}: {error}"  # noqa: PT017  # if at all
            return str(error)
        return ""


def _same(got: str, want: str, when: str) -> None:
    """Two captures are alike."""
    wanted, found = (text.replace("}, {", "},\n{").splitlines() for text in (want, got))
    differences = "\n".join(difflib.unified_diff(wanted, found, "want", "got", lineterm="", n=1))
    assert not differences, f"{when}:\n{differences}"


def _nothing(plan: Plan, when: str) -> None:
    """There is nothing to do, but for what can be left out."""
    left = [step for step in singles(plan.steps) if not step.object.attrs.get("optional")]
    assert not left, f"{when}:\n{present.text(plan)}"


def main(first: int, count: int) -> int:
    """Take the seeds one after the other, each in namespaces of its own."""
    wrong = 0
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as directory:
            hosts = Hosts(Path(directory))
            try:
                Round(hosts, seed).run()
            except Exception:  # whatever it is, the other seeds are taken too
                wrong += 1
                sys.stdout.write(f"seed {seed}: {traceback.format_exc(limit=-3)}\n")
                sys.stdout.flush()
            finally:
                hosts.close()
    sys.stdout.write(f"{count} rounds, {wrong} went wrong\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
