# SPDX-License-Identifier: GPL-2.0-or-later
"""What drivers are told: where it is written, by which words, and what can be told wrong before a kernel is asked."""

import json

import pytest
import yaml
from jsonschema import Draft202012Validator

from netgroupd.config.schema import schema
from netgroupd.model.ethtool import FAMILIES, PARTS, SHORT
from tests.config.reading import attrs, desired, keys, told


def said(ethtool: str, more: str = "") -> str:
    """What is said of the driver of a card, from column 16 of line 2 on."""
    return f"links:\n  e1: {{ethtool: {ethtool}}}\n{more}"


def test_each_part_is_an_object() -> None:
    found = desired(said("{features: {tso: off}, rings: {rx: 64}, pause: {rx: on}}"), known=("e1",))
    assert keys(found, "ethtool") == [("e1", "features"), ("e1", "rings"), ("e1", "pause")]
    assert attrs(found, "ethtool", "e1", "rings") == {"rx": 64}


@pytest.mark.parametrize("word", SHORT)
def test_word_is_the_feature_that_it_stands_for(word: str) -> None:
    found = desired(said(f"{{features: {{{word}: on}}}}"), known=("e1",))
    assert attrs(found, "ethtool", "e1", "features") == {SHORT[word]: True}


@pytest.mark.parametrize("part", [part for part in PARTS if PARTS[part].attrs])
def test_ranges_reach_into_values(part: str) -> None:
    numbers = [name for name, row in PARTS[part].attrs.items() if row.type.schema.get("type") == "integer"]
    values = ", ".join(f"{name}: '{{v}}'" for name in numbers)
    text = f"links:\n  d[v=1-3]: {{kind: dummy, ethtool: {{{part}: {{{values}}}}}}}"
    found = desired(text)
    for number in (1, 2, 3) if numbers else ():
        assert attrs(found, "ethtool", f"d{number}", part) == dict.fromkeys(numbers, number)


def test_several_blocks_and_files_come_together() -> None:
    one = said("{rings: {rx: 64}, features: {gro: on}}", "  e[1-2]: {ethtool: {features: {lro: off}}}\n")
    other = "links: {e1: {ethtool: {features: {gro: on, tso: off}}}}\n"
    found = desired(one, other, known=("e1", "e2"))
    assert attrs(found, "ethtool", "e1", "features") == {"rx-gro": True, "rx-lro": False, "tso": False}
    assert attrs(found, "ethtool", "e2", "features") == {"rx-lro": False}


def test_nothing_said_is_nothing() -> None:
    for nothing in ("null", "{}", "{rings: null}", "{rings: {}, features: {}}"):
        assert not desired(said(nothing), known=("e1",)).state.of("ethtool")


REFUSED = [
    pytest.param(said("fast"), "2:17: 'ethtool' must be a mapping like {rings: {rx: 1024}}, not", id="no_mapping"),
    pytest.param(said("{ring: {rx: 1}}"), "2:18: unknown key 'ring'; did you mean 'rings'?", id="part"),
    pytest.param(said("{rings: {rxx: 1}}"), "2:26: unknown key 'rxx'; did you mean 'rx'?", id="attribute"),
    pytest.param(said("{rings: {rx: much}}"), "2:30: rx: expected a whole number from 0 to 4294967295", id="number"),
    pytest.param(said("{rings: 5}"), "2:25: expected a mapping of rx, ", id="part_is_no_mapping"),
    pytest.param(said("{features: {tso: fast}}"), "2:34: tso: expected true or false", id="flag"),
    pytest.param(said("{features: {TSO: on}}"), "2:29: unknown key 'TSO'", id="feature_that_cannot_be_one"),
    pytest.param(said("{fec: {modes: [strong]}}"), "expected one of off, rs, baser, llrs", id="mode"),
    pytest.param(
        said("{features: {gro: on, rx-gro: off}}"), "2:29: 'gro' and 'rx-gro' are the same thing", id="same_feature"
    ),
    pytest.param(
        said("{features: {gro: on, generic-receive-offload: off}}"),
        "2:38: 'generic-receive-offload' and 'gro' speak of one feature; write one of them",
        id="two_words",
    ),
    pytest.param(
        said("{features: {tx-tcp6-segmentation: on, tso: off}}"),
        "2:55: 'tso' and 'tx-tcp6-segmentation' speak of one feature; write one of them",
        id="one_of_several",
    ),
    pytest.param(
        said("{rings: {rx: 1}}", "  e[1-2]: {ethtool: {rings: {rx: 2}}}\n"),
        "3:34: 'rx' of 'e1' was set to another value; the other is at a.yaml:2",
        id="twice",
    ),
]


@pytest.mark.parametrize(("text", "want"), REFUSED)
def test_problem_is_told_at_its_place(text: str, want: str) -> None:
    found = told(text, known=("e1", "e2"))
    assert any(want in line for line in found), found


def test_every_word_for_several_features_is_told_from_the_others() -> None:
    members = [name for names in FAMILIES.values() for name in names]
    assert len(set(members)) == len(members)
    assert not set(members) & {*SHORT, *SHORT.values()}


GOOD = ["{features: {tso: off, tx-gso-list: on}}", "{fec: {modes: [rs]}, wol: {modes: []}}", "null", "{rings: null}"]
BAD = ["{ring: {rx: 1}}", "{rings: {rxx: 1}}", "{rings: {rx: -1}}", "{features: {tso: 7}}", "[]"]


@pytest.mark.parametrize(("ethtool", "fits"), [*((text, True) for text in GOOD), *((text, False) for text in BAD)])
def test_schema_takes_what_is_read(ethtool: str, fits: bool) -> None:
    document = json.loads(json.dumps(yaml.safe_load(said(ethtool))))
    assert Draft202012Validator(schema()).is_valid(document) == fits
    assert (told(said(ethtool), known=("e1",)) == []) == fits
