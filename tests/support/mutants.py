"""Mutants of the golden plan and result files, and what must hold for each of them.

``python -m tests.support.mutants plan 0 1500`` holds the first 1,500 mutants of plan files to it, each with one second
of processor time and 200 MB beside what the process has, and prints those that fail. A mutant depends on its number and
on nothing else.
"""

from __future__ import annotations

import copy
import json
import pickle
import random
import resource
import signal
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs

import dpframe as dp
from dpframe import registry
from dpframe.display.visible import is_invisible
from dpframe.plan import toml

GOLDEN = Path(__file__).parent.parent / "golden"
PLANS = sorted(GOLDEN.glob("*.plan.toml"))
RESULTS = sorted([*GOLDEN.glob("*.result.json"), *GOLDEN.glob("*.charged.json")])
SECONDS, MEGABYTES = 1.0, 200

TEXTS = ["", " ", "x", "name", "file", "ref", "moment", "add-remove", "Infinity", "NaN", "Scalar", "a.b", "-", "1e999"]
TEXTS += ["\0", "\x1b[2J", "\x1b]0;owned\x07", "\u202e", "\u2028", "🙂", "é" * 50, "m" * 300, "m" * 70_000, "a\nb"]
TEXTS += ["../../etc/passwd", "{0}", "%s", "[bold]", ">=0", ">=0," * 500]
NUMBERS: list[float] = [0, -0.0, 1, -1, 2, 3, 7, 16, 64, 1000, 10**6, 10**9, 2**31, 2**53 + 1, 2**63, 2**64, 10**30]
NUMBERS += [10**300, 10**400, 0.5, 1e-6, 1e-12, 1e-140, 1e-300, 5e-324, 1e140, 1e300, 1.7976931348623157e308]
NUMBERS += [0.999999, 1 - 2**-53, float("inf"), -float("inf"), float("nan")]
ACTIONS = [cls for role in ("mechanism", "postprocessor") for cls in registry.classes(role)]
WORDS = sorted({name for cls in ACTIONS for name in (cls.name, *(field.alias for field in attrs.fields(cls)))})
"""The names of all mechanisms and post-processors of the project, and of their parameters."""


def nested(depth: int, value: Any) -> Any:
    """Lists in lists."""
    for _ in range(depth):
        value = [value]
    return value


def a_value(chance: random.Random, content: Any) -> Any:
    """Something that may be elsewhere in a file, or nowhere."""
    pick = chance.randrange(9)
    if pick < 3:
        return chance.choice(NUMBERS)
    if pick < 5:
        return chance.choice(TEXTS)
    if pick == 5:
        return chance.choice([True, False, [], {}, [[]], {"ref": "moment"}, {"ref": ""}, {"real": 1, "imaginary": 2}])
    if pick == 6:
        return nested(chance.choice([1, 2, 3, 5, 20, 40, 80]), chance.choice(NUMBERS))
    if pick == 7:
        repeated = chance.choice([*NUMBERS, *TEXTS])
        return [repeated] * chance.choice([1, 2, 3, 4, 100, 2000][: 4 if len(str(repeated)) > 100 else 6])
    return copy.deepcopy(chance.choice([value for _, _, value in places(content)]))


