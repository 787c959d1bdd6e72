"""The verdicts of peers.py on times and errors: rows with ratios, whether errors are small enough, and whether goals are
met. Needs no PyTorch."""
import statistics

import workload


def error_passes(kind, dtype, errors):
    """Returns whether attn's error is within the limit of workload.py, or for an encoder in bfloat16 twice PyTorch's own."""
    if kind == "padding":
        return True  # both sides are attn's own; its tests compare them
    if kind == "encoder" and dtype == "bfloat16":
        return errors["attn"] <= 2 * errors.get("eager", errors.get("compile+graph", 0))
    return errors["attn"] <= workload.LARGEST_ERROR[kind, dtype]


def row_of(name, kind, dtype, peers, ours, errors, flops=None, extra=None):
    """`peers` and `ours` are milliseconds per round. The ratio of each round is attn's time divided by the peer's. A peer
    that failed has its reason, a text, in place of its times."""
    reasons = {peer: times for peer, times in peers.items() if isinstance(times, str)}
    peers = {peer: times for peer, times in peers.items() if peer not in reasons}
    row = {"name": name, "kind": kind, "dtype": dtype, "rounds": len(ours), "attn_ms": statistics.median(ours),
           "attn_ms_rounds": ours, "relative_error": errors, "peers": {}}
    if flops:
        row["attn_tflops"] = flops / row["attn_ms"] / 1e9
    for peer, times in peers.items():
        ratios = [mine / theirs for mine, theirs in zip(ours, times)]
        row["peers"][peer] = {"ms": statistics.median(times), "ms_rounds": times, "ratio": statistics.median(ratios),
                              "ratio_min": min(ratios), "ratio_max": max(ratios)}
        if flops:
            row["peers"][peer]["tflops"] = flops / row["peers"][peer]["ms"] / 1e9
    row["peers"].update({peer: {"failed": reason} for peer, reason in reasons.items()})
    row["pass"] = error_passes(kind, dtype, errors)
    goal = workload.goal_of(kind, name, dtype)
    if goal:
        ratio = row["peers"].get(goal[0], {}).get("ratio")
        row["goal"] = {"peer": goal[0], "ratio": goal[1], "met": None if ratio is None else ratio <= goal[1]}
    row.update(extra or {})
    return row


def failure_of(row):
    """Returns the problem of a row as a sentence, or None."""
    return None if row["pass"] else f"{row['name']} {row['dtype']}: error {row['relative_error']['attn']:.1e}"


def missed_goals(rows):
    """Returns the rows whose goal is not reached, or cannot be judged because the peer failed."""
    return [row for row in rows if row.get("goal") and not row["goal"]["met"]]


def lines_of(row):
    """Returns the row as text."""
    errors = row["relative_error"]
    error_of = lambda side: f"err {errors.get(side) or float('nan'):.1e}"
    speed = f" {row['attn_tflops']:6.1f} TF/s" if "attn_tflops" in row else ""
    yield f"{row['name']:34s} {row['dtype']:9s} attn {row['attn_ms']:9.4f} ms{speed} {error_of('attn')}"
    for peer, it in row["peers"].items():
        if "failed" in it:
            yield f"{'':34s} {peer:>22s} failed: {it['failed']}"
        else:
            yield (f"{'':34s} {peer:>22s} {it['ms']:9.4f} ms  ratio {it['ratio']:.3f} "
                   f"[{it['ratio_min']:.3f}, {it['ratio_max']:.3f}]  {error_of(peer)}")
