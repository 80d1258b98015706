"""People's own changes: both routes, adoption, pending evidence (design, section 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.host import policy

if TYPE_CHECKING:
    from tests.host import Host

PROPERTY = "oracle/properties/roundtrip.py"
MORE = '''

@given(data=st.binary(max_size=16))
def prop_normalise_is_idempotent(api, data):
    once = api.normalise(data)
    return api.normalise(once) == once
'''
MISSED = '''

@given(data=st.binary(max_size=16))
def prop_normalise_is_upper_case(api, data):
    return api.normalise(data) == data.upper()
'''
PENDING = '[[{}]]\nid = "properties/more.py::{}"\nowner = "core"\nticket = "T-1"\nexpires_unix = 4000000000\n'


def text(host: Host, name: str) -> str:
    return host.path(name).read_text("utf-8")


def reviewed(host: Host, people: str = "[]") -> None:
    """Main's policy lets code owners review, and names more that people own."""
    rules = policy().replace("[candidate]", f'[people]\nroute = "code-owners"\npaths = {people}\n\n[candidate]', 1)
    host.people("code owners review", {"oracle/policy.toml": rules})


def new_property(host: Host, body: str = MORE) -> None:
    head = text(host, PROPERTY).split("\n\n\n@given", 1)[0]
    host.write("oracle/properties/more.py", head + body)


def test_a_refused_route_says_that_a_maintainer_is_needed(host: Host) -> None:
    host.branch("people")
    new_property(host)
    host.people("more evidence")
    result = host.score("main", "people")
    assert (result.code, result.verdict["needs"], result.verdict["subject"]) == (2, "maintainer", "patch"), result


def test_an_oracle_change_is_reviewed_with_its_own_evidence(host: Host) -> None:
    reviewed(host)
    host.branch("people")
    new_property(host)
    host.people("more evidence")
    result = host.score("main", "people")
    assert (result.code, result.verdict["verdict"], result.verdict["subject"]) == (0, "review", "review"), result
    assert "property file added: oracle/properties/more.py" in result.verdict["account"]
    assert "properties/more.py::prop_normalise_is_idempotent" in {p["id"] for p in result.verdict["properties"]}
    assert result.verdict["needs"] == "code owner"


def test_an_oracle_change_with_production_must_be_split(host: Host) -> None:
    reviewed(host)
    host.branch("people")
    new_property(host)
    host.replace("src/parsekit/_text.py", "One line", "A line")
    host.people("both")
    result = host.score("main", "people")
    assert (result.code, set(result.rules)) == (2, {"split-change"}), result


def test_an_oracle_change_with_a_stray_file_is_no_review(host: Host) -> None:
    reviewed(host)
    host.branch("people")
    new_property(host)
    host.write("repro.py", "print(1)\n")
    host.people("both")
    result = host.score("main", "people")
    assert (result.code, result.verdict["subject"]) == (2, "patch"), result
    assert {"oracle-touched", "stray-file"} <= result.rules


def test_a_stale_lock_in_a_review_is_a_failure(host: Host) -> None:
    reviewed(host)
    host.branch("people")
    new_property(host)
    host.commit("forgot relock")
    result = host.score("main", "people")
    assert (result.code, result.verdict["verdict"]) == (3, "fail"), result


def test_production_with_what_people_own_is_scored_too(host: Host) -> None:
    reviewed(host, '["pyproject.toml"]')
    host.branch("bump")
    host.write("pyproject.toml", '[project]\nname = "parsekit"\nversion = "0.2"\n')
    host.replace("src/parsekit/_text.py", "One line", "A line")
    host.commit("bump and change")
    good = host.score("main", "bump")
    assert (good.code, good.verdict["verdict"]) == (0, "review"), good
    assert good.verdict["account"] == ["changed outside the oracle: pyproject.toml",
                                       "changed outside the oracle: src/parsekit/_text.py"]  # fmt: skip
    host.replace("src/parsekit/_text.py", ".lower()", "")
    host.commit("and break it")
    assert host.score("main", "bump").code == 1


