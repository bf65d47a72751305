# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of just so many values, as qdiscs have them."""

from netgroupd.model.value import Type, Value, number, several


def so_many(item: Type, count: int, what: str) -> Type:
    """A list of just so many of ``item``."""
    plain = several(item)

    def parse(raw: object) -> Value:
        got = plain.parse(raw)
        assert isinstance(got, tuple)
        if len(got) != count:
            raise ValueError(f"expected {count} {what}, not {len(got)}")
        return got

    return plain._replace(parse=parse)


PRIOMAP = so_many(number(8, 0, 15), 16, "numbers, one for each priority")
USUAL_PRIOMAP = (1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
"""That of prio where none is said."""
