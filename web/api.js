// The master's HTTP API, as `proffer ui` relays it. All that is sent has the token of the session,
// which this tab keeps: no other page, and no other port of this machine, has it.

const kTokenName = 'proffer-session';
const kSilenceMax = 40_000;  // a stream beats each 15 s
const kComeBack = 1_000;

export class Refusal extends Error {
  constructor(status, { code = 'unavailable', message = 'no answer', hint = '' } = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
  get words() {
    return this.hint ? `${this.message}. ${this.hint}` : this.message;
  }
}

export const keyOfLink = () => new URLSearchParams(location.hash.slice(1)).get('key');

// The link's key works once: it becomes the token of this tab.
export async function beginSession() {
  const key = keyOfLink();
  if (key) {
    history.replaceState(null, '', location.pathname + '#/cluster');
    const answer = await fetch('/session', { method: 'POST', body: key });
    const told = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Refusal(answer.status, told.error);
    sessionStorage.setItem(kTokenName, told.token);
  }
  if (!sessionStorage.getItem(kTokenName)) {
    throw new Refusal(401, { message: 'this tab has no session',
      hint: 'Start `proffer ui` and open the link that it prints.' });
  }
}

function headers(more = {}) {
  return { Authorization: `Bearer ${sessionStorage.getItem(kTokenName)}`, ...more };
}

async function refusal(answer) {
  const told = await answer.json().catch(() => ({}));
  return new Refusal(answer.status, told.error ?? { message: `the server answered ${answer.status}` });
}

// A master that ends cuts its answers short. What is whole and no JSON came from a framework.
async function whole(answer) {
  let text;
  try {
    text = await answer.text();
  } catch {
    throw new Refusal(0, { message: 'an answer was cut short' });
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(answer.status, { code: 'unreadable', message: 'the answer is no JSON' });
  }
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, { cache: 'no-store', ...options });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refusal(0, { message: '`proffer ui` does not answer',
      hint: 'Start it again and open the link that it prints.' });
  }
  if (!answer.ok && answer.status !== 304) throw await refusal(answer);
  return answer;
}

// Pages that have not changed are not sent again.
const known = new Map();
const kKnownMax = 64;

export async function get(path) {
  const before = known.get(path);
  const answer = await ask(path, { headers: headers(before ? { 'If-None-Match': before.tag } : {}) });
  if (answer.status === 304) return before.value;
  const value = await whole(answer);
  const tag = answer.headers.get('ETag');
  known.delete(path);
  if (tag) known.set(path, { tag, value });
  while (known.size > kKnownMax) known.delete(known.keys().next().value);
  return value;
}

// All pages of a list, at most `max` rows; `seen` is called with each page.
export async function list(method, name, { max = 20_000, seen } = {}) {
  const rows = [];
  let after = '';
  do {
    const page = await get(`/v1/${method}?after=${encodeURIComponent(after)}`);
    for (const row of page[name]) rows.push(row);
    seen?.(page);
    after = page.next ?? '';
  } while (after && rows.length < max);
  return rows;
}

function send(path, body, more) {
  return ask(path, { method: 'POST', body: JSON.stringify(body),
    headers: headers({ 'Content-Type': 'application/json', ...more }) }).then(whole);
}
// A change: with the same key it is done once, however often it is sent.
export const post = (path, body, key) => send(path, body, { 'Idempotency-Key': key });
// What a framework's scheduler tells.
export const request = (framework, body) => send(`/v1/frameworks/${framework}/requests?timeout_s=10`, body, {});

// The text of a file of a task as it grows, until `signal` aborts.
export async function follow(path, signal, write) {
  const answer = await ask(path, { headers: headers(), signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    write(value);
  }
}

// Server-sent events, read by fetch, since EventSource sends no header. Goes on behind the last
// event after a loss, until stop().
export class Events {
  constructor(query, { event, gap, live, lost }) {
    Object.assign(this, { query, event, gap, live, lost, last: '', isStopped: false });
    this.run();
  }
  stop() {
    this.isStopped = true;
    this.abort?.abort();
  }
  async run() {
    while (!this.isStopped) {
      try {
        await this.read();
        this.lost(null);
      } catch (error) {
        if (!this.isStopped) this.lost(error);
      }
      if (!this.isStopped) await new Promise((done) => setTimeout(done, kComeBack));
    }
  }
  async read() {
    this.abort = new AbortController();
    let silence;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => this.abort.abort(), kSilenceMax);
    };
    heard();
    try {
      const answer = await ask('/v1/events' + this.query, { signal: this.abort.signal,
        headers: headers({ Accept: 'text/event-stream',
          ...(this.last ? { 'Last-Event-ID': this.last } : {}) }) });
      this.live();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        heard();
        const messages = (rest + value).split('\n\n');
        rest = messages.pop();
        for (const message of messages) this.take(message);
      }
    } finally {
      clearTimeout(silence);
    }
  }
  take(message) {
    let type = '';
    let data = '';
    for (const line of message.split('\n')) {
      if (line.startsWith('id: ')) this.last = line.slice(4);
      else if (line.startsWith('event: ')) type = line.slice(7);
      else if (line.startsWith('data: ')) data += line.slice(6);
    }
    if (!data) return;
    const value = JSON.parse(data);
    if (type === 'gap') this.gap(value);
    else if (type === '') this.event(value);
  }
}
