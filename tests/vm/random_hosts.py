# SPDX-License-Identifier: GPL-2.0-or-later
"""The lives of hosts that go from one random configuration to the next: there, back, nowhere half way, and elsewhere.

Run as a program in a guest, ``python -m tests.vm.random_hosts SEED…``, it says what the kernel
refused of each life, and what went wrong; with ``beside`` before the seeds somebody else works on these hosts too.
"""

import base64
import random
import re
import sys
import tempfile
import traceback
from collections import Counter
from functools import partial
from pathlib import Path

from netgroupd.engine.engine import Engine
from netgroupd.errors import ConfigError, KernelError, VerifyError
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.links.seen import Seen
from netgroupd.plan import present
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Plan
from tests.engine.universe import state_of
from tests.vm import random_damage, random_others
from tests.vm.hosts import Hosts
from tests.vm.link_cases import KEY_FILES
from tests.vm.random_compared import difference, lasting, moved, same, without_comments
from tests.vm.random_configs import CARD, ELSEWHERE, NAMES_OF_LINKS, START, Config, changed, moves_of, text
from tests.vm.random_kernel import KILLED, Host, apart, stumbling
from tests.vm.stumbling import there
from tests.vm.witness import Witness, undisturbed

_SIMULATED = Path("/sys/bus/netdevsim")
_CHANGES = 8
_STUMBLES = 3
_OF_OTHERS = re.compile(r"\bx[0-5]\b|\b10\.9[6-9]\.|\bfd9[89]:|02:99:00:|\b399\d\b|\b99\d\b|\b990\d\b|\b99..:")
_DRAWN = frozenset({"mac", "sci", "active_slave", "listen_port"})
_KEPT = frozenset({"family"})
_OF_TC = frozenset({"qdisc", "tclass", "filter", "chain", "action"})


