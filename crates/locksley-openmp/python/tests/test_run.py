"""`locksley-openmp run`, and what is wrong on the command line."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from .support import COMMAND, LIBRARY, PYTHON, WHICH, run, script

RUN = [COMMAND, "run"]


class Run(unittest.TestCase):
    def test_a_program_gets_its_arguments_and_the_library(self):
        command = [*RUN, "sh", "-c", 'echo "$0 $LD_PRELOAD"; exit 3', "-x"]
        self.assertEqual(run(command, code=3), f"-x {LIBRARY}\n")

    def test_the_program_is_the_process(self):
        process = subprocess.Popen([*RUN, "sh", "-c", "echo $$; kill -TERM $$"], text=True,
                                   stdout=subprocess.PIPE)
        said, _ = process.communicate(timeout=60)
        self.assertEqual((said, process.returncode), (f"{process.pid}\n", -signal.SIGTERM))

    def test_signals_act_as_by_default(self):
        # Python ignores them for itself: bits 13 and 25 of those that are ignored.
        ignored = int(run([*RUN, "grep", "SigIgn", "/proc/self/status"]).split()[1], 16)
        self.assertEqual(ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1), 0)

    def test_no_other_variable_changes(self):
        command = ["env", "-i", "A=1", "LC_ALL=", *RUN, "env"]
        self.assertEqual(run(command), f"A=1\nLC_ALL=\nLD_PRELOAD={LIBRARY}\n")

    def test_what_is_preloaded_stays_and_comes_later(self):
        command = [*RUN, "printenv", "LD_PRELOAD"]
        self.assertEqual(run(command, LD_PRELOAD="libm.so.6"), f"{LIBRARY}:libm.so.6\n")
        self.assertEqual(run([*RUN, *command], LD_PRELOAD=""), f"{LIBRARY}\n", "once")

    def test_a_path_with_a_space_may_lead_to_the_library(self):
        with tempfile.TemporaryDirectory() as folder:
            place = os.path.join(folder, "with a space")
            os.mkdir(place)
            copy = shutil.copy(LIBRARY, place)
            self.assertEqual(run([*RUN, "grep", "-c", copy, "/proc/self/maps"],
                                 LOCKSLEY_OPENMP_LIBRARY=copy).strip().isdigit(), True)
            place = os.path.join(folder, "with:a colon")
            os.mkdir(place)
            copy = shutil.copy(LIBRARY, place)
            self.refused([*RUN, "true"], 1, "colon", LOCKSLEY_OPENMP_LIBRARY=copy)

    def test_options(self):
        show = ["sh", "-c", 'echo "$OMP_DYNAMIC,$LOCKSLEY_VERBOSE"']
        for options, expected in [([], ","), (["-v"], ",1"), (["--dynamic"], "true,"),
                                  (["--verbose", "--dynamic", "--"], "true,1")]:
            self.assertEqual(run([*RUN, *options, *show]), expected + "\n")

    def test_a_line_is_said_if_it_is_asked_for(self):
        code = "import ctypes; print(ctypes.CDLL(None).omp_get_max_threads() > 0)"
        program = [sys.executable, "-c", code]
        self.assertEqual(run([*RUN, *program]), "True\n")
        line = r"^locksley-openmp: \d+ of \d+ processors granted; no other .* is loaded\n$"
        for command in [*RUN, "-v", *program], [*PYTHON, "-v", *program[1:]]:
            self.assertRegex(run(command, complaint=None)[1], line)

    def test_scripts_without_a_first_line_are_the_shells(self):
        with tempfile.TemporaryDirectory() as folder:
            path = script(folder, "program", "echo $0 $1 ${LD_PRELOAD##*/}\n")
            expected = f"{path} x {os.path.basename(LIBRARY)}\n"
            self.assertEqual(run([*RUN, path, "x"]), expected)

    def test_a_program_is_looked_for_as_a_shell_does(self):
        with tempfile.TemporaryDirectory() as folder:
            script(folder, "here", "#!/bin/sh\necho found\n")
            os.mkdir(os.path.join(folder, "folder"))
            script(folder, "plain", "", mode=0o644)
            path = {"PATH": f"/no/such/folder:{folder}:{os.environ['PATH']}"}
            self.assertEqual(run([*RUN, "here"], **path), "found\n")
            self.refused([*RUN, "plain"], 126, "plain: Permission denied", **path)
            self.refused([*RUN, "folder"], 127, "folder: ", **path)
            self.refused([*RUN, folder], 126, f"{folder}: ", **path)
        for program in "no-such-program", "/no/such/program", "/etc/passwd/program":
            self.refused([*RUN, program], 127, program)

    def test_wrong_words_are_a_line_and_code_2(self):
        for words in ([], ["run"], ["run", "-v"], ["run", "-x", "true"], ["run", "--dynamic=yes"],
                      ["walk"], ["check", "a", "b"], ["check", "--seconds"], ["check", "-v"],
                      ["check", "--seconds", "x"], ["check", "--seconds=-1"],
                      ["check", "--seconds=nan"], ["--version", "x"]):
            self.refused([COMMAND, *words], 2, "")
        for words in [], ["-m"], ["-c"], ["-x"], ["--", "x"], ["-v"]:
            self.refused([*PYTHON, *words], 2, "usage: python -m")

    def test_what_python_refuses_has_its_code(self):
        said = run([*PYTHON, "/no/such/script.py"], code=2, complaint=None)[1]
        self.assertIn("can't open file '/no/such/script.py'", said)
        self.assertEqual(run([*PYTHON, "-c", WHICH + "raise SystemExit(5)"], code=5),
                         os.path.basename(LIBRARY) + "\n")

    def test_help_and_version(self):
        for words in ["--help"], ["-h"], ["run", "--help"], ["check", "-h"]:
            self.assertIn("usage: locksley-openmp run", run([COMMAND, *words]))
        self.assertIn("usage: python -m locksley_openmp", run([*PYTHON, "--help"]))
        self.assertRegex(run([COMMAND, "--version"]), r"^locksley-openmp \d+\.\d+\.\d+\n$")

    def refused(self, command, code, words, **variables):
        said, complaint = run(command, code=code, complaint=None, **variables)
        with self.subTest(command):
            self.assertEqual((said, complaint.count("\n")), ("", 1))
            self.assertTrue(complaint.startswith("locksley-openmp: "), complaint)
            self.assertIn(words, complaint)


if __name__ == "__main__":
    unittest.main()
