"""Activation within a Python process."""
import ctypes
import os
import sys
import warnings

from ._libraries import FUNCTIONS, is_openmp, is_user, library, loaded, provider


class ActivationWarning(RuntimeWarning):
    """Some modules of the process do not use the library."""


def activate():
    """Has the modules that are imported from now on use this package's OpenMP library.

    Returns True if they will. Returns False, and changes nothing, if they would never use it:
    another OpenMP library comes first for all modules, as one does that is preloaded, or with which
    the program is linked; or modules are loaded with `RTLD_DEEPBIND`.

    Modules that were imported before stay with the library that they have. An `ActivationWarning`
    names them, or says why False is returned. Processes that are forked have what this one has;
    others activate the library for themselves, or by `LOCKSLEY_OPENMP=1`.

    Raises OSError if the library cannot be loaded.

        import locksley_openmp
        locksley_openmp.activate()
        import sklearn
    """
    own = library()
    before = {provider(it) for it in FUNCTIONS} - {None}
    if any(os.path.samefile(own, it) for it in before if os.path.exists(it)):
        return True
    if before:
        _warn(f"{' and '.join(sorted(before))} comes first for all modules")
        return False
    if sys.getdlopenflags() & getattr(os, "RTLD_DEEPBIND", 0):
        _warn("modules are loaded with RTLD_DEEPBIND")
        return False
    files = loaded()
    others = [os.path.basename(it) for it in files if is_openmp(it)]
    staying = [it for it in files if not is_openmp(it) and is_user(it)] if others else []
    ctypes.CDLL(own, mode=ctypes.RTLD_GLOBAL)
    if provider(FUNCTIONS[0]) is None:
        _warn("this dynamic linker does not let it take another library's place")
        return False
    if staying:
        names = ", ".join(_names(staying))
        _warn(f"these modules stay with {' and '.join(others)}, since they were imported before: "
              f"{names}", is_active=True)
    return True


def _warn(reason, is_active=False):
    message = reason if is_active else f"the library is not used: {reason}"
    warnings.warn(f"locksley-openmp: {message}", ActivationWarning, stacklevel=3)


def _names(paths):
    """The names of the modules that these files are, or else of the files."""
    modules = {getattr(it, "__file__", None): name for name, it in list(sys.modules.items())}
    return sorted(modules.get(it) or os.path.basename(it) for it in paths)
