"""Tests of the installed package: `python -m unittest discover -t . -s tests`."""
