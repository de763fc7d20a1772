import { get, list } from './api.js';
import { Table, el } from './dom.js';
import { amounts, percent, span } from './amounts.js';

const kReasonsAtOnce = 10;  // asked for in one reading; the others keep theirs

const kNoEstimate = {
  not_yet: 'being estimated',
  no_durations: 'unknown: it may wait for tasks of unknown duration, of whose kind none has ended yet',
  beyond: 'later than a forecast reaches',
  impossible: 'never: no agent could run it',
  away: 'unknown: its scheduler is not connected',
  suppressed: 'unknown: its scheduler has suppressed offers',
  too_large: 'unknown: the cluster is too large for a forecast',
  failed: 'unknown: the last forecast failed',
  not_yours: 'told to its user and operators only',
};

// When the next task of an ask will start, for people.
function start({ eta, no_eta }) {
  if (!eta) return kNoEstimate[no_eta] ?? 'unknown';
  const half = eta.p50_s < 1 ? 'now' : `in ${span(eta.p50_s)}`;
  return eta.p90_s === undefined ? `${half}, or much later` : `${half}, 9 of 10 within ${span(Math.max(1, eta.p90_s))}`;
}

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
      ['Next start', start],
    ], { pageSize: 20, empty: 'nothing waits' });
    this.figures = el('p', { class: 'quiet' });
    this.root = el('div', {}, this.table.root, this.figures);
  }

  concerns(event) {
    return event.framework !== undefined;
  }
  async read() {
    let calibration;
    const rows = await list('pending', 'asks', { seen: (page) => { calibration = page.calibration; } });
    this.table.set(rows);
    this.figures.textContent = calibration?.starts
      ? `Of ${calibration.starts} starts that were forecast, ${percent(calibration.below_p90 / calibration.starts)} were within the time that 9 of 10 should be.`
      : '';
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
