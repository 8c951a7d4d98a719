"""OpenMP libraries: which are loaded into this process, and which one new modules get."""
import ctypes
import os
import re

from ._elf import Elf, NotElf

FILE = "libgomp-locksley.so.1"
# Those of GNU, LLVM and Intel. A package's copy has a suffix of its own.
NAME = re.compile(r"lib(gomp|omp|iomp5)\b.*\.so\b|libgomp_locksley\.so")
FUNCTION = re.compile(r"(GOMP|omp|kmpc?|__kmpc)_")
# A function that compiled code calls, of gcc's and of clang's interface, and one of both.
FUNCTIONS = ["GOMP_parallel", "__kmpc_fork_call", "omp_get_thread_num"]


def library():
    """The path of this package's library, or `$LOCKSLEY_OPENMP_LIBRARY`.

    Raises FileNotFoundError if it is not there.
    """
    path = os.environ.get("LOCKSLEY_OPENMP_LIBRARY")
    path = os.path.abspath(path or os.path.join(os.path.dirname(__file__), FILE))
    if not os.path.isfile(path):
        raise FileNotFoundError(2, "there is no library", path)
    return path


def is_openmp(path):
    """True if the file's name is that of an OpenMP library."""
    return NAME.match(os.path.basename(path)) is not None


def loaded():
    """The paths of all files with code in this process."""
    paths = []
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                words = line.rstrip("\n").split(None, 5)
                if len(words) == 6 and "x" in words[1] and words[5].startswith("/"):
                    paths.append(words[5])
    except OSError:
        pass  # without /proc nothing is known
    return sorted(set(paths))


def is_user(path):
    """True if the file needs functions of an OpenMP library. (A weak one may be missing: BLAS
    libraries with threads of their own ask by it whether they are called in a region.)"""
    try:
        undefined = Elf.read(path).undefined
    except (OSError, NotElf):
        return False
    return any(FUNCTION.match(it.name) and not it.is_weak for it in undefined)


class _Info(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p),
                ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p)]


def provider(function):
    """The path of the library from which modules that are loaded from now on get a function,
    whatever library they bring. None if they get it from their own."""
    program = ctypes.CDLL(None)
    try:
        address = ctypes.cast(getattr(program, function), ctypes.c_void_p)
    except AttributeError:
        return None
    info = _Info()
    if program.dladdr(address, ctypes.byref(info)) == 0 or not info.file:
        return None
    return os.fsdecode(info.file)