def places(content: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Every place of nested data: its owner, its key and its value."""
    for key, value in list(content.items() if isinstance(content, dict) else enumerate(content)):
        yield content, key, value
        if isinstance(value, dict | list):
            yield from places(value)


def rebuilt(chance: random.Random, content: Any) -> Any:
    """The content with one to three changes of its structure."""
    content = copy.deepcopy(content)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        everywhere = list(places(content)) or [({}, "", 0)]
        numbers = [place for place in everywhere if isinstance(place[2], int | float)]
        change = chance.randrange(12)
        owner, key, value = chance.choice(numbers if change >= 8 and numbers else everywhere)
        if change == 0:
            del owner[key]
        elif change == 1 and isinstance(owner, dict):
            owner[chance.choice([*TEXTS, *WORDS])] = a_value(chance, content)
        elif change == 2 and isinstance(owner, list):
            owner.insert(chance.randrange(len(owner) + 1), copy.deepcopy(value))
        elif change == 3 and isinstance(owner, dict):
            owner[chance.choice([*TEXTS, *WORDS])] = owner.pop(key, 0)
        elif change == 4 and isinstance(value, str):
            owner[key] = chance.choice([value + value, value[1:], value.upper(), value + chance.choice(TEXTS)])
        elif change == 5 and isinstance(owner, dict):
            owner |= {chance.choice(WORDS): chance.choice(NUMBERS), "with": chance.choice(WORDS)}
        elif change in (6, 7) and isinstance(value, str):
            owner[key] = chance.choice(WORDS)
        elif change >= 10 and isinstance(value, int | float) and abs(value) < 1e9:
            near = [-value, value * 1e6, value * 1e-6, value + 1, value / 3, int(value), float(value)]
            owner[key] = chance.choice(near)
        elif change >= 8 and isinstance(value, int | float):
            owner[key] = chance.choice(NUMBERS)
        else:
            owner[key] = a_value(chance, content)
    return content


TOKENS = [b"[", b"]", b"{", b"}", b'"', b"'", b"=", b",", b":", b".", b"#", b"\n", b"\r", b"\0", b"\x1b", b"\xff", b"e"]
TOKENS += [b"-", b"\xed\xa0\x80", b"nan", b"inf", b"NaN", b"Infinity", b"null", b"true", b"1e999", b'"""', b"\\u0000"]
TOKENS += [b"9" * 5000, b"0x" + b"f" * 5000, b" " * 3000, b"[" * 3000, b"a." * 500, b"{a=" * 300, b"1979-05-27"]
TOKENS += [b"[[steps]]\n", b'name = "x"\n', b"\\ud800"]


def scrambled(chance: random.Random, raw: bytes, other: bytes) -> bytes:
    """The bytes with one to three changes."""
    for _ in range(chance.choice([1, 1, 2, 3])):
        start = chance.randrange(len(raw) + 1)
        end = min(len(raw), start + chance.choice([0, 1, 1, 2, 8, 40, 400]))
        piece = chance.choice(
            [
                b"",
                chance.choice(TOKENS),
                bytes(chance.randrange(256) for _ in range(chance.randrange(1, 5))),
                raw[start:end] * chance.choice([2, 3, 50]),
                other[start:end],
            ]
        )
        raw = raw[:start] + piece + (b"" if chance.random() < 0.02 else raw[end:])
    return raw


def mutant(what: str, number: int) -> bytes:
    """The mutant of a plan or result file with this number."""
    chance = random.Random(f"{what} {number}")
    files = PLANS if what == "plan" else RESULTS
    raw, other = (chance.choice(files).read_bytes() for _ in range(2))
    if chance.random() < 0.7:
        content = rebuilt(chance, tomllib.loads(raw.decode()) if what == "plan" else json.loads(raw))
        raw = (toml.write(content) if what == "plan" else json.dumps(content)).encode("utf-8", "surrogatepass")
        if chance.random() < 0.85:
            return raw
    return scrambled(chance, raw, other)


def check_plan(path: Path) -> None:
    """A plan file is refused, or the plan can be priced, shown and written."""
    try:
        plan = dp.Plan.load(path)
        explanation = plan.explain()
    except dp.DPFrameError as error:
        assert_visible(str(error))
        return
    assert_visible(str(explanation))
    assert_visible(plan.dumps())
    json.loads(explanation.to_json())
    assert plan == dp.Plan.loads(plan.dumps())
    assert plan.content_hash == dp.Plan.loads(plan.dumps()).content_hash
    assert repr(plan)


def check_result(path: Path) -> None:
    """A result file is refused, or the result can be shown, written and pickled."""
    try:
        result = dp.Result.load(path)
    except dp.DPFrameError as error:
        assert_visible(str(error))
        return
    assert_visible(str(result))
    assert repr(result)
    text = result.to_json(path)
    assert text == dp.Result.load(path).to_json()
    assert text == pickle.loads(pickle.dumps(result)).to_json()
    assert result.fingerprint


def assert_visible(text: str) -> None:
    assert not any(map(is_invisible, set(text) - {"\n"})), "control characters are printed"


CHECKS: dict[str, Callable[[Path], None]] = {"plan": check_plan, "result": check_result}


class TooLong(BaseException):
    """Raised where a mutant takes more than its time."""


def _stop(*_: Any) -> None:
    raise TooLong


def failures(what: str, first: int, count: int, seconds: float) -> Iterator[tuple[int, str]]:
    """The mutants that break something, by their numbers, and what happened."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant"
        for golden in PLANS if what == "plan" else RESULTS:  # all that is loaded once is not charged to a mutant
            path.write_bytes(golden.read_bytes())
            CHECKS[what](path)
        _limit_memory()
        signal.signal(signal.SIGPROF, _stop)
        for number in range(first, first + count):
            path.write_bytes(mutant(what, number))
            signal.setitimer(signal.ITIMER_PROF, seconds)
            try:
                CHECKS[what](path)
            except BaseException as error:
                signal.setitimer(signal.ITIMER_PROF, 0)
                yield number, f"{type(error).__name__}: {str(error)[:200]}".removesuffix(": ")
            signal.setitimer(signal.ITIMER_PROF, 0)


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + MEGABYTES * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main(what: str, first: str, count: str, seconds: str = str(SECONDS)) -> int:
    """Print the mutants that break something; the exit code says whether there are any."""
    warnings.simplefilter("error")
    found = [f"{number}: {happened}" for number, happened in failures(what, int(first), int(count), float(seconds))]
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
