# SPDX-License-Identifier: MIT
"""Records what a server did and answered, for `mcp-resume-oracle judge`: one JSON line a step. See example.py."""
import json
import re
import time


class Recorder:
    """A frame is {"id": ..., "data": ..., "event": ...}, as it goes out; what is None is left out."""

    def __init__(self, path, server):
        self._file = open(path, "w", encoding="utf-8")
        self._put(trace=1, server=server)

    def _put(self, **step):
        self._file.write(json.dumps({name: value for name, value in step.items() if value is not None}) + "\n")
        self._file.flush()

    def session(self, session):
        self._put(op="session", session=session)

    def stream(self, session, stream):
        self._put(op="stream", session=session, stream=stream)

    def event(self, session, stream, frame, is_answer=False):
        self._put(op="event", session=session, stream=stream, frame=frame, is_answer=is_answer)

    def drop(self, session, stream, id=None):
        self._put(op="drop", session=session, stream=stream, id=id)

    def resume(self, session, last_event_id, answer, as_=""):
        self._put(op="resume", session=session, last_event_id=last_event_id, **answer, **{"as": as_})

    def lost(self, session, stream, id):
        self._put(op="lost", session=session, stream=stream, id=id)

    def end(self, session):
        self._put(op="end", session=session)


def listen(response, quiet_ms=1000):
    """Reads http.client's answer to a GET until it ends, or until no frame came for that long (the connection's timeout
    must not be longer): the `answer` that Recorder.resume takes."""
    answer = {"status": response.status, "frames": [], "has_ended": True, "waited_ms": 0}
    if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
        return answer
    block, until = b"", time.monotonic() + quiet_ms / 1000
    while time.monotonic() < until:
        try:
            line = response.readline()
        except TimeoutError:
            break
        if not line:
            return answer
        block += line
        frame = {} if line.strip() else _frame_of(block.decode())
        block = block if line.strip() else b""
        if frame:
            answer["frames"].append(frame)
            until = time.monotonic() + quiet_ms / 1000
    return {**answer, "has_ended": False, "waited_ms": quiet_ms}


def _frame_of(block):
    frame = {}
    for name, value in re.findall(r"^(id|event|data)(?:: ?([^\r\n]*))?\r?$", block, re.MULTILINE):
        frame[name] = frame["data"] + "\n" + value if name == "data" and "data" in frame else value
    return frame
