"""Compiles the library for the wheel, and refuses one that glibc 2.17 could not load.

LOCKSLEY_OPENMP_ARCH=aarch64 (or x86_64) builds for another machine than this one. Rust's standard
library for it has to be installed.
"""
import json
import os
import pathlib
import platform
import subprocess
import sys

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "src"))
from locksley_openmp._elf import Elf  # noqa: E402
from locksley_openmp._program import MACHINES  # noqa: E402

# Threadpoolctl knows OpenMP libraries by the names of files, which have to begin with libgomp.
FILE = "libgomp-locksley.so.1"


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        arch = os.environ.get("LOCKSLEY_OPENMP_ARCH") or platform.machine()
        if arch not in MACHINES:
            sys.exit(f"locksley-openmp: no wheel for {arch}: there are {' and '.join(MACHINES)}")
        library = compile_for(arch)
        check(library, arch)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_17_{arch}.manylinux2014_{arch}"
        build_data["force_include"][str(library)] = f"locksley_openmp/{FILE}"


def compile_for(arch):
    """Returns the path of the library."""
    command = ["cargo", "zigbuild", "--release", "--locked", "--package", "locksley-openmp",
               "--lib", "--target", f"{arch}-unknown-linux-gnu.2.17",
               "--config", "profile.release.strip=true",
               "--message-format", "json-render-diagnostics"]
    try:
        # The tools of the build environment are those beside its Python.
        built = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True)
    except FileNotFoundError:
        sys.exit("locksley-openmp: cargo is not installed")
    if built.returncode != 0:
        sys.exit("locksley-openmp: the library cannot be compiled")
    messages = map(json.loads, built.stdout.splitlines())
    files = [pathlib.Path(file) for it in messages if it["reason"] == "compiler-artifact"
             and it["target"]["name"] == "gomp_locksley" for file in it["filenames"]]
    return next(file for file in files if file.suffix == ".so")


def check(library, arch):
    """auditwheel does not notice undefined symbols without a version, which may be newer than the
    C library that the wheel's tag promises to work with. Weak ones may be missing."""
    elf = Elf.read(library)
    unknown = [it.name for it in elf.undefined if it.version is None and not it.is_weak]
    if unknown:
        sys.exit(f"locksley-openmp: symbols without a version: {' '.join(unknown)}")
    if elf.soname != FILE or elf.machine != MACHINES[arch]:
        sys.exit(f"locksley-openmp: {elf.soname} of machine {elf.machine} is not {FILE} of {arch}")
