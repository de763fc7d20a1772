// For what tasks waited, by the master's ledger: of a task, or summed.

import { get } from './api.js';
import { el, put } from './dom.js';

function span(seconds) {
  if (seconds < 1) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${(seconds / 60).toFixed(1)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

// A sentence and a table of reasons; `query` names a task, a framework or a role.
export class Blame {
  constructor() {
    this.answer = el('p');
    this.body = el('tbody');
    this.table = el('table', {}, el('caption', {}, 'Waiting by reason'),
      el('thead', {}, el('tr', {}, ['Reason', 'Time', 'Part'].map((title) => el('th', { scope: 'col' }, title)))), this.body);
    this.root = el('div', {}, el('h3', {}, 'What it waited for'), this.answer, this.table);
  }
  async read(query) {
    let told;
    try {
      told = await get(`/v1/blame?${query}`);
    } catch (error) {
      told = { answer: error.words ?? String(error) };
    }
    const seconds = [...(told.waited ?? []).map(({ reason, nanos }) => [reason, nanos / 1e9]),
      ...(told.sums ?? []).map(({ reason, millis }) => [reason, millis / 1e3])];
    const all = seconds.reduce((sum, [, time]) => sum + time, 0);
    const seen = JSON.stringify([told.answer, seconds]);
    if (seen === this.seen) return;
    this.seen = seen;
    this.answer.textContent = told.answer;
    this.table.hidden = seconds.length === 0;
    put(this.body, seconds.map(([reason, time]) => el('tr', {}, el('td', {}, reason), el('td', {}, span(time)),
      el('td', {}, `${all > 0 ? ((100 * time) / all).toFixed(1) : '0.0'} %`))));
  }
}
