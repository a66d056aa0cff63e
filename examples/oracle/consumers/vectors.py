# SPDX-License-Identifier: MIT
# Checks an implementation against the vectors: python3 vectors.py vectors.jsonl. Exit status 0: each line agrees.
import json, re, sys

EVENT_ID = re.compile(r"([0-9a-f]{16})\.([0-9a-f]{16})\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")

def decide(state, headers, principal):  # put a call of your own server here; these are rows 1 to 17 of the table
    version, named, cursor = (headers.get(h, "") for h in ("MCP-Protocol-Version", "Mcp-Session-Id", "Last-Event-ID"))
    if version and version not in state["supported"]: return "unsupported_protocol"
    if version == "2026-07-28": return "stateless_protocol"
    if not named: return "no_session"
    session = next((s for s in state["sessions"] if s["id"] == named and s["state"] == "live"), None)
    if not session: return "session_gone"
    if session["principal"] != principal: return "wrong_principal"
    if not cursor: return "occupied" if session["standalone_reader"] else "fresh"
    parts = EVENT_ID.fullmatch(cursor)
    if not parts or int(parts[3]) >= 2**32 or int(parts[4]) >= 2**64: return "malformed_cursor"
    number, seq = int(parts[3]), int(parts[4])
    if parts[1] != session["tags"]["session"]: return "foreign_cursor"
    if parts[2] != session["tags"]["incarnation"]: return "stale_request" if number else "stale_incarnation"
    stream = next((s for s in session["streams"] if s["number"] == number), None)
    if not stream: return "never_issued"
    if stream["state"] == "forgotten": return "forgotten"
    first, following = int(stream["first"]), int(stream["next"])  # beyond 2^53 they are texts
    if seq >= following: return "never_issued"
    if seq + 1 < first: return "evicted"
    if seq + 1 < following: return "replay"
    return "complete" if stream["state"] == "finished" else "up_to_date"

schema, *vectors = map(json.loads, open(sys.argv[1], encoding="ascii"))
assert (schema["schema"], schema["version"], schema["count"]) == ("mcp-resume-vectors", 1, len(vectors)), schema
wrong = 0
for v in vectors:  # a server of yours is asked for v["expect"]["status"] and ["replay"] too
    got = decide(v["state"], v["request"]["headers"], v["request"]["principal"])
    if got != v["expect"]["reason"]: wrong += 1; print(f'{v["name"]}: expected {v["expect"]["reason"]}, got {got}')
print(f"{len(vectors)} vectors, {wrong} differ")
sys.exit(wrong != 0)
