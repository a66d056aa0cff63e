// SPDX-License-Identifier: MIT
// Records what a server did and answered, for `mcp-resume-oracle judge`: one JSON line for each step. See example.mjs.
import { openSync, writeSync } from 'node:fs';

// A frame is {id, data, event}, as it goes out; what is undefined is left out.
export function recorder(path, server) {
  const file = openSync(path, 'w');
  const put = step => { writeSync(file, JSON.stringify(step) + '\n'); };
  put({ trace: 1, server });
  return {
    session: session => put({ op: 'session', session }),
    stream: (session, stream) => put({ op: 'stream', session, stream }),
    event: (session, stream, frame, isAnswer) => put({ op: 'event', session, stream, frame, is_answer: isAnswer }),
    drop: (session, stream, id) => put({ op: 'drop', session, stream, id }),
    resume: (session, lastEventId, answer, as) =>
      put({ op: 'resume', session, as, last_event_id: lastEventId, ...answer }),
    lost: (session, stream, id) => put({ op: 'lost', session, stream, id }),
    end: session => put({ op: 'end', session }),
  };
}

// Reads fetch's answer to a GET until it ends, or until no frame came for `quietMs`: the `answer` that resume() takes.
export async function listen(response, quietMs = 1000) {
  const answer = { status: response.status, frames: [], has_ended: true, waited_ms: 0 };
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel();
    return answer;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const stop = () => { Object.assign(answer, { has_ended: false, waited_ms: quietMs }); reader.cancel(); };
  const timer = setTimeout(stop, quietMs);
  for (let text = '', part; !(part = await reader.read()).done;) {
    const blocks = (text + part.value).split(/\r\n\r\n|\n\n|\r\r/);
    text = blocks.pop();
    const frames = blocks.map(frameOf).filter(frame => Object.keys(frame).length);
    if (frames.length) timer.refresh();
    answer.frames.push(...frames);
  }
  clearTimeout(timer);
  return answer;
}

function frameOf(block) {
  const frame = {};
  for (const [, name, value] of block.matchAll(/(?:^|[\r\n])(id|event|data)(?:: ?([^\r\n]*))?(?=[\r\n]|$)/g)) {
    frame[name] = name === 'data' && 'data' in frame ? `${frame.data}\n${value ?? ''}` : value ?? '';
  }
  return frame;
}

// The TypeScript SDK's event store of one session, recorded: what it stores is what the server issues.
export function recordedStore(store, record, session) {
  const streams = new Set();
  const nameOf = stream => stream === '_GET_stream' ? '' : stream;
  return {
    getStreamIdForEventId: store.getStreamIdForEventId?.bind(store),
    replayEventsAfter: (id, sender) => store.replayEventsAfter(id, sender),
    async storeEvent(stream, message) {
      const id = await store.storeEvent(stream, message);
      if (nameOf(stream) && !streams.has(stream)) record.stream(session, stream);
      streams.add(stream);
      const isMarker = Object.keys(message).length === 0;
      record.event(session, nameOf(stream), { id, data: isMarker ? '' : JSON.stringify(message) },
                   'result' in message || 'error' in message);
      return id;
    },
  };
}
