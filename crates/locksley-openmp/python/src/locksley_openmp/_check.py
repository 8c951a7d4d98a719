"""`locksley-openmp check`: what a program gets here."""
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
from importlib import metadata

from . import _rounds
from ._launch import environment, preloading
from ._libraries import library
from ._machine import processors
from ._program import of_packages, of_program

PACKAGES = ["locksley-openmp", "numpy", "scipy", "scikit-learn", "lightgbm", "xgboost",
            "xgboost-cpu", "torch", "joblib", "threadpoolctl"]
PREFIXES = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "LOKY_", "LOCKSLEY_", "LD_")
PAIRS = 4
# How the lines begin in which the library says how many threads there are, and complains.
SHOWN = ("OMP_DYNAMIC", "OMP_NUM_THREADS", "OMP_THREAD_LIMIT")


def check(program=None, *, is_json=False, seconds=10.0):
    """Prints what a program gets; without one, Python."""
    report = examine(program, seconds)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.stdout.reconfigure(errors="backslashreplace")  # paths and variables may be any bytes
    print(json.dumps(report, indent=2) if is_json else as_text(report))


def examine(program, seconds):
    ours = library()
    variables = environment()
    system = find_system_library()
    if program:
        others, notes = of_program(program, variables)
    else:
        others, notes = of_packages() + ([system] if system else []), []
    others = [it for it in others if os.path.realpath(it) != os.path.realpath(ours)]
    preloaded = of_program(program, preloading(variables))[0] if program else None
    settings, complaints = settings_of(ours, variables)
    can_be_preloaded = preloaded is None or any(os.path.realpath(it) == os.path.realpath(ours)
                                                for it in preloaded)
    report = {
        "program": program,
        "library": ours,
        "now": how_active(ours, variables),
        "processors": processors(),
        "settings": settings,
        "libraries": [{"path": ours, "is_used": can_be_preloaded}]
        + [{"path": it, "is_used": not can_be_preloaded and it == others[0]} for it in others],
        "notes": notes + complaints,
        "versions": versions(),
        "variables": {name: it for name, it in sorted(variables.items())
                      if name.startswith(PREFIXES)},
        "measured": None,
    }
    if seconds > 0:
        report["measured"] = measure(ours, next(iter(others), system), seconds)
    return report


def version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def versions():
    known = {it: version(it) for it in PACKAGES}
    return {"python": platform.python_version(), "kernel": platform.release(),
            "c library": os.confstr("CS_GNU_LIBC_VERSION"),
            **{name: it for name, it in known.items() if it}}


def how_active(ours, variables):
    """How programs get the library already that are started in this environment, or None."""
    preloaded = variables.get("LD_PRELOAD", "").replace(" ", ":").split(":")
    if any(os.path.basename(it) == os.path.basename(ours) for it in preloaded):
        return "LD_PRELOAD"
    return "LOCKSLEY_OPENMP" if variables.get("LOCKSLEY_OPENMP") == "1" else None


def find_system_library():
    """The path of the system's libgomp, if there is one."""
    # In a process of its own, which ends with it.
    code = ("import ctypes; ctypes.CDLL('libgomp.so.1');"
            "print(*{it.split(None, 5)[5].strip() for it in open('/proc/self/maps')"
            " if '/libgomp.so' in it}, sep='\\n', end='')")
    said = run([sys.executable, "-I", "-S", "-c", code], 30)
    return said.stdout.splitlines()[0] if said and said.stdout else None


def settings_of(ours, variables):
    """What the library itself makes of the environment: its settings, and complaints."""
    asked = {**preloading(variables), "OMP_DISPLAY_ENV": "true"}
    asked.pop("LOCKSLEY_OPENMP", None)
    # The library reads them at its first use.
    code = "import ctypes; ctypes.CDLL(None).omp_get_max_threads()"
    said = run([sys.executable, "-I", "-S", "-c", code], 30, asked)
    lines = [it.strip() for it in said.stderr.splitlines()] if said else []
    pairs = [it.partition(" = ") for it in lines if it.startswith(SHOWN)]
    complaints = [it for it in lines if it.startswith(("libgomp:", "[lock", "ERROR"))
                  and not it.startswith("[locksley] version")]
    return {name: it.strip("'") for name, _, it in pairs}, complaints


