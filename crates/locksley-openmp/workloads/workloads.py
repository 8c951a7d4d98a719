"""Runs a workload twice, perhaps beside busy loops: workloads.py WORKLOAD LOOPS

Prints how long the second time took, in seconds, how much slower the busy loops were than alone,
and what was found, without the last digits, which sums in another order may change.
"""
import ctypes
import itertools
import mmap
import os
import pathlib
import subprocess
import sys
import time

COUNTS = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("q")


def begin_loops(number):
    """Starts processes that count until this one ends."""
    parent = os.getpid()
    for loop in range(number):
        if os.fork() == 0:
            while os.getppid() == parent:
                for _ in range(10_000):
                    pass
                COUNTS[loop] += 1
            os._exit(0)


def timed(function):
    """What it returns, the seconds that it takes, and how far loops count in a second."""
    start, counted = time.perf_counter(), sum(COUNTS)
    found = function()
    seconds = time.perf_counter() - start
    return found, seconds, (sum(COUNTS) - counted) / seconds


# Before the other modules: a process with OpenMP's threads should not fork.
loops = int(sys.argv[2])
begin_loops(loops)
loops_alone = timed(lambda: time.sleep(0.5 if loops else 0))[2]

import numpy as np  # noqa: E402

random = np.random.default_rng(1998)
x = random.standard_normal((int(os.environ.get("ROWS", 20000)), 20))
y = (x[:, 0] * x[:, 1] + x[:, 2] > 0.3).astype(int)


def boosting():
    from sklearn.ensemble import HistGradientBoostingClassifier as Model
    return Model(max_iter=60, random_state=0, early_stopping=False).fit(x, y).predict_proba(x)[:, 1]


def kmeans():
    from sklearn.cluster import KMeans
    return KMeans(16, init=x[:16], n_init=1, max_iter=60, tol=0).fit(x).inertia_


def lightgbm():
    import lightgbm
    options = dict(objective="binary", verbose=-1, deterministic=True, force_row_wise=True, seed=0)
    return lightgbm.train(options, lightgbm.Dataset(x, y), 60).predict(x)


def xgboost():
    import xgboost
    options = dict(objective="binary:logistic", tree_method="hist", seed=0)
    data = xgboost.DMatrix(x, y)
    return xgboost.train(options, data, 60).predict(data)


def inference():
    import torch
    from torch.nn import Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential
    torch.manual_seed(0)
    model = Sequential(Conv2d(3, 32, 3, padding=1), ReLU(), MaxPool2d(2),
                       Conv2d(32, 64, 3, padding=1), ReLU(), Flatten(), Linear(64 * 32 * 32, 100))
    images = torch.rand(8, 3, 64, 64)
    with torch.no_grad():
        return np.mean([model(images).numpy() for _ in range(10)], axis=0)


def matmul():
    import torch
    torch.manual_seed(0)
    a = torch.rand(600, 600)
    for _ in range(40):
        a = torch.sigmoid(a @ a - 150)
    return a.numpy()


def llama():
    from llama_cpp import Llama
    threads = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count()))
    model = Llama(os.environ["MODEL"], n_ctx=256, n_threads=threads, n_threads_batch=threads,
                  verbose=False)
    return list(itertools.islice(model.generate(range(32), temp=0), 64))


def fortran():
    function = ctypes.CDLL(os.environ["JACOBI"]).jacobi
    function.restype = ctypes.c_double
    return function()


def openblas():
    multiply = ctypes.CDLL(os.environ["BLAS"]).cblas_dgemm
    size, double = 600, ctypes.c_double
    a, c = x.reshape(-1)[:size * size].copy(), np.zeros(size * size)
    a_pointer, c_pointer = (ctypes.c_void_p(it.ctypes.data) for it in (a, c))
    for _ in range(8):
        multiply(101, 111, 111, size, size, size, double(1), a_pointer, size, a_pointer, size,
                 double(0), c_pointer, size)
    return c


def imagemagick():
    """Blurs a picture: the checksum."""
    debian = pathlib.Path(os.environ["DEBIAN"])
    lib = debian / "usr/lib/x86_64-linux-gnu"
    places = dict(MAGICK_CONFIGURE_PATH=str(debian / "etc/ImageMagick-7"),
                  MAGICK_CODER_MODULE_PATH=str(*lib.glob("ImageMagick-7*/modules-Q16/coders")))
    command = [*os.environ["LOADER"].split(), debian / "usr/bin/magick-im7.q16",
               "-size", "1500x1500", "gradient:red-blue",
               "-swirl", "300", "-blur", "0x6", "-format", "%#", "info:"]
    found = subprocess.run(command, env=os.environ | places, capture_output=True, check=True)
    return int(found.stdout[:12], 16)


if __name__ == "__main__":
    workload = globals()[sys.argv[1]]
    workload()
    found, seconds, loops_beside = timed(workload)
    print(seconds, loops_alone / loops_beside - 1 if loops else 0,
          f"{np.mean(found):.5f} {np.std(found):.5f}")
