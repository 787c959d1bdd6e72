"""Runs a scenario with its N-th call failing, and reports the problems of the result."""
import concurrent.futures
import os
import struct
from collections import Counter
from dataclasses import dataclass

from program import Folder, name_of_signal, temporaries
from scenario import comparable, outputs_of

OLD = b"what stood here before"
PROMISE = b"resume it with: attn train"  # printed by a training that ends early; its checkpoint must resume exactly


@dataclass(frozen=True)
class Fault:
    calls: str      # "alloc", "read,pread"
    error: int      # errno; 0: half of the bytes are read or written
    how_many: int = 1  # 0: all later calls
    codes: tuple = (0, 4)
    must_survive: bool = False  # whether only the right result is acceptable

    def variables(self, scenario, at, count_file):
        return {"FAULT_PROGRAM": scenario.program, "FAULT_CALLS": self.calls, "FAULT_AT": str(at),
                "FAULT_FOR": str(self.how_many), "FAULT_ERROR": str(self.error), "FAULT_COUNT": str(count_file)}


def sampled(count, most):
    """Returns numbers from 1 to count: all, or `most` of them evenly spaced."""
    if count <= most:
        return list(range(1, count + 1))
    return sorted({1 + i * (count - 1) // (most - 1) for i in range(most)}) if most > 1 else [count]


def is_one_sentence(lines):
    """Returns whether it is one line; two if a thread and the library below another one run out of memory
    simultaneously."""
    return len(lines) == 1 or len(lines) == 2 and sum(line.startswith("libgomp: ") for line in lines) == 1


class Sweep:
    def __init__(self, attn, inputs, jobs):
        self.attn, self.inputs, self.jobs = attn, inputs, jobs
        self.points, self.failures, self.codes = 0, [], Counter()

    def disturbed(self, scenario, fault, at, old):
        """Runs once and returns the result, outputs, temporary files left, and (calls, failures)."""
        with Folder(self.inputs) as folder, Folder() as beside:
            count = beside / "count"
            count.write_bytes(bytes(16))
            if old:
                for name in scenario.outputs:
                    (folder / name).parent.mkdir(exist_ok=True)
                    (folder / name).write_bytes(OLD)
            variables = {"LD_PRELOAD": self.attn.fault} | fault.variables(scenario, at, count)
            result = self.attn.run(scenario.words, folder, variables)
            if PROMISE in result.err and self.attn.run(scenario.goes_on, folder).code == scenario.code:
                result.resumed = True
            return result, outputs_of(scenario, folder), temporaries(folder), struct.unpack("QQ", count.read_bytes())

    def expected(self, scenario, fault):
        result, outputs, _, (calls, _) = self.disturbed(scenario, fault, 0, False)
        assert scenario.checks or result.code == scenario.code, (scenario.name, result)
        assert all(data is not None for data in outputs.values()), (scenario.name, result)
        return result, outputs, calls

    def wrong(self, scenario, fault, old, right, got):
        """Returns the problem of one run, or nothing."""
        want, want_outputs, _ = right
        result, outputs, left, (_, failed) = got
        if result.code > 128 or result.code < 0:
            return f"ended by {name_of_signal(result.code)}"
        if left:
            return f"left {left}"
        done = result.code == want.code
        if PROMISE in result.err and not result.resumed:
            return "--resume does not go on from what was left"
        for name, data in outputs.items():
            is_new = data is not None and comparable(scenario, data) == comparable(scenario, want_outputs[name])
            is_old = data == (OLD if old else None) or (data is None and name in scenario.may_go)
            if not is_new and not is_old:
                return f"{name} is torn: {len(data or b'')} bytes"
            if (done or result.resumed and name in scenario.goes_on) and not is_new:
                return f"exit {result.code}{', resumed,' if result.resumed else ''} without {name}"
        if done:
            # A value that could not be read may be omitted with a warning.
            told = b"attn: warning: " in result.err and not fault.must_survive
            same = comparable(scenario, result.out) == comparable(scenario, want.out)
            if not same and not told and not scenario.checks:
                return f"exit {result.code} with other text: {result.out[:200]!r}"
            return None
        if fault.must_survive and failed:
            return f"exit {result.code}: {result.err[:200]!r}"
        if result.code not in fault.codes and not (scenario.checks and result.code in (1, 5)):
            return f"exit {result.code}: {result.err[:200]!r}"
        if not is_one_sentence(result.error_lines()) and not (scenario.checks and result.code in (1, 5)):
            return f"{len(result.error_lines())} lines on stderr: {result.err[:400]!r}"
        return None

    def scenario(self, scenario, fault, most):
        right = self.expected(scenario, fault)
        points = sampled(right[2], most)

        def one(at):
            old = at % 2 == 1
            got = self.disturbed(scenario, fault, at, old)
            return at, got[0].code, self.wrong(scenario, fault, old, right, got)

        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for at, code, wrong in pool.map(one, points):
                self.points += 1
                self.codes[code] += 1
                if wrong:
                    error = os.strerror(fault.error) if fault.error else "half"
                    self.failures.append(f"{scenario.name}: {fault.calls} {at} of {right[2]} ({error}"
                                         f"{', and all after it' if fault.how_many == 0 else ''}): {wrong}")
        return right[2]
