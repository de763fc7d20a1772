import { get, list } from './api.js';
import { Table, el } from './dom.js';
import { amounts } from './amounts.js';

const kReasonsAtOnce = 10;  // asked for in one reading; the others keep theirs

export class WaitingView {
  name = 'waiting';
  title = 'Waiting';

  constructor() {
    this.reasons = new Map();
    this.next = 0;
    this.table = new Table('Asks that are not met, and why', [
      ['Framework', (a) => el('a', { href: `#/frameworks/${encodeURIComponent(a.framework)}` }, a.framework)],
      ['Role', (a) => a.role],
      ['Ask', (a) => a.ask || 'one'],
      ['Wanted', (a) => a.wanted, 'number'],
      ['Each', (a) => amounts(a.shape)],
      ['Why it waits', (a) => this.reasons.get(a.framework) ?? 'asking', 'wide'],
    ], { pageSize: 20, empty: 'nothing waits' });
    this.root = el('div', {}, this.table.root);
  }

  concerns(event) {
    return event.framework !== undefined;
  }
  async read() {
    const rows = [];
    for (const framework of await list('frameworks', 'frameworks')) {
      for (const ask of framework.asks ?? []) {
        if (ask.wanted > 0) rows.push({ ...ask, framework: framework.framework, role: framework.role });
      }
    }
    this.table.set(rows);
    const names = [...new Set(this.table.shown().map((row) => row.framework))];
    const all = new Set(rows.map((row) => row.framework));
    for (const name of this.reasons.keys()) if (!all.has(name)) this.reasons.delete(name);
    for (let i = 0; i < Math.min(kReasonsAtOnce, names.length); ++i) {
      const name = names[this.next++ % names.length];
      const why = await get(`/v1/explain?framework=${encodeURIComponent(name)}`).then((told) => told.answer, (error) => error.words ?? '');
      this.reasons.set(name, why);
    }
    this.table.show();
  }
}
