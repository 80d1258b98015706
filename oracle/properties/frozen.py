"""A frozen case stays frozen: its path, its content and its names do not come back into what a proposer writes."""

from __future__ import annotations

from typing import Any

from _aliases import component
from _kit import audit, change, fence, folders, judged

from fence_tasks.properties import cover, given, st

RETIRED = "src/tests/test_parse_timeout.py"
STEPS = ["receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", "receiver.settimeout(0.0001)",
         "receiver.sendto(bytes(1472), receiver.getsockname())", 'assert receiver.recv(2048) == bytes(1472), "late"',
         "answer = parse(receiver.recv(2048), 2048)",
         "assert answer['ok'] is True and answer['written'] == 1472"]  # fmt: skip
BODIES = st.lists(st.sampled_from(STEPS), min_size=3, max_size=6)


def source(name: str, body: list[str]) -> str:
    """A test of that name."""
    return f"def {name}():\n" + "".join(f"    {line}\n" for line in body)


def frozen(api: Any, content: str = "", names: tuple[str, ...] = (), *, stays: bool = False) -> Any:
    """The case that retired `RETIRED`; `stays` says that base has the file without the frozen test."""
    case = audit(api).freezes.Case("late", RETIRED, "protocols", "late", "pytest", expires_unix=1, retired_names=names)
    return fence(api).frozen.Frozen(case, content.encode(), stays)


@given(found=component("test_parse_timeout.py"), below=st.sampled_from(["", "", "/x.py"]), stays=st.booleans())
def prop_a_retired_path_does_not_come_back_under_any_folding(
    api: Any, found: tuple[str, set[str]], below: str, stays: bool  # noqa: FBT001
) -> bool:  # fmt: skip
    name, kinds = found
    path = f"src/tests/{name}{below}"
    cover("by folding alone", bool(kinds), at_least=0.3)
    code, rules = judged(api, [change(api, path)], folders=folders([path]), cases=[frozen(api, stays=stays)])
    back = "frozen-path" in rules
    return back != stays and (stays or code in {2, 4})


#: Ways to write the same test down again.
REWRITTEN = {
    "as it is": lambda text: text,
    "indented": lambda text: text.replace("    ", "\t\t"),
    "spread": lambda text: text.replace("\n", "\n\n").replace(" = ", "  =  "),
    "requoted": lambda text: text.replace('"', "'"),
    "commented": lambda text: text.replace("\n", "  # later\n"),
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "in a class": lambda text: "class TestNew:\n" + "".join(f"    {line}\n" for line in text.splitlines()),
    "renamed": lambda text: text.replace("test_late", "test_brand_new"),
    "pasted": lambda text: source("test_other", ["assert True"]) + "\n\n" + text + "\nX = '''\n",
}


@given(body=BODIES, how=st.lists(st.sampled_from(sorted(REWRITTEN)), min_size=1, max_size=2, unique=True),
       stays=st.booleans())  # fmt: skip
def prop_a_frozen_body_does_not_come_back_however_it_is_written(
    api: Any, body: list[str], how: list[str], stays: bool  # noqa: FBT001
) -> bool:  # fmt: skip
    content = source("test_late", body)
    text = content
    for rewrite in how:
        text = REWRITTEN[rewrite](text)
    case = frozen(api, content, ("test_late",), stays=stays)
    new = fence(api).frozen.Text("src/tests/test_new.py", text.encode())
    moved = fence(api).frozen.Text("src/tests/test_new.py", text.encode(), text.encode())
    rules = [{f.rule for f in fence(api).frozen.by_content([case], [one])} for one in (new, moved)]
    return rules == [{"frozen-content"}, set()]


@given(names=st.lists(st.sampled_from(["test_late", "test_later", "TestA.test_late", "TestA.test_x", "test_größe"]),
                      min_size=1, max_size=2, unique=True),
       defined=st.sampled_from(["test_late", "test_later", "TestA.test_late", "TestB.test_late", "test_größe"]),
       before=st.booleans(), place=st.sampled_from([RETIRED, "src/tests/test_elsewhere.py"]))  # fmt: skip
def prop_a_retired_name_is_not_defined_again(
    api: Any, names: list[str], defined: str, before: bool, place: str  # noqa: FBT001
) -> bool:  # fmt: skip
    group, _, test = defined.rpartition(".")
    text = f"class {group}:\n    def {test}(self):\n        pass\n" if group else f"def {test}():\n    pass\n"
    new = fence(api).frozen.Text(place, text.encode(), text.encode() if before else b"x = 1\n")
    found = fence(api).frozen.by_name([frozen(api, names=tuple(names), stays=True)], [new])
    # A bare name is banned in its own file, a name with its class anywhere.
    banned = defined in names and not before and (place == RETIRED or bool(group))
    cover("banned", banned, at_least=0.05)
    return [(f.rule, f.path) for f in found] == ([("frozen-name", place)] if banned else [])
