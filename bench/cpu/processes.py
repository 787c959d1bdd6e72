"""Measured processes, and the load of the machine meanwhile."""
import json
import os
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")


def busy_seconds():
    fields = [int(word) for word in open("/proc/stat").readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def own_seconds(pid):
    try:
        fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS
    except OSError:
        return 0.0


def share_of_others(seconds, passed):
    """Returns processor seconds as a share of the whole machine during this time."""
    return max(0.0, seconds / (passed * os.cpu_count()))


def command(*words, env=None):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, env=env)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def timed_command(*words, env=None):
    """Returns a command's output, and the share of the machine that other processes used meanwhile."""
    busy, start, before = busy_seconds(), time.perf_counter(), os.times()
    out = command(*words, env=env)
    after, passed = os.times(), time.perf_counter() - start
    own = after.children_user + after.children_system - before.children_user - before.children_system
    return out, share_of_others(busy_seconds() - busy - own, passed)


class Worker:
    """A process that stays loaded: it prints a line of JSON when it is ready, and one for each line that it reads."""

    def __init__(self, name, words, environment=None, log=subprocess.DEVNULL):
        self.name = name
        self.process = subprocess.Popen([*map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                        text=True, env=environment)
        self.info = self.answer() or {"ready": False, "why": "the process died"}

    def answer(self):
        for line in self.process.stdout:
            if line.startswith('{"'):
                return json.loads(line)
        return None

    def ask(self, question):
        """Returns the answer, and the share of the machine that other processes used meanwhile."""
        busy, own, start = busy_seconds(), own_seconds(self.process.pid), time.perf_counter()
        try:
            self.process.stdin.write(f"{question}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # its final output is the answer
        answer = self.answer() or {}
        passed = time.perf_counter() - start
        others = busy_seconds() - busy - (own_seconds(self.process.pid) - own)
        return answer, share_of_others(others, passed)

    def window(self, seconds):
        """Returns the milliseconds of passes in this time, and the share of the machine that other processes used
        meanwhile."""
        answer, others = self.ask(seconds)
        return answer.get("ms", []), others

    def end(self):
        """Returns the peak of its memory in bytes."""
        self.process.stdin.close()
        answer = self.answer() or {}
        self.process.wait()
        return answer.get("peak_bytes")
