"""Builds the compiled reader (`native/`) into the package and, where it is asked for, prepares the bundled rule packs.

Called by `pip install .`, by `pip install --editable .` and by `python -m build`. Neither step must succeed: without
cargo Python reads the texts, which `synthesis --version` says, and packs that are not prepared are prepared when they
are first used, which takes some seconds for each language. So a checkout is installed in seconds; packages for others
(wheels, containers) are built with SYNTHESIS_PREPARE=1, which takes a minute and spares everyone those seconds.

An editable installation gets the bytecode of its source tree as well: what pip does for packages that it copies.
"""

import compileall
import os
import shutil
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

SOURCE = "src"
CRATE = "native"
PACKAGE = "synthesis/rules/native"
PLACE = f"src/{PACKAGE}"
LIBRARIES = {"win32": ("synthesis_native.dll",) * 2, "darwin": ("libsynthesis_native.dylib", "synthesis_native.dylib")}
BUILT, INSTALLED = LIBRARIES.get(sys.platform, ("libsynthesis_native.so", "synthesis_native.so"))
BUILD = f"{CRATE}/target/release/{BUILT}"
SWITCH = "SYNTHESIS_NATIVE"  # 0: do not build it
LIBRARY = "SYNTHESIS_LIBRARY"  # names the library that images are made with
MOST_SECONDS = 600
PACKS = "src/synthesis/rules/packs"
PREPARED = "synthesis/rules/prepared"
KEPT = "build/prepared"  # from build to build: the names are made of all that the content depends on
CACHE = "SYNTHESIS_CACHE"
PREPARE = "SYNTHESIS_PREPARE"  # 1: prepare packs
FOR_COMPILED = (".image", ".characters-", ".detection.program")  # what the compiled library alone needs


class BuildHook(BuildHookInterface):
    """Runs before a wheel is put together."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        built = Path(self.root) / BUILD
        problem = self._build()
        if problem:
            self.app.display_warning(f"The compiled reader was not built ({problem}); Python does its work.")
        if version == "editable":
            _put(None if problem else built, Path(self.root) / PLACE / INSTALLED)
            compileall.compile_dir(Path(self.root) / SOURCE, quiet=2)
        elif not problem:
            build_data["force_include"][str(built)] = f"{PACKAGE}/{INSTALLED}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_platform()}"
        folder = Path(self.root) / "src" / PREPARED
        self._prepare(folder, compiled=not problem)
        if version != "editable" and folder.is_dir():
            build_data["force_include"][str(folder)] = PREPARED

    def _prepare(self, folder: Path, *, compiled: bool) -> None:
        """Fill a folder with the prepared packs, if that is asked for; what an older source left there goes."""
        shutil.rmtree(folder, ignore_errors=True)
        if os.environ.get(PREPARE) != "1":
            return
        begun = time.time() - 1  # what is used is touched, and clocks of files are coarse
        try:
            problem = self._run_preparation(compiled=compiled)
            if not problem:
                self._ship(folder, begun, compiled=compiled)
        except (OSError, subprocess.SubprocessError) as error:
            problem = str(error)
        if problem:
            self.app.display_warning(f"The rule packs were not prepared ({problem}); the first run does it.")

    def _ship(self, folder: Path, begun: float, *, compiled: bool) -> None:
        """Put what this build has used into a folder; the rest was kept by an earlier one."""
        folder.mkdir()
        for path in sorted((Path(self.root) / KEPT).glob("*.msgpack")):
            if path.stat().st_mtime < begun:
                path.unlink()
            elif compiled or not any(part in path.name for part in FOR_COMPILED):
                (folder / f"{path.stem}.zz").write_bytes(zlib.compress(path.read_bytes()))

    def _run_preparation(self, *, compiled: bool) -> str | None:
        """What was in the way; None if all packs are prepared. Languages are shared out among the processors."""
        self.app.display_info("Preparing the rule packs, which takes about a minute the first time ...")
        languages = sorted(path.parent.name for path in (Path(self.root) / PACKS).glob("*/pack.yaml"))
        # What the package needs to run is where pip has put it for this build alone, which only this variable tells.
        paths = [str(Path(self.root) / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), CACHE: str(Path(self.root) / KEPT)}
        environment |= {LIBRARY: str(Path(self.root) / BUILD)} if compiled else {SWITCH: "0"}
        shares = [share for first in range(os.cpu_count() or 1) if (share := languages[first :: os.cpu_count()])]
        command = [sys.executable, "-m", "synthesis.checks.prepare"]
        running = [
            subprocess.Popen([*command, *share], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for share in shares
        ]
        try:
            told = [process.communicate(timeout=MOST_SECONDS)[1] for process in running]
        finally:
            for process in running:
                process.kill()  # one that is done does not mind
        failed = [words for process, words in zip(running, told, strict=True) if process.returncode]
        return (failed[0].decode(errors="replace").strip().splitlines() or ["it failed"])[-1] if failed else None

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
