"""The command ``dpframe``: price, check and run plan files from a shell.

Exit codes: 0 done; 1 refused, nothing was charged; 2 the command line is wrong; 3 failed after the charge, which
stands.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpframe.errors import DataError, DPFrameError, PlanError, ReleaseFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from dpframe.result import Result

REFUSED, AFTER_THE_CHARGE = 1, 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; user errors become one line on standard error, never a traceback."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.command(arguments)
    except ReleaseFailed as error:
        print(f"dpframe: {error}", file=sys.stderr)
        return AFTER_THE_CHARGE
    except DPFrameError as error:
        print(f"dpframe: {error}", file=sys.stderr)
        return REFUSED
    except BrokenPipeError:  # the reader of our output has gone
        sys.stderr.close()
        return 0
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dpframe", description="Differentially private matrices about people.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the versions of dpframe and its plugins")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=text, description=text)
        found.set_defaults(command=command)
        return found

    demo = add("demo", _demo, "a real release on embedded data, with its report")
    demo.add_argument("--files", metavar="DIR", type=Path, help="write its data and plan there instead of running it")
    add("plugins", _plugins, "what is installed, and what is set aside and why").add_argument(
        "--json", action="store_true"
    )
    explain = add("explain", _explain, "price and forecast of a plan file, before any data is touched")
    explain.add_argument("plan", metavar="PLAN", help="a plan file (TOML)")
    explain.add_argument("--dim", type=int, help="the number of coordinates")
    explain.add_argument("--spectrum", help="assumed eigenvalues of the second moment, separated by commas")
    explain.add_argument("--json", action="store_true")
    run = add("run", _run, "run a plan on data: charge, read, draw, derive")
    run.add_argument("plan", metavar="PLAN", help="a plan file (TOML)")
    run.add_argument("data", metavar="DATA", help="a .npy array, a .csv file, a .parquet file or a directory of them")
    run.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="where to write (default: PLAN's name with -result)"
    )
    run.add_argument("--json", action="store_true", help="print the result as JSON instead of the report")
    check = add("check", _check, "how the data fits the plan's promise; NOT PRIVATE, for the steward of the data only")
    check.add_argument("plan", metavar="PLAN", help="a plan file (TOML)")
    check.add_argument("data", metavar="DATA", help="as for run")
    add("schema", _schema, "a JSON schema of plan files, for editors")
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from dpframe import registry

        print("\n".join(f"{name} {version}" for name, version in registry.versions().items()))
        parser.exit()


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _demo(arguments: argparse.Namespace) -> None:
    from dpframe import demo

    if arguments.files is None:
        demo.main()
        return
    try:
        demo.write_files(arguments.files)
    except OSError as error:
        raise DataError(f"{arguments.files} cannot be written to: {error}.") from None
    print(f"written: {arguments.files}/adult.csv and {arguments.files}/plan.toml")


def _plugins(arguments: argparse.Namespace) -> None:
    import attrs

    from dpframe import registry
    from dpframe.render import table

    found = registry.plugins()
    if arguments.json:
        print(json.dumps([attrs.asdict(plugin) for plugin in found], indent=1))
        return
    cells = [
        {
            "plugin": plugin.name,
            "version": plugin.version,
            "status": plugin.status,
            "provides": plugin.reason or ", ".join(plugin.provides),
        }
        for plugin in found
    ]
    _console().print(table(cells))


def _explain(arguments: argparse.Namespace) -> None:
    from dpframe.plan import Plan

    explanation = Plan.load(arguments.plan).explain(dim=arguments.dim, spectrum=_numbers(arguments.spectrum))
    if arguments.json:
        print(explanation.to_json())
    else:
        _console().print(explanation)


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise PlanError(f"--spectrum takes numbers separated by commas; got {text!r}.") from None


def _run(arguments: argparse.Namespace) -> None:
    from dpframe.plan import Plan

    plan = Plan.load(arguments.plan)
    output = arguments.output or Path(f"{Path(arguments.plan).stem}-result")
    _prepare(output)
    with _progress() as progress:
        result = plan.run(_data(arguments.data), progress=progress)
    try:
        _write(result, output)
    except OSError as error:  # the result is paid for: print it rather than lose it
        print(result.to_json())
        raise ReleaseFailed(f"{output} could not be written ({error}); the result is printed above.") from None
    if arguments.json:
        print(result.to_json())
    else:
        _console().print(result)
        print(f"written to {output}/result.json and {output}/arrays.npz")


def _prepare(output: Path) -> None:
    """Make sure, before anything is charged, that the result can be written and overwrites nothing."""
    if (output / "result.json").exists():
        raise DataError(f"{output}/result.json exists already; a result is never overwritten. Choose another -o DIR.")
    try:
        output.mkdir(parents=True, exist_ok=True)
        probe = output / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise DataError(f"{output} cannot be written to: {error}. Nothing was charged.") from None


def _write(result: Result, output: Path) -> None:
    import numpy as np

    result.to_json(output / "result.json")
    np.savez(output / "arrays.npz", allow_pickle=False, **dict(result))


@contextmanager
def _progress() -> Iterator[Callable[[str], None] | None]:
    """A spinner on a terminal. It tells the phase only: rows and bytes may be private."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with console.status("checking the schema") as status:
        yield status.update


def _check(arguments: argparse.Namespace) -> None:
    from dpframe.check import check
    from dpframe.plan import Plan

    _console().print(check(_data(arguments.data), Plan.load(arguments.plan).rows))


def _data(path: str) -> Any:
    """What a path names: arrays are mapped into memory, tables are opened by the sources."""
    import numpy as np

    if Path(path).suffix != ".npy":
        return path
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} cannot be read as an array ({type(error).__name__}).") from None


def _schema(_: argparse.Namespace) -> None:
    from dpframe.schema import schema

    print(json.dumps(schema(), indent=1))
