"""The counterpart of processes.Worker: a process that stays loaded and answers line by line."""
import json
import resource
import sys
import time


def say(value):
    print(json.dumps(value), flush=True)


def passes(run, seconds):
    """Returns the milliseconds of each pass in this time. `run` returns its own times, or nothing if it was one pass."""
    samples, start = [], time.perf_counter()
    while not samples or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        taken = run()
        samples += taken if taken is not None else [1e3 * (time.perf_counter() - before)]
    return samples


def serve(start):
    """Calls start(), which returns the first output and a function from a line to its answer. A runtime that fails prints
    the reason, and gets a row of its own."""
    try:
        first, answer = start()
        say({"ready": True, **first})
        for line in sys.stdin:
            say(answer(line))
        say({"peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss})
    except SystemExit as why:
        say({"ready": False, "why": str(why)})
    except Exception as error:
        say({"ready": False, "why": f"{type(error).__name__}: {str(error)[:200]}"})
