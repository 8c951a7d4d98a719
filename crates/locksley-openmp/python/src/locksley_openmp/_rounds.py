"""Measures a small loop on an OpenMP library: `_rounds.py OURS LIBRARY SECONDS`.

Prints how many rounds a second it did, and the path of the library. Run as a script, without the
rest of the package, in a process that has no other OpenMP library.
"""
import ctypes
import os
import sys


def main(ours, path, seconds):
    library = ctypes.CDLL(path)
    functions = [ctypes.cast(getattr(library, it), ctypes.c_void_p)
                 for it in ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")]
    repeat = ctypes.CDLL(ours).locksley_openmp_rounds
    repeat.restype = ctypes.c_int64
    repeat.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_double]
    repeat(*functions, ctypes.c_double(0.01))  # the threads are started
    rounds = repeat(*functions, ctypes.c_double(seconds))
    if rounds < 0:
        sys.exit("a round did not execute all iterations")
    print(rounds / seconds, library.omp_get_max_threads())
    sys.stdout.flush()
    os._exit(0)  # what the libraries do at the end is not measured


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
