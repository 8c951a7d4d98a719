"""What the machine grants to this process: affinity, and quotas of control groups (cgroups(7)).

The library reads the same for itself. This is what people are shown of it.
"""
import math
import os
import pathlib
import re


def processors(root="/"):
    """The processors: online, by affinity, by quota, and granted; and how often the quota has
    stopped the processes so far."""
    affinity = len(os.sched_getaffinity(0))
    quotas = [it for group in groups(root) for it in [quota(group)] if it]
    tightest = min(quotas, key=lambda it: it["processors"], default=None)
    granted = min(affinity, tightest["processors"]) if tightest else affinity
    return {"online": os.cpu_count(), "affinity": affinity, "quota": tightest,
            "granted": max(1, math.ceil(granted)), "load": os.getloadavg()[0]}


def groups(root):
    """The folders of the process's control groups and of those around them."""
    root = pathlib.Path(root)
    for hierarchy, controllers, group in memberships(root):
        for kind, inside, at in mounts(root):
            names = controllers.split(",")
            if kind == "cgroup2" and hierarchy == "0" or kind == "cgroup" and "cpu" in names:
                if kind == "cgroup" and not re.search(r"(^|[/,])cpu($|,)", at):
                    continue
                top = root / at.lstrip("/")
                # A mount shows a part of the hierarchy, such as the container's own group.
                path = os.path.relpath(group, inside)
                folder = top if path.startswith("..") else top / path
                while True:
                    yield folder
                    if folder == top:
                        break
                    folder = folder.parent


def memberships(root):
    for line in _lines(root / "proc/self/cgroup"):
        hierarchy, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        yield hierarchy, controllers, group or "/"


def mounts(root):
    for line in _lines(root / "proc/self/mountinfo"):
        words, _, kind = line.partition(" - ")
        words = words.split()
        if len(words) > 4:
            yield kind.split(" ")[0], _plain(words[3]), _plain(words[4])


def _plain(path):
    """A path without the escapes of spaces and the like."""
    return re.sub(r"\\([0-7]{3})", lambda it: chr(int(it[1], 8)), path)


def quota(group):
    """The quota of a group, in processors, or None."""
    limit = " ".join(_lines(group / "cpu.max")).split()
    if not limit:
        limit = _lines(group / "cpu.cfs_quota_us") + _lines(group / "cpu.cfs_period_us")
    try:
        allowed, period = int(limit[0]), int(limit[1])
    except (IndexError, ValueError):
        return None  # "max", or a group without limits
    if allowed <= 0 or period <= 0:
        return None
    pairs = [line.split() for line in _lines(group / "cpu.stat")]
    counts = {it[0]: int(it[1]) for it in pairs if len(it) == 2 and it[1].isdigit()}
    stopped = counts.get("throttled_usec", counts.get("throttled_time", 0) / 1000) / 1e6
    return {"processors": allowed / period, "group": str(group),
            "periods": counts.get("nr_periods"), "throttled_periods": counts.get("nr_throttled"),
            "throttled_seconds": stopped}


def _lines(path):
    try:
        return path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
