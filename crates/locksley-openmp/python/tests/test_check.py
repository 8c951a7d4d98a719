"""`locksley-openmp check`, and what it reads."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from locksley_openmp import _check, _machine, _program

from .support import COMMAND, LIBRARY, SYSTEM, has, has_system_library, run, script

CHECK = [COMMAND, "check", "--seconds", "0"]
GROUPS = pathlib.Path("/sys/fs/cgroup/cpu")


class Check(unittest.TestCase):
    def report(self, *words, **variables):
        return json.loads(run([*CHECK, "--json", *words], **variables))

    def test_the_text_names_the_library_the_processors_and_the_variables(self):
        said = run(CHECK, OMP_WAIT_POLICY="passive")
        for line in (f"library      {LIBRARY}", "now          programs get it by: locksley-openmp",
                     "processors   ", "versions     python ",
                     "variable     OMP_WAIT_POLICY=passive"):
            self.assertIn(f"\n{line}", "\n" + said)

    def test_processors_are_as_many_as_the_library_uses(self):
        report = self.report()
        granted = str(report["processors"]["granted"])
        self.assertEqual(report["settings"]["OMP_NUM_THREADS"], granted)
        one = min(os.sched_getaffinity(0))
        said = run(["taskset", "-c", str(one), *CHECK, "--json"])
        self.assertEqual(json.loads(said)["processors"]["granted"], 1)

    def test_settings_are_the_librarys_and_so_are_complaints(self):
        granted = str(self.report()["processors"]["granted"])
        report = self.report(OMP_NUM_THREADS="3000")
        self.assertEqual(report["settings"]["OMP_NUM_THREADS"], granted)
        self.assertEqual(sum("OMP_NUM_THREADS is reduced" in it for it in report["notes"]), 1)
        report = self.report(OMP_NUM_THREADS="3000", OMP_DYNAMIC="false")
        self.assertEqual((report["settings"]["OMP_NUM_THREADS"], report["notes"]), ("3000", []))
        notes = self.report(OMP_NUM_THREADS="x")["notes"]
        self.assertEqual(notes, ["libgomp: Invalid value for environment variable OMP_NUM_THREADS"])

    def test_variables_may_be_any_bytes(self):
        value = os.fsdecode(b"\xff")
        self.assertIn("variable     OMP_TOOL=\\udcff\n", run(CHECK, OMP_TOOL=value))
        self.assertEqual(self.report(OMP_TOOL=value)["variables"]["OMP_TOOL"], value)

    def test_a_full_disk_is_a_line(self):
        for words in ["--json"], []:
            command = ["sh", "-c", '"$@" > /dev/full', "sh", *CHECK, *words]
            said = run(command, code=1, complaint=None)[1]
            self.assertEqual(said, "locksley-openmp: [Errno 28] No space left on device\n")

    def test_it_says_how_programs_get_the_library_already(self):
        for variables, now in [({}, None), ({"LOCKSLEY_OPENMP": "1"}, "LOCKSLEY_OPENMP"),
                               ({"LD_PRELOAD": LIBRARY}, "LD_PRELOAD")]:
            self.assertEqual(self.report(**variables)["now"], now)

    @unittest.skipUnless(shutil.which("cc") and has_system_library(), "there is no C compiler")
    def test_a_programs_libraries(self):
        with tempfile.TemporaryDirectory() as folder:
            source = script(folder, "program.c", "#include <omp.h>\n"
                            "int main(void) { return omp_get_max_threads() < 1; }\n")
            program = os.path.join(folder, "program")
            subprocess.run(["cc", "-fopenmp", source, "-o", program], check=True)
            libraries = self.report(program)["libraries"]
            self.assertEqual(libraries[0], {"path": LIBRARY, "is_used": True})
            self.assertEqual(os.path.basename(libraries[1]["path"]), SYSTEM)
            self.assertIs(libraries[1]["is_used"], False)
            for options, note in (["-static"], "linked statically"), (["-m32"], "no program of 64"):
                command = ["cc", "-fopenmp", *options, source, "-o", program]
                if subprocess.run(command, capture_output=True).returncode == 0:
                    report = self.report(program)
                    self.assertIn(note, report["notes"][0])
                    self.assertIs(report["libraries"][0]["is_used"], False)

    def test_a_script_is_its_interpreters(self):
        with tempfile.TemporaryDirectory() as folder:
            for line in f"#!{sys.executable} -I", f"#!/usr/bin/env -S {sys.executable}":
                report = self.report(script(folder, "script", line + "\n"))
                self.assertIn(f"is a script of {sys.executable}", report["notes"][0])
                self.assertEqual(report["libraries"], self.report(sys.executable)["libraries"])
            text = script(folder, "text", "echo")
            self.assertIn("no program of 64 bits", self.report(text)["notes"][0])

    @unittest.skipUnless(has("sklearn"), "scikit-learn is not installed")
    def test_libraries_that_packages_bring_are_found(self):
        for words in [], [sys.executable]:
            names = [os.path.basename(it["path"]) for it in self.report(*words)["libraries"]]
            self.assertTrue(any(it.startswith("libgomp-") and "locksley" not in it for it in names))

    def test_programs_that_are_missing_or_cannot_be_executed(self):
        for program, code in [("/no/such/program", 127), ("/etc/passwd", 126), ("/", 126)]:
            said, complaint = run([*CHECK, program], code=code, complaint=None)
            self.assertEqual((said, complaint.count("\n")), ("", 1))
            self.assertIn(program, complaint)

    @unittest.skipUnless(has_system_library(), "the system has no libgomp")
    def test_two_libraries_are_measured_in_turns(self):
        found = _check.measure(LIBRARY, SYSTEM, 0.4)
        self.assertEqual(found["other"]["not_ended"], 0)
        for it in found, found["other"]:
            self.assertGreater(it["rounds_per_second"], 0)
            self.assertGreater(it["threads"], 0)
        self.assertGreater(found["other"]["ratio"], 0)
        self.assertIn(f"{SYSTEM}", "\n".join(_check.as_lines(found)))

    def test_what_is_no_openmp_library_has_no_rounds(self):
        found = _check.measure(LIBRARY, "libm.so.6", 0.1)
        self.assertEqual(found["other"]["not_ended"], _check.PAIRS)
        self.assertIsNone(found["other"]["ratio"])
        self.assertIn("4 of 4 runs did not end", "\n".join(_check.as_lines(found)))
        self.assertIsNone(_check.measure(LIBRARY, None, 0.1)["other"])

    @unittest.skipUnless(os.access(GROUPS / "cpu.cfs_quota_us", os.W_OK), "no quota can be set")
    def test_a_quota_is_shown_and_kept_to(self):
        group = GROUPS / f"locksley-openmp-{os.getpid()}"
        group.mkdir()
        try:
            (group / "cpu.cfs_quota_us").write_text("50000")
            join = f"echo $$ > {group}/cgroup.procs; exec \"$@\""
            said = run(["sh", "-c", join, "sh", *CHECK, "--json"])
        finally:
            group.rmdir()
        report = json.loads(said)
        self.assertEqual(report["processors"]["quota"]["processors"], 0.5)
        self.assertEqual(report["processors"]["granted"], 1)
        self.assertEqual(report["settings"]["OMP_NUM_THREADS"], "1")
        self.assertGreaterEqual(report["processors"]["quota"]["throttled_periods"], 0)


class Quotas(unittest.TestCase):
    """Quotas, in a folder that looks like a machine."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, path, text):
        path = pathlib.Path(self.folder.name) / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def quota(self, group, mount, **files):
        self.file("proc/self/cgroup", group)
        self.file("proc/self/mountinfo", mount)
        return _machine.processors(self.folder.name)["quota"]

    def test_version_2_with_the_tightest_of_the_groups_around(self):
        self.file("sys/fs/cgroup/a/b/cpu.max", "300000 100000\n")
        self.file("sys/fs/cgroup/a/cpu.max", "150000 100000\n")
        self.file("sys/fs/cgroup/a/cpu.stat",
                  "usage_usec 5\nnr_periods 7\nnr_throttled 3\nthrottled_usec 1500000\n")
        quota = self.quota("0::/a/b\n", "30 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
        self.assertEqual(quota, {
            "processors": 1.5, "group": f"{self.folder.name}/sys/fs/cgroup/a",
            "periods": 7, "throttled_periods": 3, "throttled_seconds": 1.5})

    def test_version_2_without_a_limit(self):
        self.file("sys/fs/cgroup/cpu.max", "max 100000\n")
        mount = "30 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
        self.assertIsNone(self.quota("0::/\n", mount))

    def test_version_1_in_a_container_that_sees_its_own_group_only(self):
        self.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n")
        self.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
        self.file("sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 1\nnr_throttled 1\n"
                  "throttled_time 2000000000\n")
        quota = self.quota("3:cpu,cpuacct:/docker/x\n2:memory:/docker/x\n",
                           "30 1 0:2 /docker/x /sys/fs/cgroup/cpu,cpuacct rw - "
                           "cgroup cgroup rw,cpu,cpuacct\n")
        self.assertEqual((quota["processors"], quota["throttled_seconds"]), (0.5, 2.0))

    def test_damaged_files_set_no_limit(self):
        mount = "30 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
        for text in "", "x", "1", "-1 -1", "100000 0", "1 x":
            self.file("sys/fs/cgroup/cpu.max", text)
            self.assertIsNone(self.quota("0::/\n", mount), text)
        self.assertIsNone(self.quota("x\n\n", "x\n"))


class Programs(unittest.TestCase):
    def test_packages_of_folders_that_are_not_there(self):
        self.assertEqual(_program.of_packages(["/no/such/site-packages"]), [])


if __name__ == "__main__":
    unittest.main()
