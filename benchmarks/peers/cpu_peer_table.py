"""What cpu_peers.py prints of its rows."""

import cpu_peer_calls


def table_of(lines):
    """Ours in microseconds and GB/s, then each peer's time over ours."""
    names = [name for name in cpu_peer_calls.PEERS
             if any("time_us" in line["peers"][name] for line in lines)]
    head = ["shape", "paged us", "GB/s", *names]
    rows = [head, ["---"] * len(head)]
    for line in lines:
        cells = []
        for name in names:
            peer = line["peers"][name]
            cells.append(f"{peer['time_over_ours']:.2f}" if "time_us" in peer
                         else "wrong" if "wrong" in peer else "-")
        rows.append([line["title"], f"{line['paged']['time_us']:.1f}",
                     f"{line['paged']['gb_per_s']:.1f}", *cells])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def errors_of(lines):
    """The largest error of each over the shapes, ours first."""
    errors = {}
    for line in lines:
        rows = {"paged fp16": line["paged"]["relative_error"],
                "paged, fp32 queries": line["paged"]["relative_error_fp32"],
                **{name: peer["relative_error"] for name, peer in
                   line["peers"].items() if "relative_error" in peer}}
        for name, error in rows.items():
            errors[name] = max(error, errors.get(name, 0.0))
    return [f"{name}: {error:.1e} off" for name, error in errors.items()]


def reasons_of(lines):
    """Why a peer has no time, each reason once."""
    reasons = {}
    for line in lines:
        for name, peer in line["peers"].items():
            words = peer.get("not_measured") or peer.get("wrong")
            if words:
                reasons.setdefault((name, words), []).append(line["title"])
    return [f"{name}: {words} ({'every shape' if len(titles) == len(lines) else ', '.join(titles)})"
            for (name, words), titles in reasons.items()]
