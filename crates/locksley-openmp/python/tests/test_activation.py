"""`activate` where another OpenMP library is loaded already."""
import os
import tempfile
import unittest

from .support import FIT, SYSTEM, WHICH, has, has_system_library, python

ACTIVATE = """
import warnings
import locksley_openmp
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    print(locksley_openmp.activate())
print(*[it.message for it in caught], sep='\\n')
"""
LOADED = "print('libgomp-locksley' in open('/proc/self/maps').read())\n"


class Activation(unittest.TestCase):
    def test_it_can_be_repeated(self):
        self.assertEqual(python(ACTIVATE + ACTIVATE), "True\n\n" * 2)

    def test_a_library_that_is_not_there_is_named(self):
        for code in ACTIVATE, "import locksley_openmp; locksley_openmp.library()":
            _, said = python(code, LOCKSLEY_OPENMP_LIBRARY="/no/such/library", code=1,
                             complaint=None)
            self.assertIn("FileNotFoundError: [Errno 2] there is no library: '/no/such/library'",
                          said)

    def test_what_is_no_library_is_an_error_and_python_goes_on(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            variables = {"LOCKSLEY_OPENMP_LIBRARY": file.name, "LOCKSLEY_OPENMP": "1"}
            said, complaint = python("print('goes on')", complaint=None, **variables)
            self.assertEqual(said, "goes on\n")
            self.assertIn("OSError", complaint)

    @unittest.skipUnless(has_system_library(), "the system has no libgomp")
    def test_it_returns_false_where_another_one_is_preloaded(self):
        said = python(ACTIVATE + LOADED, LD_PRELOAD=SYSTEM)
        self.assertRegex(said, r"^False\n.*not used: /.*/libgomp\.so\.1 comes first.*\nFalse\n$")

    @unittest.skipUnless(has_system_library(), "the system has no libgomp")
    def test_it_returns_false_where_another_one_is_global(self):
        other = f"import ctypes; ctypes.CDLL({SYSTEM!r}, ctypes.RTLD_GLOBAL)\n"
        self.assertRegex(python(other + ACTIVATE + LOADED), r"^False\n.*comes first.*\nFalse\n$")

    @unittest.skipUnless(has_system_library(), "the system has no libgomp")
    def test_another_one_that_no_module_uses_is_no_hindrance(self):
        other = f"import ctypes; ctypes.CDLL({SYSTEM!r})\n"
        self.assertEqual(python(other + ACTIVATE + WHICH), "True\n\nlibgomp-locksley.so.1\n")

    @unittest.skipUnless(has_system_library(), "the system has no libgomp")
    def test_the_first_line_tells_the_library_that_is_replaced_from_one_that_comes_first(self):
        use = "import ctypes; ctypes.CDLL(locksley_openmp.library()).omp_get_max_threads()\n"
        other = f"import ctypes, locksley_openmp; ctypes.CDLL({SYSTEM!r})\n"
        activate = "assert locksley_openmp.activate()\n"
        verbose = {"LOCKSLEY_VERBOSE": "1", "complaint": None}
        self.assertRegex(python(other + activate + use, **verbose)[1],
                         r"granted; takes the place of libgomp\.so[.\d]*\n$")
        self.assertRegex(python(other + use, LD_PRELOAD=SYSTEM, **verbose)[1],
                         r"granted; is used beside libgomp\.so[.\d]*, which comes first\n$")

    @unittest.skipUnless(hasattr(os, "RTLD_DEEPBIND"), "there is no RTLD_DEEPBIND")
    def test_it_returns_false_where_modules_look_in_their_own_libraries_first(self):
        flags = "import os, sys; sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)\n"
        self.assertRegex(python(flags + ACTIVATE + LOADED), r"^False\n.*RTLD_DEEPBIND\nFalse\n$")

    @unittest.skipUnless(has("sklearn"), "scikit-learn is not installed")
    def test_modules_that_were_imported_before_are_named_and_go_on(self):
        alone = python(FIT + "print(fit())")
        early = "import sklearn.utils._openmp_helpers\n"
        said = python(early + ACTIVATE + FIT + "print(fit(), threads())",
                      OMP_NUM_THREADS="2", OMP_DYNAMIC="false").splitlines()
        self.assertEqual(said[0], "True")
        self.assertRegex(said[1], r"stay with libgomp-\w+\.so\S*, .*: .*"
                                  r"\bsklearn\.utils\._openmp_helpers\b")
        # KMeans is imported later, so it has the library's threads.
        self.assertNotIn("_k_means", said[1])
        self.assertEqual(said[2:], [f"{alone.strip()} 1"])
        said = python(FIT + ACTIVATE + "print(fit(), threads())").splitlines()
        self.assertIn("sklearn.cluster._k_means_lloyd", said[1])
        self.assertEqual([said[0], *said[2:]], ["True", f"{alone.strip()} 0"])
        self.assertNotIn("openblas", said[1], "it has threads of its own")


if __name__ == "__main__":
    unittest.main()
