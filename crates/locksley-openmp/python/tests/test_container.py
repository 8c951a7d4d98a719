"""The example of a container, and the page that shows it."""
import pathlib
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
PAGE = PACKAGE.parents[2] / "docs/guide/openmp.md"


class Container(unittest.TestCase):
    def test_the_page_shows_the_file(self):
        file = (PACKAGE / "container/Dockerfile").read_text()
        self.assertIn(f"```dockerfile\n{file}```\n", PAGE.read_text())

    def test_what_it_copies_is_there(self):
        compile((PACKAGE / "container/train.py").read_text(), "train.py", "exec")


if __name__ == "__main__":
    unittest.main()
