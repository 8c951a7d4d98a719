"""An OpenMP library for containers with quotas and for machines that are shared.

    import locksley_openmp
    locksley_openmp.activate()   # before the modules that use OpenMP

Or start a program by `locksley-openmp run PROGRAM`, or `python -m locksley_openmp SCRIPT`.
"""
from ._activation import ActivationWarning, activate
from ._libraries import library

__all__ = ["ActivationWarning", "activate", "library"]