def measure(ours, other, seconds):
    """Rounds a second of a small loop on two libraries, in turns."""
    slice_ = seconds / (2 * PAIRS if other else PAIRS)
    before, after = [], []
    for _ in range(PAIRS):
        if other:
            before.append(rounds(ours, other, slice_))
        after.append(rounds(ours, ours, slice_))
    found = {"seconds": seconds, "rounds_per_second": middle(after), "threads": threads(after),
             "other": None}
    if other:
        ratios = [ours[0] / its[0] for its, ours in zip(before, after) if its and ours and its[0]]
        found["other"] = {"path": other, "rounds_per_second": middle(before),
                          "threads": threads(before), "not_ended": before.count(None),
                          "ratio": statistics.median(ratios) if ratios else None}
    return found


def middle(runs):
    # A run that was ended counts as no rounds.
    return statistics.median(it[0] if it else 0.0 for it in runs)


def threads(runs):
    return next((int(it[1]) for it in runs if it), None)


def rounds(ours, path, seconds):
    """Rounds a second, and how many threads; None if the run does not end, or fails."""
    command = [sys.executable, "-I", "-S", _rounds.__file__, ours, path, str(seconds)]
    variables = {name: it for name, it in environment().items()
                 if name not in ("LD_PRELOAD", "LOCKSLEY_OPENMP", "LOCKSLEY_VERBOSE")}
    said = run(command, 3 * seconds + 5, variables)
    words = said.stdout.split() if said and said.returncode == 0 else []
    return [float(it) for it in words] if len(words) == 2 else None


def run(command, limit, variables=None):
    try:
        return subprocess.run(command, env=variables, capture_output=True, text=True,
                              errors="replace", timeout=limit)
    except subprocess.TimeoutExpired:
        return None


def as_text(report):
    granted, quota = report["processors"], report["processors"]["quota"]
    lines = [f"library      {report['library']}"]
    if report["now"]:
        lines.append(f"now          programs get it already, by {report['now']}")
    else:
        lines.append("now          programs get it by: locksley-openmp run PROGRAM")
    lines.append(f"processors   {granted['granted']} of {granted['online']} granted: "
                 f"{granted['affinity']} by affinity, "
                 f"{format(quota['processors'], 'g') if quota else 'no limit'} by quota; "
                 f"load {granted['load']:.1f}")
    if quota and quota["periods"] is not None:
        lines.append(f"throttled    {quota['throttled_periods']} of {quota['periods']} periods, "
                     f"{quota['throttled_seconds']:.1f} s, in {quota['group']}")
    for name, value in report["settings"].items():
        lines.append(f"setting      {name} = '{value}'")
    for it in report["libraries"]:
        use = "used" if it["is_used"] else "not used"
        lines.append(f"{use:<13}{it['path']}")
    lines += [f"note         {it}" for it in report["notes"]]
    lines.append("versions     " + ", ".join(f"{name} {it}" for name, it in
                                              report["versions"].items()))
    lines += [f"variable     {name}={it}" for name, it in report["variables"].items()]
    lines += as_lines(report["measured"]) if report["measured"] else []
    return "\n".join(lines)


def as_lines(measured):
    """What was measured, beside what else runs now."""
    yield "measured     a loop of 0.4 ms, beside what runs now, in turns; rounds a second"
    other = measured["other"]
    ratio = ""
    if other:
        ended = f"; {other['not_ended']} of {PAIRS} runs did not end" if other["not_ended"] else ""
        yield (f"  before     {other['rounds_per_second']:.0f} with {other['threads']} threads, "
               f"{os.path.basename(other['path'])}{ended}")
        ratio = f", {other['ratio']:.2f} times as many" if other["ratio"] else ""
    else:
        yield "  before     no other OpenMP library is here"
    yield (f"  after      {measured['rounds_per_second']:.0f} with {measured['threads']} threads"
           f"{ratio}")
