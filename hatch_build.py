"""Builds the compiled reader (`native/`) into the package, where cargo is at hand; else the package is pure Python.

Called by `pip install .`, by `pip install --editable .` and by `python -m build`. A build that fails is no error:
Python reads the texts then, and `synthesis --version` says so.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

CRATE = "native"
PACKAGE = "synthesis/rules/native"
PLACE = f"src/{PACKAGE}"
LIBRARIES = {"win32": ("synthesis_native.dll",) * 2, "darwin": ("libsynthesis_native.dylib", "synthesis_native.dylib")}
BUILT, INSTALLED = LIBRARIES.get(sys.platform, ("libsynthesis_native.so", "synthesis_native.so"))
SWITCH = "SYNTHESIS_NATIVE"  # 0: do not build it
MOST_SECONDS = 600


class NativeReaderHook(BuildHookInterface):
    """Runs before a wheel is put together."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        built = Path(self.root) / CRATE / "target" / "release" / BUILT
        problem = self._build()
        if problem:
            self.app.display_warning(f"The compiled reader was not built ({problem}); Python does its work.")
        if version == "editable":
            _put(None if problem else built, Path(self.root) / PLACE / INSTALLED)
        elif not problem:
            build_data["force_include"][str(built)] = f"{PACKAGE}/{INSTALLED}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_platform()}"

    def _build(self) -> str | None:
        """What was in the way; None if the library was built."""
        if os.environ.get(SWITCH) == "0":
            return f"{SWITCH}=0"
        cargo = shutil.which("cargo")
        if cargo is None:
            return "there is no cargo"
        self.app.display_info("Building the compiled reader, which takes about ten seconds ...")
        crate = Path(self.root) / CRATE
        command = [cargo, "build", "--release", "--offline", "--locked", "--manifest-path", str(crate / "Cargo.toml")]
        command += ["--target-dir", str(crate / "target")]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
            if done.returncode:
                return (done.stderr.strip().splitlines() or ["cargo failed"])[-1]
        except (OSError, subprocess.SubprocessError) as error:
            return str(error)
        return None


def _put(built: Path | None, target: Path) -> None:
    """Into the source tree, which an editable installation runs from. One of an older source must not stay there."""
    if built is None:
        target.unlink(missing_ok=True)
        return
    # Written beside and moved: a process that runs keeps the library that it has loaded.
    beside = target.with_suffix(f".{os.getpid()}.part")
    shutil.copyfile(built, beside)
    beside.replace(target)


def _platform() -> str:
    """Of this machine: who builds wheels for others gives them a tag that promises more."""
    plain = (tag.platform for tag in sys_tags() if not tag.platform.startswith(("manylinux", "musllinux")))
    return next(plain)
