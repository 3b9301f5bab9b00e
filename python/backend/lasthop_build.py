"""Builds the package for pip: maturin, and the command beside the extension module.

A wheel of maturin's has a program or a module, and this one has both. The program is built
first, by maturin as well (with the same profile, target and linker), and put into the folder
that `[tool.maturin] data` names, from which maturin takes it as the script `lasthop`. What
else a build front end asks for is maturin's. Arguments for both builds are those that maturin
takes: `MATURIN_PEP517_ARGS="--profile dist" pip wheel .`
"""

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
SCRIPTS = ROOT / "target" / "lasthop.data" / "scripts"
# Maturin wants the folder for everything that it does, even for what it takes nothing from it.
SCRIPTS.mkdir(parents=True, exist_ok=True)


def put_command(config_settings=None):
    """Builds the command and puts it where maturin takes it from."""
    arguments = maturin.get_maturin_pep517_args(config_settings)
    manifest = str(ROOT / "crates/cli/Cargo.toml")
    command = ["maturin", "build", "--bindings", "bin", "--manifest-path", manifest]
    if not any(argument in ("--profile", "--release", "-r") for argument in arguments):
        command.append("--release")
    if "--compatibility" not in arguments:
        command += ["--compatibility", "off"]
    shutil.rmtree(SCRIPTS.parent, ignore_errors=True)
    SCRIPTS.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as out:
        print("Running `" + " ".join([*command, *arguments]) + "`", flush=True)
        subprocess.run([*command, "--out", out, *arguments], check=True, cwd=ROOT)
        (wheel,) = Path(out).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (n for n in archive.namelist() if n.endswith(".data/scripts/lasthop"))
            (SCRIPTS / "lasthop").write_bytes(archive.read(name))
    (SCRIPTS / "lasthop").chmod(0o755)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    put_command(config_settings)
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    put_command(config_settings)
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


if __name__ == "__main__":
    sys.exit("this is for pip: pip install .")
