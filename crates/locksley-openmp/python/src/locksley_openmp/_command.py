"""The command `locksley-openmp`."""
import os
import signal
import sys

from ._launch import Failure, execute

USAGE = """\
usage: locksley-openmp run [-v] [--dynamic] PROGRAM [ARGUMENT ...]
       locksley-openmp check [--json] [--seconds S] [PROGRAM]
       locksley-openmp --version

run      executes a program, whose OpenMP regions run on Locksley's library, and its child processes
         -v         has it say at its first region what is granted (also LOCKSLEY_VERBOSE=1)
         --dynamic  has the sizes of teams follow what is granted, region by region
check    says what such a program gets here: processors, quota, libraries, settings, a measured loop
         --json       as JSON
         --seconds S  how long it measures [default: 10]; 0 for not at all"""


def main():
    try:
        code = command(sys.argv[1:])
        sys.stdout.flush()
    except (Failure, OSError) as error:
        print(f"locksley-openmp: {error}", file=sys.stderr, flush=True)
        # Not `sys.exit`, which would write to a full standard output once more.
        os._exit(getattr(error, "code", 1))
    except KeyboardInterrupt:
        # As a program that does not handle the signal.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)
    sys.exit(code)


def command(words):
    name, *words = words or [""]
    if name in ("-h", "--help") or words[:1] in (["-h"], ["--help"]):
        print(USAGE)
    elif name == "--version" and not words:
        from ._check import version
        print(f"locksley-openmp {version('locksley-openmp')}")
    elif name == "run":
        options, words = split(words, {"-v": False, "--verbose": False, "--dynamic": False})
        if not words:
            raise Failure("run: a program is missing", 2)
        execute(*words[:1], words[1:], is_verbose=bool({"-v", "--verbose"} & options.keys()),
                is_dynamic="--dynamic" in options)
    elif name == "check":
        from ._check import check
        known = {"--json": False, "--seconds": True}
        options, words = split(words, known)
        # Options may follow the program, which gets no arguments.
        more, others = split(words[1:], known)
        options, words = {**options, **more}, words[:1] + others
        if len(words) > 1:
            raise Failure("check: only one program can be checked, without arguments", 2)
        check(*words, is_json="--json" in options, seconds=seconds(options.get("--seconds", "10")))
    else:
        problem = f"there is no command '{name}'" if name else "a command is missing"
        raise Failure(f"{problem}: run or check", 2)
    return 0


def split(words, known):
    """Separates options, some of which have a value, from what follows them."""
    options = {}
    while words and words[0].startswith("-") and words[0] != "-":
        word, *words = words
        if word == "--":
            break
        name, is_joined, value = word.partition("=")
        if name not in known or is_joined and not known[name]:
            raise Failure(f"there is no option '{word}' here: {', '.join(known)}", 2)
        if known[name] and not is_joined:
            if not words:
                raise Failure(f"{name} needs a value", 2)
            value, *words = words
        options[name] = value
    return options, words


def seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value <= 3600:
        raise Failure(f"--seconds: '{text}' is no number from 0 to 3600", 2)
    return value
