// Ended tasks, the newest first, as the master that leads kept them, or another one; gaps are told.

import { get, list } from './api.js';
import { Table, el } from './dom.js';
import { amounts, moment, span } from './amounts.js';

const kRows = 50;
const kStates = ['finished', 'failed', 'killed', 'lost', 'gone', 'refused'];

export class HistoryView {
  name = 'history';
  title = 'History';
  readEvery = 10_000;  // it is read from a disk

  constructor() {
    this.pages = [''];  // where each page begins
    const again = () => this.first();
    this.fields = Object.fromEntries([['framework', 12], ['role', 12], ['user', 8]].map(([name, size]) =>
      [name, el('input', { type: 'search', size, onchange: again })]));
    this.state = el('select', { onchange: again }, ['', ...kStates].map((value) => el('option', { value }, value || 'any')));
    this.master = el('select', { onchange: again }, el('option', { value: '' }, 'the leader'));
    this.gaps = el('ul', { class: 'note' });
    this.table = new Table('Ended tasks', [
      ['Task', (t) => `${t.framework}/${t.task}`],
      ['State', (t) => `${t.state}${t.reason && t.reason !== 'none' ? ` (${t.reason})` : ''}`],
      ['Role', (t) => t.role],
      ['User', (t) => t.user],
      ['Agent', (t) => t.agent],
      ['Had', (t) => amounts(t.amounts)],
      ['Launched', (t) => moment(t.launched_at_s)],
      ['Ended', (t) => moment(t.ended_at_s)],
      ['Ran', (t) => (t.launched_at_s ? span(t.ended_at_s - t.launched_at_s) : '')],
      ['Command', (t) => t.command ?? '', 'wide'],
    ], { pageSize: kRows, empty: 'no task is like that' });
    this.earlier = el('button', { type: 'button', onclick: () => this.turn(1) }, 'Tasks that ended earlier');
    this.later = el('button', { type: 'button', onclick: () => this.turn(-1) }, 'Tasks that ended later');
    this.root = el('div', {}, el('div', { class: 'controls' },
      el('label', {}, 'Framework ', this.fields.framework), el('label', {}, 'Role ', this.fields.role),
      el('label', {}, 'User ', this.fields.user), el('label', {}, 'State ', this.state),
      el('label', {}, 'Seen by ', this.master)),
    this.gaps, this.table.root, el('div', { class: 'controls' }, this.later, this.earlier));
  }

  first() {
    this.pages = [''];
    this.readSoon();
  }
  turn(by) {
    if (by < 0) this.pages.pop();
    else if (this.next) this.pages.push(this.next);
    this.readSoon();
  }
  readSoon() {
    this.next = '';
    this.later.disabled = true;
    this.earlier.disabled = true;
    document.dispatchEvent(new Event('changed'));
  }

  async read() {
    const query = new URLSearchParams({ limit: kRows });
    for (const [name, input] of Object.entries({ ...this.fields, state: this.state, master: this.master })) {
      if (input.value.trim()) query.set(name, input.value.trim());
    }
    const place = this.pages.at(-1);
    if (place) query.set('before', place);
    const page = await get(`/v1/history?${query}`);
    if (place !== this.pages.at(-1)) return;  // another page is wanted by now
    this.next = page.next ?? '';
    this.table.set(page.tasks ?? []);
    this.later.disabled = this.pages.length === 1;
    this.earlier.disabled = !this.next;
    const gaps = (page.gaps ?? []).map((gap) => `from ${moment(gap.from_s)} to ${moment(gap.until_s)} tasks may be missing`);
    const told = [...gaps, ...(page.missing ?? []).map((one) => `what master ${one.master} saw is not in this list: choose it above`)];
    this.gaps.replaceChildren(...told.map((words) => el('li', {}, words)));
    await this.readMasters();
  }
  async readMasters() {
    const rows = (await get('/v1/masters')).masters.filter((one) => one.role !== 'leads' && one.keeps_history);
    const seen = JSON.stringify(rows.map((one) => one.id));
    if (seen === this.seen) return;
    this.seen = seen;
    const before = this.master.value;
    if (before && !rows.some((one) => one.id === before)) this.pages = [''];
    this.master.replaceChildren(el('option', { value: '' }, 'the leader'),
      ...rows.map((one) => el('option', { value: one.id, selected: one.id === before }, one.master)));
  }
}

// The masters, and the offers that are not answered yet.
export class MastersView {
  name = 'masters';
  title = 'Masters and offers';

  constructor() {
    this.masters = new Table('Masters', [
      ['Master', (m) => m.master],
      ['Role', (m) => m.role],
      ['Since', (m) => moment(m.since_s)],
      ['Led', (m) => (m.led_since_s ? `${moment(m.led_since_s)} to ${m.led_until_s ? moment(m.led_until_s) : 'now'}` : '')],
      ['Epochs', (m) => (m.last_epoch ? `${m.first_epoch} to ${m.last_epoch}` : ''), 'number'],
      ['Keeps history', (m) => (m.keeps_history ? 'yes' : 'no')],
    ], { empty: 'none is known' });
    this.offers = new Table('Offers that are not answered yet', [
      ['Offer', (o) => o.offer, 'number'],
      ['Framework', (o) => el('a', { href: `#/frameworks/${encodeURIComponent(o.framework)}` }, o.framework)],
      ['Agent', (o) => el('a', { href: `#/cluster/${encodeURIComponent(o.agent)}` }, o.agent)],
      ['Resources', (o) => amounts(o.resources), 'wide'],
      ['Made', (o) => moment(o.made_s)],
      ['Ends', (o) => moment(o.expires_s)],
    ], { empty: 'all are answered' });
    this.root = el('div', {}, this.masters.root, this.offers.root);
  }

  concerns(event) {
    return event.event.startsWith('offer');
  }
  async read() {
    const [told, offers] = await Promise.all([get('/v1/masters'), list('offers', 'offers', { max: 5_000 })]);
    this.masters.set(told.masters);
    this.offers.set(offers);
  }
}