def test_a_link_among_what_people_own_is_refused(host: Host) -> None:
    reviewed(host)
    host.branch("people")
    host.link(".github/workflows/score.yml", "../../src/evil.yml")
    host.commit("a link in the gate")
    result = host.score("main", "people")
    assert (result.code, set(result.rules)) == (2, {"link-added"}), result


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("examples = 50", "examples = 5", "LOOSENS properties.examples: 50 → 5"),
        ('roots = ["src/"]', 'roots = ["src/", "lib/"]', "LOOSENS production.roots: src/ → src/, lib/"),
        ('unconditional = "report"', 'unconditional = "report"\nmax_bytes = "1MiB"', "policy: skips.max_bytes: "
         "2097152 → 1048576"),
    ],
)  # fmt: skip
def test_a_policy_that_loosens_is_named(old: str, new: str, line: str, host: Host) -> None:
    reviewed(host)
    host.branch("people")
    host.replace("oracle/policy.toml", old, new)
    host.people("another policy")
    result = host.score("main", "people")
    assert result.code == 0, result
    assert line in result.verdict["account"]


def test_a_moved_expectation_is_named(host: Host) -> None:
    reviewed(host)
    host.branch("people")
    host.fixture(b"", b"something else")
    host.people("another expectation")
    result = host.score("main", "people")
    assert (result.code, set(result.rules)) == (75, {"base-misses"}), result
    assert any(line.startswith("LOOSENS expectation moved: oracle/fixtures/") for line in result.verdict["account"])


def test_adoption_is_accounted_for_and_does_not_bind(host: Host) -> None:
    host.git("checkout", "--quiet", "--orphan", "old")
    host.git("rm", "-r", "--quiet", "--cached", "oracle", "fence_tasks", "noxfile.py", "tasks.py")
    host.git("commit", "--quiet", "-m", "before the fence")
    old = host.id()
    host.git("checkout", "--quiet", "--force", "-b", "fenced", "old")
    host.git("checkout", "--quiet", "main", "--", ".")
    host.commit("fence")
    assert host.score(old, "fenced").rules == {"not-adopted"}
    result = host.score(old, "fenced", "--adopt")
    assert (result.code, result.verdict["verdict"], result.verdict["binding"]) == (0, "review", False), result
    assert result.verdict["account"][0].startswith("adoption")
    assert "property file added: oracle/properties/roundtrip.py" in result.verdict["account"]


def test_evidence_that_base_misses_becomes_pending_and_then_fixed(host: Host) -> None:
    reviewed(host)
    host.branch("people")
    new_property(host, MISSED)
    host.people("what we want")
    missed = host.score("main", "people")
    assert (missed.code, set(missed.rules)) == (75, {"base-misses"}), missed
    host.write("oracle/pending.toml", PENDING.format("pending", "prop_normalise_is_upper_case"))
    host.people("it is pending")
    pending = host.score("main", "people")
    assert (pending.code, pending.verdict["verdict"]) == (0, "review"), pending
    host.checkout("main")
    host.merge("people")
    host.branch("patch")
    host.replace("src/parsekit/api.py", 'return b"\\n".join(squeeze(line) for line in data.split(b"\\n"))',
                 "return data.upper()")  # fmt: skip
    host.commit("what was asked for")
    fixed = host.score("main", "patch")
    assert "properties/more.py::prop_normalise_is_upper_case" in fixed.verdict["fixed"], fixed


def test_retiring_evidence_accepts_either_answer(host: Host) -> None:
    new_property(host, MORE)
    host.write("oracle/pending.toml", PENDING.format("retiring", "prop_normalise_is_idempotent"))
    host.people("it will go")
    host.branch("patch")
    host.replace("src/parsekit/_text.py", 'line.strip(b" \\t\\r").lower()', 'line.strip(b" \\t\\r").lower() if line[:1] '
                 '!= b"q" else line[1:]')  # fmt: skip
    host.commit("the agreed change")
    result = host.score("main", "patch")
    assert result.code == 0, result


def test_pending_evidence_must_be_there(host: Host) -> None:
    host.write("oracle/pending.toml", PENDING.format("pending", "prop_x").replace("more.py", "gone.py"))
    host.people("a typing error")
    host.branch("patch")
    host.replace("src/parsekit/_text.py", "One line", "A line")
    host.commit("honest")
    assert host.score("main", "patch").rules == {"pending-malformed"}
