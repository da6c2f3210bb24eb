"""Paths of plan and result files that are no files: an error, and never a wait."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpframe as dp


def directory(folder: Path) -> Path:
    return folder


def absent(folder: Path) -> Path:
    return folder / "absent"


def below_a_file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file" / "below"


def loop(folder: Path) -> Path:
    (folder / "loop").symlink_to("loop")
    return folder / "loop"


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "fifo")
    return folder / "fifo"


def unix_socket(folder: Path) -> str:
    os.chdir(folder)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    return "socket"


def not_text(folder: Path) -> Path:
    (folder / "bytes").write_bytes(b"\xff\xfe\x00")
    return folder / "bytes"


ODD: list[tuple[Any, str]] = [
    (absent, "no such file"),
    (directory, "is a directory"),
    (below_a_file, "not a directory"),
    (loop, "too many levels of symbolic links"),
    (fifo, "it is a pipe or a device"),
    (unix_socket, "no such device or address"),
    (not_text, "it is not text in UTF-8"),
    (lambda _: "/dev/null", "it is a pipe or a device"),
    (lambda _: "/dev/zero", "it is a pipe or a device"),
    (lambda _: "a\0b", "that is not the path of a file"),
    (lambda _: "a" * 300, "file name too long"),
    (lambda _: None, "that is not the path of a file"),
    (lambda _: 0, "that is not the path of a file"),
    (lambda _: ["plan.toml"], "that is not the path of a file"),
]


@pytest.mark.parametrize(("load", "error"), [(dp.Plan.load, dp.PlanError), (dp.Result.load, dp.DataError)])
@pytest.mark.parametrize(("make", "says"), ODD, ids=[says for _, says in ODD])
def test_refused(
    load: Callable[[Any], Any],
    error: type[Exception],
    make: Callable[[Path], Any],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = make(tmp_path)
    with pytest.raises(error) as caught:
        load(path)
    assert says in str(caught.value)
    assert repr(str(path)) in str(caught.value)
    assert ("plan.dump(path)" in str(caught.value)) is (error is dp.PlanError)
    assert ("result.to_json(path)" in str(caught.value)) is (error is dp.DataError)


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> int:  # permissions do not hold for the superuser
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(dp.PlanError, match="cannot be read as a plan file: permission denied"):
        dp.Plan.load(tmp_path / "plan.toml")
