#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Large planning problems, shaped like a real GPU cluster's week.

    large_scenario.py --jobs N --nodes M [--seed S] [--block RULE] [--fit RULE] > FILE

A foresight-scenario/1 of M nodes with 8 GPUs, 7 days in steps of an hour, times to the second.

Jobs: GPU counts, durations (drawn for the count) and gaps between arrivals follow quantiles of
Microsoft's Philly trace (msr-fiddle/philly-traces, CC-BY-4.0; 82,247 jobs, as the philly.csv of
pkusys/ElasticFlow has them).  Counts are multiplied by one of 1, 1, 2, 4, 8, up to 64; then drawn
jobs are doubled or halved until the queue wants four times the cluster at once.  Durations are
scaled, up to 5 days, until the queue offers three quarters of the horizon's GPU-seconds.
The whole queue waits at time 0, in order of arrival, unless --arrive-s spreads it.
Priorities are drawn from 1, 1, 2, 3, 5, 8; the trace has none.

Applications: two, with the hourly means of the first week of two services of ServeGen
(alibaba/ServeGen, Apache-2.0; all clients summed).  Their swap caps are two thirds of the steepest
hour, so they bind.  The second holds GPUs already.

Running: on about half of the nodes one or two jobs hold any GPUs of the node.

The same arguments give the same file.
"""
import argparse
import json
import random
import sys

HOUR, DAY = 3600, 86400
STEPS = 168
NODE = 8

# Jobs of the trace by number of GPUs.
GPUS = [(1, 76627), (2, 1818), (4, 1870), (8, 1643), (12, 7), (16, 199), (24, 7), (32, 67),
        (64, 9)]
# Quantiles, at these per cent.
AT = [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 92, 94, 96, 97, 98,
      99, 99.5, 99.9, 100]
# Durations in seconds, of jobs with at least so many GPUs.
DURATIONS = {
    1: [
         1, 52, 62, 69, 76, 122, 215, 385, 600, 855, 1117, 1446, 1728, 2054, 2464, 2716, 3754, 5342,
         8512, 10713, 14534, 26411, 44229, 68245, 135386, 266433, 863786, 3256045],
    2: [
         2, 9, 11, 13, 15, 16, 17, 18, 19, 20, 21, 23, 25, 28, 33, 76, 148, 22165, 72361, 110722,
         166885, 231889, 266440, 343700, 510066, 786523, 1463703, 2582803],
    4: [
         3, 75, 136, 179, 400, 772, 1695, 4456, 7457, 13082, 17388, 26216, 36253, 56540, 78636,
         89311, 106275, 151048, 184426, 191999, 228396, 347975, 449318, 528732, 906798, 1192621,
         2416865, 2750674],
    8: [
         1, 125, 216, 463, 759, 1736, 3821, 7051, 12128, 16351, 23606, 36299, 63891, 104562, 138469,
         172916, 202485, 241763, 350272, 385712, 482781, 591972, 661299, 792895, 1051666, 1961780,
         2655194, 4628226],
    16: [
         1, 35, 69, 200, 345, 608, 924, 2107, 4322, 11277, 28456, 46944, 54887, 62217, 78004,
         109808, 159985, 181596, 246825, 308335, 353444, 471182, 511238, 610860, 891298, 1152387,
         1369876, 1710643],
}
# Seconds between arrivals.
GAPS = [
    0, 0, 1, 1, 2, 3, 3, 4, 5, 6, 8, 10, 13, 18, 26, 44, 101, 201, 361, 458, 591, 600, 600, 600,
    601, 724, 2238, 247199]
# Requests per second in each hour: ServeGen's m-small and m-large.
M_SMALL = [
    792, 624, 576, 593, 563, 630, 705, 769, 850, 1065, 990, 873, 812, 795, 989, 1056, 1088, 1136,
    1168, 1423, 1724, 1684, 1528, 1204, 918, 627, 585, 477, 406, 418, 481, 555, 861, 988, 1046,
    1024, 954, 937, 859, 905, 992, 1070, 1122, 1347, 1702, 1640, 1359, 1132, 867, 678, 721, 707,
    677, 716, 957, 1035, 1264, 1629, 1555, 1405, 1204, 1022, 1018, 1073, 1172, 1355, 1171, 1317,
    1519, 1553, 1459, 1243, 995, 828, 820, 831, 801, 827, 926, 1052, 1142, 1222, 1226, 1240, 1374,
    1448, 1281, 1343, 1258, 1176, 1114, 1262, 1462, 1481, 1389, 1125, 823, 679, 681, 689, 666, 670,
    719, 826, 1074, 1336, 1165, 1055, 999, 1042, 1066, 1075, 1050, 1023, 1067, 1199, 1460, 1515,
    1418, 1180, 910, 746, 761, 848, 843, 831, 860, 986, 1172, 1318, 1321, 1282, 1263, 1223, 1612,
    1144, 1197, 1139, 1120, 1249, 1500, 1537, 1391, 1151, 918, 775, 770, 730, 654, 662, 737, 821,
    953, 1200, 1268, 1299, 1158, 1041, 1024, 1120, 1197, 1143, 1189, 1303, 1539, 1564, 1454, 1207]
M_LARGE = [
    205, 230, 222, 203, 198, 200, 225, 226, 261, 317, 332, 316, 198, 267, 365, 338, 349, 355, 297,
    337, 318, 253, 324, 365, 241, 297, 266, 349, 348, 306, 129, 113, 103, 124, 185, 232, 208, 205,
    203, 207, 186, 188, 187, 181, 177, 194, 198, 195, 191, 192, 189, 182, 176, 194, 214, 213, 199,
    187, 202, 214, 220, 204, 200, 200, 204, 198, 206, 209, 206, 194, 212, 217, 236, 169, 161, 154,
    149, 159, 154, 155, 164, 162, 165, 171, 163, 165, 168, 173, 182, 183, 175, 171, 179, 190, 197,
    263, 236, 208, 274, 159, 180, 189, 223, 221, 217, 221, 223, 215, 213, 204, 194, 188, 198, 198,
    199, 199, 300, 182, 170, 158, 153, 151, 158, 152, 145, 149, 154, 149, 146, 164, 174, 181, 176,
    174, 179, 184, 170, 166, 192, 307, 283, 276, 217, 153, 172, 154, 134, 132, 126, 109, 134, 138,
    129, 169, 217, 271, 308, 303, 286, 262, 241, 244, 238, 306, 281, 293, 259, 220]


def quantile(draw, values):
    """A value of the distribution: linear between the quantiles."""
    at = draw.random() * 100
    i = 1
    while AT[i] < at:
        i += 1
    share = (at - AT[i - 1]) / (AT[i] - AT[i - 1])
    return values[i - 1] + share * (values[i] - values[i - 1])


def pick(draw, weighted):
    at = draw.random() * sum(weight for _, weight in weighted)
    for value, weight in weighted:
        at -= weight
        if at < 0:
            return value
    return weighted[-1][0]


def one_of(draw, values):
    return values[int(draw.random() * len(values))]


def duration_of(draw, gpus):
    return quantile(draw, DURATIONS[max(least for least in DURATIONS if least <= gpus)])


def fit_width(draw, widths, wanted):
    """Doubles or halves drawn jobs until the queue wants so many GPUs, give or take a per cent."""
    total = sum(widths)
    for _ in range(100 * len(widths)):
        if abs(total - wanted) <= max(64, wanted // 100):
            break
        i = int(draw.random() * len(widths))
        new = min(64, widths[i] * 2) if total < wanted else max(1, widths[i] // 2)
        total += new - widths[i]
        widths[i] = new


def fit_length(widths, lengths, wanted):
    """Scales the durations, up to 5 days, until the queue offers so many GPU-seconds."""
    def offered(scale):
        return sum(g * min(5 * DAY, max(60, d * scale)) for g, d in zip(widths, lengths))
    low, high = 1e-3, 1e6
    for _ in range(50):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if offered(middle) < wanted else (low, middle)
    return [int(min(5 * DAY, max(60, d * low))) for d in lengths]


def queue(draw, count, gpus, arrive_s):
    widths, lengths, times, now = [], [], [], 0.0
    for _ in range(count):
        base = pick(draw, GPUS)
        widths.append(min(64, base * one_of(draw, [1, 1, 2, 4, 8])))
        lengths.append(duration_of(draw, base))
        now += quantile(draw, GAPS)
        times.append(now)
    fit_width(draw, widths, 4 * gpus)
    lengths = fit_length(widths, lengths, 0.75 * gpus * STEPS * HOUR)
    jobs = []
    for i, (width, length, time) in enumerate(zip(widths, lengths, times)):
        kind = "training" if length >= DAY else "quantization" if length < HOUR else "batch"
        jobs.append({"id": f"job{i}", "class": kind, "gpus": width, "duration_s": length,
                     "submit_s": int(time / times[-1] * arrive_s),
                     "priority": one_of(draw, [1, 1, 2, 3, 5, 8])})
    return jobs


def running(draw, nodes, free):
    """Jobs on scattered GPUs of about half of the nodes; takes them from `free`."""
    jobs = []
    for node in range(nodes):
        if draw.random() < 0.5:
            continue
        for _ in range(1 + int(draw.random() * 2)):
            gpus = sorted(gpu for gpu in free[node] if draw.random() < 0.4)
            if not gpus:
                continue
            free[node] -= set(gpus)
            done = int(draw.random() * DAY) + 1
            left = int(min(5 * DAY, 8 * duration_of(draw, 8))) + 60
            jobs.append({"id": f"run{len(jobs)}", "class": "training", "gpus": len(gpus),
                         "duration_s": done + left, "submit_s": 0,
                         "priority": one_of(draw, [1, 1, 2, 3, 5, 8]),
                         "running": {"start_s": -done, "gpus": [[name(node), gpus]]}})
    return jobs


def application(draw, ident, curve, gpus, share, priority, free):
    """An application whose peak is a share of the GPUs; it holds some of `free`, if given."""
    peak = max(curve)
    demand = [round(rate / peak * share * gpus) for rate in curve]
    steepest = max(abs(b - a) for a, b in zip(demand, demand[1:]))
    app = {"id": ident, "priority": priority, "demand": demand,
           "max_swap": max(1, steepest * 2 // 3)}
    if free is not None:
        held, missing = {}, demand[0]
        node = int(draw.random() * len(free))
        for _ in range(len(free)):
            mine = sorted(free[node])[:missing]
            if mine:
                held[node] = mine
                missing -= len(mine)
                free[node] -= set(mine)
            node = (node + 1) % len(free)
        app["held"] = [[name(node), held[node]] for node in sorted(held)]
    return app


def name(node):
    return f"gpu{node:05d}"


def make(jobs, nodes, seed=1, block="contiguous", fit="within-horizon", arrive_s=0):
    draw = random.Random(seed)
    gpus = nodes * NODE
    free = [set(range(NODE)) for _ in range(nodes)]
    run = running(draw, nodes, free)
    waiting = queue(draw, jobs, gpus, arrive_s)
    apps = [application(draw, "m-small", M_SMALL, gpus, 0.12, 5, None),
            application(draw, "m-large", M_LARGE, gpus, 0.08, 3, free)]
    return {"format": "foresight-scenario/1", "name": f"large-{jobs}x{nodes}-{seed}",
            "about": "Generated by test/tools/large_scenario.py after the Philly and ServeGen "
                     "traces (CC-BY-4.0, Apache-2.0)",
            "step_seconds": HOUR, "horizon_steps": STEPS, "block": block, "fit": fit,
            "value": {"decay_end": 0.5, "shortfall_weight": 8},
            "nodes": [{"name": name(i), "gpus": NODE} for i in range(nodes)],
            "jobs": run + waiting, "realtime": apps}


def write(scenario, out):
    """One node, job or application a line."""
    keys = list(scenario)
    out.write("{\n")
    for key in keys:
        value = scenario[key]
        if isinstance(value, list):
            text = "[\n  " + ",\n  ".join(json.dumps(entry) for entry in value) + "]"
        else:
            text = json.dumps(value)
        out.write(f" {json.dumps(key)}: {text}" + (",\n" if key != keys[-1] else "\n"))
    out.write("}\n")


def main():
    parser = argparse.ArgumentParser(description="A large foresight-scenario/1 on stdout.")
    parser.add_argument("--jobs", type=int, required=True, help="pending jobs")
    parser.add_argument("--nodes", type=int, required=True, help="nodes of 8 GPUs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--block", choices=["any", "contiguous", "aligned"], default="contiguous")
    parser.add_argument("--fit", choices=["within-horizon", "may-overrun"],
                        default="within-horizon")
    parser.add_argument("--arrive-s", type=int, default=0, metavar="S",
                        help="the queue arrives during the first S seconds (default: all waits)")
    args = parser.parse_args()
    if args.jobs < 1 or args.nodes < 1 or args.arrive_s < 0:
        parser.error("--jobs and --nodes must be at least 1, --arrive-s not negative")
    write(make(args.jobs, args.nodes, args.seed, args.block, args.fit, args.arrive_s), sys.stdout)


if __name__ == "__main__":
    main()
