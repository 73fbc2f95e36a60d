"""Disks for tests: one that records every write and can lose power at any of them, one that fills up; and damage."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

import apsw

SECTOR = 512
_NEW_ENTRY = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL


@dataclass(frozen=True, slots=True)
class Step:
    """Something a program asked of the disk."""

    kind: Literal["create", "delete", "write", "truncate", "sync", "sync folder"]
    name: str = ""
    offset: int = 0
    data: bytes = b""


class RecordingDisk(apsw.VFS):
    """SQLite's own file access with a journal of it; nothing is really synced, for speed.

    A new write-ahead file or journal makes the folder's entries durable with its first sync, as SQLite does on POSIX.
    """

    def __init__(self, name: str) -> None:
        self.steps: list[Step] = []
        self.name = name
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> _RecordedFile:
        return _RecordedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, False)
        self.steps.append(Step("delete", Path(filename).name))
        if syncdir:
            self.steps.append(Step("sync folder"))


class _RecordedFile(apsw.VFSFile):
    def __init__(self, disk: RecordingDisk, name: Any, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._disk, self._name = disk, Path(path).name if path else ""
        isnew = bool(path) and not Path(path).exists()
        super().__init__("", name, flags)
        self._entry_due = isnew and bool(flags[0] & _NEW_ENTRY)
        if isnew:
            disk.steps.append(Step("create", self._name))

    def xWrite(self, data: Any, offset: int) -> None:
        super().xWrite(data, offset)
        if self._name:
            self._disk.steps.append(Step("write", self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._disk.steps.append(Step("truncate", self._name, newsize))

    def xSync(self, flags: int) -> None:
        self._disk.steps.append(Step("sync", self._name))
        if self._entry_due:
            self._disk.steps.append(Step("sync folder"))
            self._entry_due = False


def after_power_cut(steps: Sequence[Step], dice: Random, *, syncs: bool = True) -> dict[str, bytes]:
    """The files as they may be found after the power failed behind these steps.

    What was synced is there. Of the rest each sector of each write, and each truncation, is there or not, by the dice;
    of creations and deletions a first part. `syncs=False` is a disk that only says it synced.
    """
    kept = _durable(steps) if syncs else [False] * len(steps)
    luck = dice.choice((0.0, 0.5, 0.9, 1.0))
    entries = [at for at, step in enumerate(steps) if step.kind in ("create", "delete") and not kept[at]]
    for at in entries[: dice.randint(0, len(entries))]:
        kept[at] = True
    files: dict[str, bytearray] = {}
    there: dict[str, bytearray] = {}
    for step, sure in zip(steps, kept, strict=True):
        if step.kind == "create":
            files[step.name] = bytearray()
            if sure:
                there[step.name] = files[step.name]
        elif step.kind == "delete" and sure:
            there.pop(step.name, None)
        elif step.kind == "write":
            _write(files[step.name], step, dice, 1.0 if sure else luck)
        elif step.kind == "truncate" and (sure or dice.random() < luck):
            del files[step.name][step.offset :]
    return {name: bytes(content) for name, content in there.items()}


def _durable(steps: Sequence[Step]) -> list[bool]:
    kept = [False] * len(steps)
    synced: set[str] = set()
    folder = False
    for at in range(len(steps) - 1, -1, -1):
        step = steps[at]
        if step.kind == "sync":
            synced.add(step.name)
        elif step.kind == "sync folder":
            folder = True
        elif step.kind in ("create", "delete"):
            kept[at] = folder
            synced.discard(step.name)
        else:
            kept[at] = step.name in synced
    return kept


def _write(content: bytearray, step: Step, dice: Random, luck: float) -> None:
    end = step.offset + len(step.data)
    at = step.offset
    while at < end:
        stop = end if luck == 1.0 else min(end, at - at % SECTOR + SECTOR)
        if luck == 1.0 or dice.random() < luck:
            content.extend(bytes(max(0, at - len(content))))
            content[at:stop] = step.data[at - step.offset : stop - step.offset]
        at = stop


class FullDisk(apsw.VFS):
    """SQLite's own file access until `full` is set: from then on no file can grow."""

    def __init__(self, name: str) -> None:
        self.full = False
        self.name = name
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> _LimitedFile:
        return _LimitedFile(self, name, flags)

    def xGetLastError(self) -> tuple[int, str | None]:
        return (errno.ENOSPC, os.strerror(errno.ENOSPC)) if self.full else (0, None)


class _LimitedFile(apsw.VFSFile):
    def __init__(self, disk: FullDisk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:
        if self._disk.full and offset + len(data) > self.xFileSize():
            raise apsw.FullError("database or disk is full")
        super().xWrite(data, offset)


def with_raw(path: Path, *statements: str) -> None:
    """Changes a file behind the store's back."""
    db = apsw.Connection(str(path))
    for statement in statements:
        db.execute(statement)
    db.close()
