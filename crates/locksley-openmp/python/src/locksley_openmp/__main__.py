"""`python -m locksley_openmp`: this Python again, with the library preloaded."""
import subprocess
import sys

from ._launch import Failure, execute

USAGE = "python -m locksley_openmp [-v] [-m MODULE | SCRIPT | -c CODE] [ARGUMENT ...]"


def interpreter_options():
    """The options with which this Python was started."""
    words = getattr(sys, "orig_argv", [])  # since 3.10
    if __spec__ and __spec__.parent in words:
        end = words.index(__spec__.parent) - 1
        # `-Im locksley_openmp` has others before the m.
        last = [words[end][:-1]] if words[end] != "-m" else []
        return words[1:end] + last
    return subprocess._args_from_interpreter_flags()


def main(words):
    is_verbose = words[:1] == ["-v"]
    words = words[1:] if is_verbose else words
    if words[:1] in (["-h"], ["--help"]):
        print(f"usage: {USAGE}")
        return 0
    needs_more = words[:1] in (["-m"], ["-c"]) and len(words) < 2
    if not words or needs_more or words[0][:1] == "-" and words[0][:2] not in ("-m", "-c", "-"):
        print(f"locksley-openmp: usage: {USAGE}", file=sys.stderr)
        return 2
    try:
        execute(sys.executable, [*interpreter_options(), *words], is_verbose=is_verbose)
    except (Failure, OSError) as error:
        print(f"locksley-openmp: {error}", file=sys.stderr)
        return getattr(error, "code", 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
