"""threadpoolctl and joblib on a plugin that is linked with libgomp: which library they find, and
whether they set the sizes of its teams. The argument is the plugin."""
import ctypes
import faulthandler
import os
import sys

import joblib
import threadpoolctl

faulthandler.dump_traceback_later(120, exit=True)
plugin = ctypes.CDLL(sys.argv[1])


def found():
    libraries = [it for it in threadpoolctl.threadpool_info() if it["user_api"] == "openmp"]
    return {os.path.basename(it["filepath"]): it["num_threads"] for it in libraries}


def size_in_another_process(path):
    return ctypes.CDLL(path).team_size()


OWN = "libgomp_locksley.so"
size = plugin.team_size()
# The plugin's own libgomp is idle, and is set, too.
print("libraries:", len(found()))
print("told the size of teams:", found()[OWN] == size)
for limit in 1, 3:
    with threadpoolctl.threadpool_limits(limit, user_api="openmp"):
        print("limit", limit, "told", found()[OWN], "team of", plugin.team_size())
print("as before:", plugin.team_size() == size, found()[OWN] == size)

for name, limited in (OWN, 1), ("libgomp.so", size):
    # One of the two by itself: the plugin's own has no effect.
    path = next(it.filepath for it in threadpoolctl.ThreadpoolController().lib_controllers
                if os.path.basename(it.filepath).startswith(name))
    with threadpoolctl.ThreadpoolController().select(filepath=path).limit(limits=1):
        print(name, "alone:", plugin.team_size() == limited)
controller = threadpoolctl.ThreadpoolController().select(user_api="openmp")
with controller.limit(limits=1):
    print("by a controller:", plugin.team_size())

jobs = [joblib.delayed(size_in_another_process)(sys.argv[1])] * 4
for inner in 1, 2:
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=inner):
        # More than there are processors are not started.
        expected = [min(inner, size)] * 4
        print("joblib, loky,", inner, "inner threads:", joblib.Parallel()(jobs) == expected)
sizes = joblib.Parallel(n_jobs=2, backend="threading")(jobs)
print("joblib, threads as outside:", sizes == [size] * 4)
