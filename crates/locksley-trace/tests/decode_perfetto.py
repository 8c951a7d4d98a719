#!/usr/bin/env python3
"""Decodes a file that `locksley trace FILE --perfetto OUT` wrote by Perfetto's own classes.

Needs the Python packages `perfetto` and `protobuf`. Prints what the file holds; fails if slices do
not nest, times go back, or an arrow has no begin or no end.
"""
import collections
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

trace = Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
tracks, open_slices = {}, collections.defaultdict(list)
last, flows = collections.defaultdict(int), collections.Counter()
counts = collections.Counter()
for packet in trace.packet:
    if packet.HasField("track_descriptor"):
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        continue
    event = packet.track_event
    assert event.track_uuid in tracks, "an event before its track"
    kind = TrackEvent.Type.Name(event.type)
    counts[kind] += 1
    flows.update(event.flow_ids)
    if kind == "TYPE_COUNTER":
        assert tracks[event.track_uuid].HasField("counter")
        continue
    # The ends of arrows follow the other events of a track; the viewer sorts.
    if not event.name.startswith(("stolen by", "woken by", "resumed by", "has the processor")):
        assert packet.timestamp >= last[event.track_uuid], "time goes back"
        last[event.track_uuid] = packet.timestamp
    if kind == "TYPE_SLICE_BEGIN":
        open_slices[event.track_uuid].append(event.name)
    if kind == "TYPE_SLICE_END":
        open_slices[event.track_uuid].pop()
assert not any(open_slices.values()), "a slice without its end"
assert all(uses == 2 for uses in flows.values()), "an arrow without begin or end"
for track in tracks.values():
    parent = tracks[track.parent_uuid].name if track.parent_uuid else "-"
    print(f"{track.name} (in {parent})")
print(dict(counts), len(flows), "arrows")
