"""A list schedule of a merge tree: whoever is free merges what is ready, else takes a batch.

The merge of the nodes below it is ready when the last of them has ended and the others' messages
have arrived. Times are constant. It shares no code with the law that it is compared with.
"""

import heapq
from itertools import count


def greedy_time(items, processors, *, task, merge, message, fan_in=2, batch=1):
    """Time until the root of the tree is merged."""
    sizes = [-(-items // batch)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // fan_in))
    order = count()
    events = [(0.0, next(order), "free", None) for _ in range(processors)]
    heapq.heapify(events)
    complete, ready, idle, given = {}, [], 0, 0

    def start(now):
        """Give a free processor something to do, or let it wait."""
        nonlocal given, idle
        if ready:
            level, j = heapq.heappop(ready)
            inputs = min(fan_in, sizes[level - 1] - j * fan_in)
            heapq.heappush(events, (now + (inputs - 1) * merge, next(order), "end", (level, j)))
        elif given < sizes[0]:
            own = min(batch, items - given * batch)
            end = now + own * task + (own - 1) * merge
            heapq.heappush(events, (end, next(order), "end", (0, given)))
            given += 1
        else:
            idle += 1

    while events:
        now, _, kind, node = heapq.heappop(events)
        if kind == "ready":
            heapq.heappush(ready, node)
            if idle:
                idle -= 1
                start(now)
            continue
        if kind == "end":
            level, j = node
            if level == len(sizes) - 1:
                return now
            parent = (level + 1, j // fan_in)
            complete[parent] = complete.get(parent, 0) + 1
            inputs = min(fan_in, sizes[level] - parent[1] * fan_in)
            if complete[parent] == inputs:
                travels = message if inputs > 1 and processors > 1 else 0.0
                heapq.heappush(events, (now + travels, next(order), "ready", parent))
        start(now)
    raise AssertionError("the root was never merged")
