"""Each way to the library, and which processes it reaches."""
import os
import sys
import tempfile
import unittest

from .support import COMMAND, FIT, LIBRARY, PYTHON, THREADS, WHICH, has, python, run, script

OURS = os.path.basename(LIBRARY) + "\n"
ACTIVATE = "import locksley_openmp; assert locksley_openmp.activate()\n"
TWO = {"OMP_NUM_THREADS": "2", "OMP_DYNAMIC": "false"}
# A spawned child, which is none of this process's copies.
CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', {!r}], check=True)"


class Ways(unittest.TestCase):
    def ways(self, code):
        """The ways in which a Python executes code."""
        yield "run", lambda **it: run([COMMAND, "run", sys.executable, "-c", code], **it)
        yield "-c", lambda **it: run([*PYTHON, "-c", code], **it)
        yield "activate", lambda **it: python(ACTIVATE + code, **it)
        yield "variable", lambda **it: python(code, LOCKSLEY_OPENMP="1", **it)

    def test_new_modules_get_the_library_and_it_is_mapped(self):
        mapped = "print(locksley_openmp.library() in open('/proc/self/maps').read())"
        for name, way in self.ways(WHICH + "import locksley_openmp\n" + mapped):
            with self.subTest(name):
                self.assertEqual(way(), f"{OURS}True\n")

    def test_without_them_python_has_no_openmp_library(self):
        self.assertEqual(python(WHICH), "none\n")
        for value in "", "0", "true":
            self.assertEqual(python(WHICH, LOCKSLEY_OPENMP=value), "none\n")

    def test_a_script_and_a_module_get_their_arguments(self):
        with tempfile.TemporaryDirectory() as folder:
            text = WHICH + "import sys; print(sys.argv[1:], __name__)"
            path = script(folder, "program.py", text)
            expected = f"{OURS}['-a', '-m'] __main__\n"
            self.assertEqual(run([*PYTHON, path, "-a", "-m"]), expected)
            self.assertEqual(run([*PYTHON, "-m", "program", "-a", "-m"], folder=folder), expected)

    def test_options_of_the_interpreter_are_kept(self):
        code = "import sys; print(sys.flags.optimize, sys.flags.isolated, sys.warnoptions)"
        command = [sys.executable, "-W", "error", "-OIm", "locksley_openmp", "-c", code]
        self.assertEqual(run(command), "1 1 ['error']\n")

    def test_children_inherit_the_library_but_for_what_activate_loads(self):
        expected = {"run": OURS, "-c": OURS, "activate": "none\n", "variable": OURS}
        for name, way in self.ways(CHILD.format(WHICH)):
            with self.subTest(name):
                self.assertEqual(way(), expected[name])
        forked = "import os\nif os.fork() == 0:\n    exec({!r})\nelse:\n    os.wait()"
        self.assertEqual(python(ACTIVATE + forked.format(WHICH)), OURS)

    @unittest.skipUnless(has("sklearn"), "scikit-learn is not installed")
    def test_scikit_learn_computes_on_the_librarys_threads(self):
        code = FIT + "print(fit(), threads())"
        plain = python(code, **TWO)
        self.assertRegex(plain, " 0\n$")
        for name, way in self.ways(code):
            with self.subTest(name):
                self.assertEqual(way(**TWO), plain.replace(" 0\n", " 1\n"))

    @unittest.skipUnless(has("sklearn"), "scikit-learn is not installed")
    def test_threadpoolctl_finds_it_and_sets_the_size_of_its_teams(self):
        code = FIT + """
from threadpoolctl import ThreadpoolController
own = [it for it in ThreadpoolController().lib_controllers if 'locksley' in it.filepath]
print([(it.internal_api, it.num_threads) for it in own])
with ThreadpoolController().limit(limits=1, user_api='openmp'):
    fit()
    print([it.get_num_threads() for it in own], threads())
fit()
print([it.get_num_threads() for it in own], threads())
"""
        for name, way in self.ways(code):
            with self.subTest(name):
                self.assertEqual(way(**TWO), "[('openmp', 2)]\n[1] 0\n[2] 1\n")

    @unittest.skipUnless(has("lightgbm"), "LightGBM is not installed")
    def test_lightgbm_computes_on_the_librarys_threads(self):
        code = THREADS + """
import lightgbm, numpy
x = numpy.random.default_rng(1998).random((2000, 5))
options = dict(objective='binary', verbose=-1, deterministic=True, force_row_wise=True, seed=0)
data = lightgbm.Dataset(x, (x[:, 0] > x[:, 1]).astype(int))
print(lightgbm.train(options, data, 10).predict(x).sum().round(6), threads())
"""
        plain = python(code, **TWO)
        self.assertRegex(plain, " 0\n$")
        for name, way in self.ways(code):
            with self.subTest(name):
                self.assertEqual(way(**TWO), plain.replace(" 0\n", " 1\n"))

    @unittest.skipUnless(has("sklearn", "joblib"), "scikit-learn is not installed")
    def test_joblibs_processes_are_reached(self):
        task = FIT + "result = fit(), threads()\n"
        code = f"""
from joblib import Parallel, delayed, parallel_config
def task():
    found = {{}}
    exec({task!r}, found)
    return found['result']
with parallel_config('loky', n_jobs=2, inner_max_num_threads=2):
    print([it[1] for it in Parallel()(delayed(task)() for _ in range(2))])
"""
        self.assertEqual(python(code, **TWO), "[0, 0]\n")
        for name, way in self.ways(code):
            if name != "activate":
                with self.subTest(name):
                    self.assertEqual(way(**TWO), "[1, 1]\n")


if __name__ == "__main__":
    unittest.main()
