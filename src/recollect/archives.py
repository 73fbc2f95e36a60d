"""What reading a damaged archive raises, besides errors of the file system."""

from __future__ import annotations

import zipfile
import zlib
from importlib import import_module
from importlib.util import find_spec
from typing import Final

_LZMA: Final = import_module("lzma").LZMAError if find_spec("_lzma") else EOFError
"""Not every Python is built with it."""
DAMAGE: Final = (zipfile.BadZipFile, zlib.error, _LZMA, EOFError, KeyError, ValueError, RuntimeError)
"""ValueError for a name that is not UTF-8, RuntimeError for what can't be unpacked without a password or at all."""
