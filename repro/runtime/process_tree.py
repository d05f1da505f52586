"""Host memory of the program: the largest resident set of any of its processes, as Linux counts it."""

import os
import resource


def _parents():
    parents = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name, "rb") as f:
                # The command's name may hold anything, blanks and brackets too: read after the last one.
                parents[int(name)] = int(f.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    return parents


def family(pid):
    """Process ids of `pid` and all that descend from it."""
    children = {}
    for child, parent in _parents().items():
        children.setdefault(parent, []).append(child)
    found, queue = [], [pid]
    while queue:
        member = queue.pop()
        found.append(member)
        queue.extend(children.get(member, []))
    return found


def high_water(pid):
    """Peak resident set of one process in bytes (VmHWM), 0 when it is gone."""
    try:
        with open("/proc/%d/status" % pid, "rb") as f:
            for line in f:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


class HostPeak:
    """The largest figure seen so far; sampled while the program runs, completed at its end."""

    def __init__(self):
        self.bytes = 0

    def sample(self, pid):
        """Look at every living process of the tree."""
        try:
            self.bytes = max([self.bytes] + [high_water(p) for p in family(pid)])
        except OSError:
            pass

    def complete(self):
        """Add what the kernel kept of the children that have ended and been waited for."""
        kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.bytes = max(self.bytes, kilobytes * 1024)
