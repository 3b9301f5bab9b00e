"""Builds the package for pip: maturin, and the command beside the extension module.

A wheel of maturin's has a program or a module, and this one has both. The program is built
first, by maturin as well (with the same profile, target and linker), and put into a folder
from which maturin takes it as the script `lasthop`. What else a build front end asks for is
maturin's. Arguments for both builds are those that maturin takes:
`MATURIN_PEP517_ARGS="--profile dist" pip wheel .`
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import maturin
from maturin import (  # noqa: F401
    build_sdist,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

get_requires_for_build_editable = get_requires_for_build_wheel
prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel

ROOT = Path(__file__).resolve().parents[2]
# Maturin's default, `<module-name>.data`: what is below it goes into the wheel. It is there only
# while a wheel is built, since `[tool.maturin] data` would have to exist for `maturin develop`.
DATA = ROOT / "lasthop._lasthop.data"


@contextlib.contextmanager
def command(config_settings=None):
    """Builds the command, and keeps it where maturin takes it from until the body is done."""
    arguments = maturin.get_maturin_pep517_args(config_settings)
    manifest = str(ROOT / "crates/cli/Cargo.toml")
    build = ["maturin", "build", "--bindings", "bin", "--manifest-path", manifest]
    build += ["--features", "studies"]
    if not any(argument in ("--profile", "--release", "-r") for argument in arguments):
        build.append("--release")
    if "--compatibility" not in arguments:
        build += ["--compatibility", "off"]
    with tempfile.TemporaryDirectory() as out:
        print("Running `" + " ".join([*build, *arguments]) + "`", flush=True)
        subprocess.run([*build, "--out", out, *arguments], check=True, cwd=ROOT)
        (wheel,) = Path(out).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (n for n in archive.namelist() if n.endswith(".data/scripts/lasthop"))
            program = archive.read(name)
    shutil.rmtree(DATA, ignore_errors=True)
    try:
        (DATA / "scripts").mkdir(parents=True)
        (DATA / "scripts" / "lasthop").write_bytes(program)
        (DATA / "scripts" / "lasthop").chmod(0o755)
        yield
    finally:
        shutil.rmtree(DATA, ignore_errors=True)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with command(config_settings):
        return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    with command(config_settings):
        return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


if __name__ == "__main__":
    sys.exit("this is for pip: pip install .")