class Life:
    """A host that goes from one random configuration to the next, and back, and elsewhere."""

    def __init__(self, seed: int, directory: Path, *, beside: bool = False) -> None:
        self.refused: list[str] = []
        self.done: Counter[str] = Counter()
        self.doing = ""
        self._others: list[str] = []
        self.damage: list[str] = []
        self._rng = random.Random(seed)
        self._hosts = Hosts(directory)
        self._config: Config = {}
        self._beside = beside
        self._whole = True  # whether all came that the configuration asks for
        with Kernel() as kernel:
            self._may = moves_of(self._rng, patched=kernel.features.new_group)
        for number, path in enumerate(KEY_FILES, 1):
            Path(path).write_bytes(base64.b64encode(bytes([number] * 32)))
        for netns in ELSEWHERE:
            self._hosts.engine(netns, "{}")

    def live(self) -> None:
        """Live it.

        Raises:
            AssertionError, NetgroupError: Something is not as it was, or not as it was to be.
        """
        try:
            self._engine({})
            self._become(dict(START))
            then = [self._now()]
            for _ in range(_CHANGES):
                self._work()
                goal = changed(self._rng, self._config, self._rng.randrange(1, 16), self._may)
                if self._rng.random() < 0.5:
                    killed = (self._be_killed,) * self._whole
                    met = (self._be_met,) * (not self._beside)
                    self._rng.choice((self._stumble, self._stumble, self._think_better, *killed, *met))(goal)
                if not self._beside and self._rng.random() < 0.3:
                    self._suffer()
                self._rng.choice((*(self._become,) * 4, self._boot))(goal)
                if self._whole:
                    then.append(self._now())
                if not self._beside and "lo" in self._config["links"]:  # of which some would become netgroupd's
                    self._adopt()
                if self._rng.random() < 0.1:
                    self._go_back(*self._rng.choice(then))
            self._wander(then)
            if not self._beside:
                if self._whole:  # what the kernel did not take it need not take now
                    self._mend()
                self._move()
        finally:
            self._hosts.close()
            if (_SIMULATED / "devices" / "netdevsim7").exists():
                (_SIMULATED / "del_device").write_text("7")

    def _engine(self, goal: Config, stumbles_at: int = -1) -> Engine:
        return self._hosts.engine("here", text(goal), partial(stumbling, stumbles_at))

    def _now(self) -> tuple[int, Config, str]:
        """Which generation is in effect, of which configuration, and what there is."""
        current = self._engine(self._config).in_effect()
        return current.number if current else 0, self._config, self._seen(self._config)

    def _seen(self, *configs: Config) -> str:
        """What the kernel has: what a capture says, and of that what configurations speak of every attribute."""
        lines, links = set(), self._config.get("links", {})
        with Host("here") as kernel:
            kernel.remember(Seen())
            for config in configs:
                for key, attrs in there(kernel, state_of(text(config))).items():
                    if str(key[1][0]).endswith("/stable_secret"):
                        continue  # none cannot be put back
                    if key[0] in _OF_TC:
                        continue  # the kernel gives them handles, which a capture leaves out
                    # A MAC that nobody chose is another one of a link that is made again, and a bond uses another port.
                    drawn = _DRAWN - links.get(str(key[1][0]), {}).keys()
                    if key[0] == "nexthop":
                        drawn = _KEPT  # one without a gateway keeps that of the one before, and serves both
                    if self._beside and _OF_OTHERS.search(str(key)):
                        continue  # which goes with its link, and that is told
                    lines |= {f"{key} {name}: {value}\n" for name, value in attrs.items() if name not in drawn}
        told = self._engine(self._config).capture()
        return lasting(told, links, without=_OF_OTHERS if self._beside else None) + "".join(sorted(lines))

    def _work(self) -> None:
        """Have somebody else do something."""
        if self._beside:
            self._others += random_others.work(self._rng, self._config, self._rng.randrange(8))

    def _theirs(self) -> random_others.Theirs:
        return random_others.has() if self._beside else {}

    def _kept(self, theirs: random_others.Theirs, plan: Plan, *, refused: bool = False) -> None:
        """What others have is there, but for what the plan takes along."""
        lost = random_others.changes(theirs, self._theirs(), plan, refused=refused)
        assert not lost, "\n".join((lost, "of what others did:", *self._others, "beside", present.text(plan)))

    def _become(self, goal: Config) -> None:
        """Apply it; of what the kernel refuses nothing stays."""
        self.doing = "become\n" + difference(text(self._config), text(goal), 999)
        before, theirs = self._seen(self._config, goal), self._theirs()
        engine = self._engine(goal)
        try:
            plan = engine.diff()
            with Witness("here") as witness:
                engine.apply(allow=_everything(goal))
                undisturbed(witness, plan)
        except ConfigError as error:
            self.refused.append(str(error))
            same(before, self._seen(self._config, goal))
        except KernelError as error:
            self.refused.append(str(error))
            assert "put back" not in str(error), error  # noqa: PT017  # if at all
            same(before, self._seen(self._config, goal))
            self._kept(theirs, plan, refused=True)
        else:
            self._config, self._whole = goal, True
            self.done["applied"] += 1
            _nothing_left(engine)
            self._kept(theirs, plan)

    def _stumble(self, goal: Config) -> None:
        """Have one step refused, and then another: each time all is as it was."""
        try:
            plan = self._engine(goal).diff()
        except ConfigError as error:  # it leads by what neither it nor anybody else has made
            self.refused.append(str(error))
            return
        steps = len(plan.steps)
        before, theirs = self._seen(self._config, goal), self._theirs()
        for at in self._rng.sample(range(max(1, steps)), min(max(1, steps), _STUMBLES)):
            self.doing = f"stumble at {at} of {steps}\n" + difference(text(self._config), text(goal), 999)
            with Witness("here") as witness:
                try:
                    self._engine(goal, at).apply(allow=_everything(goal))
                except KernelError:
                    same(before, self._seen(self._config, goal))
                    self.done["stumbled"] += 1
                else:
                    self._config = goal
                undisturbed(witness, plan, refused=self._config is not goal)
            self._kept(theirs, plan, refused=self._config is not goal)
            if self._config is goal:
                return

    def _think_better(self, goal: Config) -> None:
        """Have a change that nobody confirms: then all is as it was."""
        self.doing = "think better of\n" + difference(text(self._config), text(goal), 999)
        before, theirs, plan = self._seen(self._config, goal), self._theirs(), Plan()
        engine = self._engine(goal)
        try:
            plan = engine.diff()
            if engine.apply(allow=_everything(goal), confirm_s=600).pending:
                engine.rollback()
        except (ConfigError, KernelError) as error:
            assert "put back" not in str(error), error  # noqa: PT017  # if at all
            self.refused.append(str(error))
        else:
            self.done["thought better"] += 1
        same(before, self._seen(self._config, goal))
        self._kept(theirs, plan, refused=True)

    def _be_killed(self, goal: Config) -> None:
        """Die in the middle of a change: who comes next finds it out, and all is as it was."""
        at = self._rng.randrange(40)
        self.doing = f"be killed at {at}\n" + difference(text(self._config), text(goal), 999)
        before, theirs = self._seen(self._config, goal), self._theirs()
        try:
            told = self._engine(goal).diff()  # what it may take along until then
        except ConfigError as error:
            self.refused.append(str(error))
            return
        engine = self._hosts.engine("here", text(goal), partial(stumbling, at, killing=True))
        came_to = apart(lambda: engine.apply(allow=_everything(goal)))
        if not came_to:
            self._config, self._whole = goal, True
            return
        if came_to == KILLED:
            self.done["killed"] += 1
            plan = self._engine(goal).rollback(allow=_everything(goal)).plan
            plan = plan._replace(
                gone=plan.gone | told.gone,
                cycled=plan.cycled | told.cycled,
                emptied=plan.emptied | told.emptied,
                warnings=(*plan.warnings, *told.warnings),
            )
            self._kept(theirs, plan, refused=True)
        same(before, self._seen(self._config, goal))

    def _be_met(self, goal: Config) -> None:
        """Have somebody else work on the same things in the middle of a change, and ask for it again."""
        at = self._rng.randrange(1, 16)
        self.doing = f"be met at {at}\n" + difference(text(self._config), text(goal), 999)

        def connect(netns: str | None) -> Host:
            kernel = stumbling(-1, netns)
            kernel.met_at, kernel.meets = at, meets
            return kernel

        def meets() -> None:
            done = random_damage.do(self._rng, self._rng.randrange(1, 4))
            self.damage += done
            self._whole &= not done
            self.done["met"] += bool(done)

        for again in (False, True):
            engine = self._hosts.engine("here", text(goal), partial(stumbling, -1) if again else connect)
            try:
                engine.apply(allow=_everything(goal))
            except (ConfigError, KernelError, VerifyError) as error:
                self.refused.append(str(error))
            else:
                self._config, self._whole = goal, True
                _nothing_left(engine)

    def _suffer(self) -> None:
        """Have somebody else work on what the files speak of, and have it back or not."""
        damage = random_damage.do(self._rng, self._rng.randrange(1, 4))
        self.damage += damage
        if self._rng.random() < 0.4:
            self.doing = "bring back\n" + "\n".join((text(self._config), *damage))
            engine = self._engine(self._config)
            if engine.apply_again().trouble is None:
                _nothing_left(engine)
                self.done["brought back"] += 1
                return
        self._whole &= not damage  # who goes back to this configuration mends that

    def _boot(self, goal: Config) -> None:
        """Have as much of it as the kernel lets be, as at boot."""
        self.doing = "boot\n" + difference(text(self._config), text(goal), 999)
        engine, theirs = self._engine(goal), self._theirs()
        try:
            plan = engine.diff()
            with Witness("here") as witness:
                result = engine.apply(in_part=True, allow=_everything(goal))
                if result.trouble is None:
                    undisturbed(witness, plan)
        except ConfigError as error:
            self.refused.append(str(error))
            return
        self._config, self._whole = goal, result.trouble is None
        if self._whole:
            _nothing_left(engine)
            self._kept(theirs, plan)
        else:
            self.damage.append(f"not all came: {result.trouble}")
        self.done["booted"] += 1

    def _adopt(self) -> None:
        """What a capture says is what there is."""
        told = self._engine(self._config).capture()
        self.doing += f"adopt\n{told}"
        # What was another's for a while, who has changed it by hand, is that one's again after going back.
        _nothing_left(self._hosts.engine("here", told, partial(stumbling, -1)), but_theirs=bool(self.damage))

    def _wander(self, then: list[tuple[int, Config, str]]) -> None:
        """Go back to one generation, and perhaps from there to another."""
        for one in self._rng.choices(then, k=self._rng.choice((1, 1, 2))):
            self._go_back(*one)

    def _go_back(self, generation: int, config: Config, was: str) -> None:
        self.doing += f"roll back to {generation}\n{text(config)}"
        theirs = self._theirs()
        before = self._seen(self._config)
        try:
            with Witness("here") as witness:
                plan = self._engine(self._config).rollback(generation, allow=_everything(self._config)).plan
                undisturbed(witness, plan)
        except (ConfigError, KernelError) as error:
            # Either may be in the way of what was there before it.
            assert self.damage or self._others, error  # noqa: PT017  # if at all
            self.refused.append(str(error))
            if "put back" not in str(error):  # no route leads again through a link that somebody has taken down
                same(before, self._seen(self._config))
            return
        self._config = config
        if not (self._beside or self.damage):
            same(was, self._seen(config))
        _nothing_left(self._engine(config))
        self._kept(theirs, plan)
        self.done["rolled back"] += 1

    def _mend(self) -> None:
        """Have somebody else work on what the files speak of, and ask for it again."""
        damage = random_damage.do(self._rng, self._rng.randrange(1, 6))
        self.doing = "mend\n" + "\n".join((text(self._config), *damage))
        engine = self._engine(self._config)
        try:
            engine.apply(allow=_everything(self._config))
        except KernelError as error:
            assert "nothing sets" in str(error), error  # noqa: PT017  # up what was made anew: it was up by chance
            self.refused.append(str(error))
            return
        _nothing_left(engine)
        self.done["mended"] += bool(damage)

    def _move(self) -> None:
        """Leave this namespace for another one by what a capture says."""
        told = self._engine(self._config).capture()
        self.doing = f"move\n{told}"
        self._engine({}).apply(allow=_everything(self._config))
        self._hosts.engine("there", text({"sysctl": START["sysctl"]})).apply()
        new = self._hosts.engine("there", told, partial(stumbling, -1))
        try:
            new.apply()
        except KernelError as error:
            assert self.damage, error  # noqa: PT017  # which may have left what nobody could make now
            self.refused.append(str(error))
            return
        _nothing_left(new)
        same(without_comments(told), moved(told, new.capture()))
        self.done["moved"] += 1


def _everything(config: Config) -> frozenset[str]:
    """That any link may be cut."""
    return frozenset((*NAMES_OF_LINKS, CARD, *config.get("links", ())))


def _nothing_left(engine: Engine, *, but_theirs: bool = False) -> None:
    left = engine.diff()
    steps = (step for step in singles(left.steps) if not (but_theirs and step.before and UNOWNED in step.before.attrs))
    assert all(step.object.attrs.get("optional") for step in steps), present.text(left)


def main(seeds: list[str]) -> None:
    """Live a life for each seed, and say what came of it."""
    done: Counter[str] = Counter()
    beside = seeds[:1] == ["beside"]
    for seed in seeds[beside:]:
        with tempfile.TemporaryDirectory() as directory:
            life = Life(int(seed), Path(directory), beside=beside)
            try:
                life.live()
            except Exception:
                done["failed"] += 1
                _say("\n".join((f"== seed {seed}: {life.doing}", *life.damage, traceback.format_exc())))
            for sentence in life.refused:
                _say(f"-- seed {seed} refused: {sentence}")
            done.update(life.done)
            done["refused"] += len(life.refused)
    _say(f"{dict(done)}")


def _say(sentence: str) -> None:
    """Say it at once, for there may be many."""
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
