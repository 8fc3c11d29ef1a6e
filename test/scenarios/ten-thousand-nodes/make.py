# SPDX-License-Identifier: GPL-2.0-or-later
"""10,000 nodes of 8 GPUs and 300 jobs, some of which span a thousand nodes."""
import json

print(json.dumps({
    "format": "foresight-scenario/1", "name": "ten-thousand-nodes",
    "step_seconds": 3600, "horizon_steps": 24,
    "nodes": [{"name": f"n{i:05d}", "gpus": 8} for i in range(10000)],
    "jobs": [{"id": f"j{i}", "gpus": 8000 if i % 50 == 0 else 1 + i % 16,
              "duration_s": 3600 * (1 + i % 12), "priority": 1 + i % 5} for i in range(300)],
    "realtime": [{"id": "rt", "demand": [100 + 50 * (i % 3) for i in range(24)]}],
}))
