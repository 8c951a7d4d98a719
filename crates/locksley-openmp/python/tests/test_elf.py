"""The library as a file."""
import tempfile
import unittest

from locksley_openmp._elf import Elf, NotElf

from .support import LIBRARY


class File(unittest.TestCase):
    def test_the_library_needs_glibc_2_17_at_most(self):
        elf = Elf.read(LIBRARY)
        self.assertEqual(elf.soname, "libgomp-locksley.so.1")
        self.assertTrue({"GOMP_parallel", "__kmpc_fork_call", "omp_get_num_threads"} <= elf.defined)
        strong = [it for it in elf.undefined if not it.is_weak]
        self.assertEqual([it.name for it in strong if it.version is None], [])
        versions = {it.version for it in strong}
        numbers = [tuple(map(int, it[len("GLIBC_"):].split("."))) for it in versions]
        self.assertLessEqual(max(numbers), (2, 17))
        # No unwinder or allocator of its own takes the place of the program's.
        self.assertEqual([it for it in elf.defined if it.startswith(("_Unwind", "malloc"))], [])

    def test_other_and_damaged_files(self):
        with open(LIBRARY, "rb") as file:
            start = file.read(50_000)
        for content in b"", b"\x7fELF", b"#!/bin/sh\n", start[:64], start:
            with tempfile.NamedTemporaryFile() as file:
                file.write(content)
                file.flush()
                with self.assertRaises(NotElf):
                    Elf.read(file.name)


if __name__ == "__main__":
    unittest.main()
