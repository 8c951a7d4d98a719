"""Which OpenMP libraries a program loads."""
import json
import os
import platform
import re
import stat
import subprocess
import sys

from ._elf import Elf, NotElf
from ._launch import NOT_EXECUTABLE, NOT_FOUND, Failure, find
from ._libraries import is_openmp

MACHINES = {"x86_64": 62, "aarch64": 183}
SCRIPT = "import json, sys; print(json.dumps(sys.path))"


def of_program(program, variables):
    """The paths of the OpenMP libraries that a program loads, in the order in which its functions
    are looked for, and notes. The program is not executed, only its dynamic linker is."""
    path = find(program)
    if not os.path.exists(path):
        raise Failure(f"{program}: No such file or directory", NOT_FOUND)
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        raise Failure(f"{program}: Permission denied", NOT_EXECUTABLE)
    interpreter = _interpreter(path)
    if interpreter:
        found, notes = of_program(interpreter, variables)
        return found, [f"{program} is a script of {interpreter}", *notes]
    mode = os.stat(path).st_mode
    if mode & (stat.S_ISUID | stat.S_ISGID):
        return [], [f"{program} changes its user or group: nothing can be preloaded"]
    try:
        elf = Elf.read(path)
    except NotElf:
        return [], [f"{program} is no program of 64 bits: the library cannot be preloaded"]
    if not elf.interpreter:
        return [], [f"{program} is linked statically: nothing can be preloaded"]
    if elf.machine != MACHINES.get(platform.machine()):
        return [], [f"{program} is a program for another kind of processor"]
    command = [elf.interpreter, "--list", path]
    try:
        listed = subprocess.run(command, env=variables, capture_output=True, text=True,
                                errors="surrogateescape", timeout=30)
    except OSError as error:
        raise Failure(f"{elf.interpreter}: {error.strerror}", 1) from None
    paths = re.findall(r"^\t(?:\S.* => )?(/.*) \(0x[0-9a-f]+\)$", listed.stdout, re.MULTILINE)
    notes = [it.strip() for it in listed.stderr.splitlines()]
    notes += [it.strip() for it in listed.stdout.splitlines() if it.endswith("=> not found")]
    found = [it for it in paths if is_openmp(it)]
    if re.fullmatch(r"python[\d.]*", os.path.basename(os.path.realpath(path))):
        found += of_packages(_folders(path, variables))
    return found, notes


def _interpreter(path):
    """The program that the first line of a script names."""
    with open(path, "rb") as file:
        line = file.readline(4096).strip()
    if not line.startswith(b"#!"):
        return None
    words = os.fsdecode(line[2:]).split()
    if words and os.path.basename(words[0]) == "env":
        words = [it for it in words[1:] if not it.startswith("-") and "=" not in it]
    return words[0] if words else None


def _folders(python, variables):
    """Where a Python looks for modules."""
    if os.path.exists(sys.executable) and os.path.abspath(python) == sys.executable:
        return sys.path
    command = [python, "-c", SCRIPT]
    try:
        said = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=30)
        return json.loads(said.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return []


def of_packages(folders=None):
    """The paths of the OpenMP libraries that Python's packages bring, but for this one."""
    folders = sys.path if folders is None else folders
    found = set()
    for folder in folders:
        if os.path.basename(folder) in ("site-packages", "dist-packages"):
            for place, _, names in os.walk(folder):
                if os.path.basename(place) != "locksley_openmp":
                    found |= {os.path.join(place, it) for it in names if is_openmp(it)}
    return sorted(found)
