"""What the tests share: Python and the package's command in processes of their own."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import sysconfig

import locksley_openmp

LIBRARY = locksley_openmp.library()
COMMAND = os.path.join(sysconfig.get_path("scripts"), "locksley-openmp")
PYTHON = [sys.executable, "-m", "locksley_openmp"]
SYSTEM = "libgomp.so.1"  # as the dynamic linker finds it

# Prints which library new modules get.
WHICH = """
import ctypes, os
from locksley_openmp._libraries import provider
print(os.path.basename(provider('GOMP_parallel') or 'none'))
"""
# Whether a region had the package's threads: they have a name, by which the kernel knows them.
THREADS = """
import pathlib
def threads():
    names = [it.read_text().strip() for it in pathlib.Path('/proc/self/task').glob('*/comm')]
    return names.count('locksley-omp')
"""
# A fit with two threads.
FIT = THREADS + """
import numpy
from sklearn.cluster import KMeans
points = numpy.random.default_rng(1998).random((3000, 4))
def fit():
    return round(KMeans(3, n_init=1, init=points[:3]).fit(points).inertia_, 6)
"""


def has(*modules):
    return all(importlib.util.find_spec(it) for it in modules)


def run(command, *, code=0, complaint="", folder=None, **variables):
    """What a command prints. It has to exit with `code`, and to say exactly `complaint`, or
    anything if that is None."""
    environment = {name: it for name, it in os.environ.items()
                   if not name.startswith(("OMP_", "GOMP_", "LOCKSLEY_", "LD_", "PYTHON"))}
    environment.update(variables)
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120,
                           cwd=folder)
    said = f"{command}: {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    assert ended.returncode == code, said
    assert complaint is None or ended.stderr == complaint, said
    return ended.stdout if complaint is not None else (ended.stdout, ended.stderr)


def python(text, **options):
    return run([sys.executable, "-c", text], **options)


def script(folder, name, text, mode=0o755):
    path = pathlib.Path(folder) / name
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def has_system_library():
    code = f"import ctypes; ctypes.CDLL({SYSTEM!r})"
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
