# SPDX-License-Identifier: GPL-2.0-or-later
"""The pipeline's own way from what is wanted to a kernel that has it, with nothing to do after it."""

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Object, State
from netgroupd.plan.assemble import assemble
from netgroupd.plan.diff import diff
from netgroupd.plan.named import text_of
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import Step


class Pipeline:
    """A kernel that nobody else changes: what was found after one change is what the next begins with."""

    def __init__(self, kernel: Kernel, selection: Selection) -> None:
        self.kernel = kernel
        self._selection = selection
        self.actual = kernel.dump(selection)

    def look(self) -> State:
        """Read what there is."""
        self.actual = self.kernel.dump(self._selection)
        return self.actual

    def reach(self, cls: str, *wanted: Object) -> tuple[Step, ...]:
        """Have ``wanted`` and nothing else of its own of a class, and make sure of it; what it took."""
        steps = self._pending(cls, wanted)
        refused = self.kernel.apply(steps)
        assert not refused, [str(one.refusal) for one in refused]
        self.look()
        assert [(step.op, step.object.name, dict(step.attrs)) for step in self._pending(cls, wanted)] == []
        return steps

    def become(self, *links: Object) -> None:
        """Have the whole plan that brings ``links`` about carried out, as it is and in one go."""
        steps = assemble(self._with("link", links), self.actual, Owned()).steps
        refused = self.kernel.apply(steps)
        assert not refused, [str(one.refusal) for one in refused]
        self.look()
        left = assemble(self._with("link", links), self.actual, Owned()).steps
        assert not left, left

    def _pending(self, cls: str, wanted: tuple[Object, ...]) -> tuple[Step, ...]:
        return diff(self._with(cls, wanted), self.actual, Owned(named=(text_of(self.actual),))).steps

    def _with(self, cls: str, wanted: tuple[Object, ...]) -> State:
        return State((*wanted, *(obj for obj in self.actual if obj.cls != cls)))
