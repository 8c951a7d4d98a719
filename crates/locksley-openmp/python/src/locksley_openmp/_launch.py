"""Executing a program with the library preloaded, in this process."""
import errno
import os
import signal

from ._libraries import library

NOT_FOUND, NOT_EXECUTABLE = 127, 126


class Failure(Exception):
    """The command cannot be carried out: the line that says why, and the exit code."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


def find(program):
    """The path of a program that is to be executed, as a shell finds it."""
    if "/" in program:
        return program
    folders = os.get_exec_path()
    paths = [os.path.join(it, program) for it in folders]
    files = [it for it in paths if os.path.isfile(it)]
    executable = [it for it in files if os.access(it, os.X_OK)]
    return next(iter(executable + files), program)


def execute(program, arguments, *, is_verbose=False, is_dynamic=False):
    """Executes a program, which gets this process. Raises Failure if that cannot be."""
    variables = preloading(environment())
    if is_verbose:
        variables["LOCKSLEY_VERBOSE"] = "1"
    if is_dynamic:
        variables["OMP_DYNAMIC"] = "true"
    path = find(program)
    # Python ignores them. A program would inherit that.
    for number in signal.SIGPIPE, signal.SIGXFSZ:
        signal.signal(number, signal.SIG_DFL)
    try:
        if path == program and "/" not in program:
            raise FileNotFoundError(errno.ENOENT, "not found")
        try:
            os.execve(path, [program, *arguments], variables)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
        # A script without a first line that names an interpreter.
        os.execve("/bin/sh", ["sh", path, *arguments], variables)
    except OSError as error:
        is_missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
        code = NOT_FOUND if is_missing else NOT_EXECUTABLE
        raise Failure(f"{program}: {error.strerror}", code) from None
    except ValueError as error:
        raise Failure(f"{program!r}: {error}", 2) from None


def environment():
    """The variables that this process was started with: Python may have changed LC_CTYPE."""
    variables = dict(os.environ)
    try:
        with open("/proc/self/environ", "rb") as file:
            was_set = any(it.startswith(b"LC_CTYPE=") for it in file.read().split(b"\0"))
    except OSError:
        was_set = True
    if not was_set:
        variables.pop("LC_CTYPE", None)
    return variables


def preloading(variables):
    """The variables with which a program loads the library before what is preloaded anyway."""
    folder, name = os.path.split(library())
    if " " not in folder + name and ":" not in folder + name:
        return _prepended(variables, "LD_PRELOAD", os.path.join(folder, name))
    # Spaces separate libraries, but not folders. Colons separate both.
    if ":" in folder + name:
        raise Failure(f"{folder}: a folder with a colon cannot be preloaded from", 1)
    variables = _prepended(variables, "LD_PRELOAD", name)
    return _prepended(variables, "LD_LIBRARY_PATH", folder)


def _prepended(variables, name, first):
    others = [it for it in variables.get(name, "").split(":") if it]
    if first not in others:
        others.insert(0, first)
    return {**variables, name: ":".join(others)}
