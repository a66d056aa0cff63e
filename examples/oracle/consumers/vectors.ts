// SPDX-License-Identifier: MIT
// Checks an implementation against the vectors: node --experimental-strip-types vectors.ts vectors.jsonl (Node 22).
// Exit status 0: each line agrees.
import { readFileSync } from "node:fs";

type Whole = number | string; // beyond 2^53 a text
type Stream = { number: number; state: string; first: Whole; next: Whole; events: string[]; read_mark?: Whole };
type Session = { id: string; principal: string; state: string; standalone_reader: boolean; streams: Stream[];
                 tags: { session: string; incarnation: string } };
type Request = { headers: Record<string, string>; principal: string };
type Vector = { name: string; state: { supported: string[]; sessions: Session[] }; request: Request;
                expect: { status: number; reason: string; replay: string[] } };
const eventId = /^([0-9a-f]{16})\.([0-9a-f]{16})\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$/;

// Put a call of your own server here: the status, and the ids of the events that it sends at once.
function get({ supported, sessions }: Vector["state"], { headers, principal }: Request): [number, string[]] {
  const version = headers["MCP-Protocol-Version"];
  if (version && !supported.includes(version)) return [400, []];
  if (version === "2026-07-28") return [405, []];
  if (!headers["Mcp-Session-Id"]) return [400, []];
  const session = sessions.find((s) => s.id === headers["Mcp-Session-Id"] && s.state === "live");
  if (!session || session.principal !== principal) return [404, []];
  const { tags, streams } = session, standalone = streams.find((s) => s.number === 0)!;
  if (!headers["Last-Event-ID"] && session.standalone_reader) return [409, []];
  const readMark = `${tags.session}.${tags.incarnation}.0.${standalone.read_mark}`; // where a fresh reader starts
  const [, tag, life, number, digits] = eventId.exec(headers["Last-Event-ID"] || readMark) ?? [];
  if (!digits || BigInt(number) >= 2n ** 32n || BigInt(digits) >= 2n ** 64n) return [400, []];
  if (tag !== tags.session) return [409, []];
  if (life !== tags.incarnation) return number === "0" ? [200, standalone.events] : [410, []];
  const stream = streams.find((s) => s.number === Number(number)), seq = BigInt(digits);
  if (stream?.state === "forgotten") return [410, []];
  if (!stream || seq >= BigInt(stream.next)) return [409, []];
  const finished = stream.state === "finished";
  if (seq + 1n < BigInt(stream.first)) return [200, finished ? stream.events.slice(-1) : []]; // after a gap
  if (seq + 1n === BigInt(stream.next) && finished) return [204, []];
  return [200, stream.events.filter((id) => BigInt(id.split(".")[3]) > seq)];
}

const [schema, ...vectors] = readFileSync(process.argv[2], "ascii").trim().split("\n").map((line) => JSON.parse(line));
if (schema.schema !== "mcp-resume-vectors" || schema.version !== 1 || schema.count !== vectors.length) throw schema;
const wrong = vectors.filter(({ name, state, request, expect }: Vector) => {
  const expected = JSON.stringify([expect.status, expect.replay]), got = JSON.stringify(get(state, request));
  if (got !== expected) console.log(`${name} (${expect.reason}): expected ${expected}, got ${got}`);
  return got !== expected;
});
console.log(`${vectors.length} vectors, ${wrong.length} differ`);
process.exitCode = wrong.length === 0 ? 0 : 1;
