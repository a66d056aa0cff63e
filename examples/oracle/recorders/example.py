# SPDX-License-Identifier: MIT
"""A server whose sessions share one event store, and its test, which records a trace: python3 example.py trace.jsonl
`mcp-resume-oracle judge trace.jsonl` finds the leak."""
import http.client
import http.server
import sys
import threading

from record import Recorder, listen

record = Recorder(sys.argv[1] if len(sys.argv) > 1 else "trace.jsonl", "example.py")
events = []  # the fault: of all sessions


def issue(session, stream, data, is_answer=False):
    event = {"id": f"e{len(events)}", "stream": stream, "data": data}
    events.append(event)
    record.event(session, stream, {"id": event["id"], "data": data}, is_answer)
    return event


class Handler(http.server.BaseHTTPRequestHandler):
    """A POST is a call of two events, whose connection breaks after the first; a GET resumes."""

    def log_message(self, *_):
        pass

    def send(self, status, some=()):
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream" if status == 200 else "text/plain")
        self.end_headers()
        for event in some:
            self.wfile.write(f"id: {event['id']}\ndata: {event['data']}\n\n".encode())

    def do_POST(self):
        session, stream = self.headers["Mcp-Session-Id"], f"call {len(events)}"
        record.stream(session, stream)
        first = issue(session, stream, '{"method":"notifications/progress","params":{"of":"%s"}}' % session)
        self.send(200, [first])
        issue(session, stream, '{"jsonrpc":"2.0","id":1,"result":{"of":"%s"}}' % session, is_answer=True)
        record.drop(session, stream, first["id"])

    def do_GET(self):
        at = next((i for i, event in enumerate(events) if event["id"] == self.headers["Last-Event-ID"]), None)
        if at is None:
            return self.send(400)
        self.send(200, [event for event in events[at + 1:] if event["stream"] == events[at]["stream"]])


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()


def ask(method, session, last_event_id=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=1)
    cursor = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
    connection.request(method, "/mcp", headers={"Mcp-Session-Id": session, **cursor})
    return listen(connection.getresponse())


for name in ("A", "B"):
    record.session(name)
    ask("POST", name)
for cursor, meant in (("e0", "in window"), ("e9", "never issued"), ("e2", "another session's id")):
    record.resume("A", cursor, ask("GET", "A", cursor), meant)
