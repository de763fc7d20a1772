import { el } from './dom.js';
import { clock } from './amounts.js';

const kKept = 500;
const kFirst = ['framework', 'task', 'offer', 'agent', 'state', 'reason', 'user', 'role'];
const kOwn = new Set(['seq', 'time_s', 'event', 'level']);

function fieldsOf(event) {
  const names = Object.keys(event).filter((name) => !kOwn.has(name) && event[name] !== '');
  const rank = (name) => (kFirst.indexOf(name) + kFirst.length + 1) % (kFirst.length + 1);
  return names.sort((a, b) => rank(a) - rank(b)).map((name) => `${name}=${event[name]}`).join(' ');
}

// A line as `proffer events` prints it.
export function eventWords(event) {
  return el('li', { class: event.level === 'info' || event.level === 'detail' ? null : event.level, 'data-seq': event.seq },
    el('time', {}, clock(event.time_s)), `${event.event}  ${fieldsOf(event)}`);
}

export class EventsView {
  name = 'events';
  title = 'Events';

  constructor() {
    this.kept = [];
    this.filter = el('input', { type: 'search', size: 20, oninput: () => this.show() });
    this.pause = el('input', { type: 'checkbox', onchange: () => this.show() });
    this.list = el('ol', { class: 'events', 'aria-label': 'Events, the newest first' });
    this.root = el('div', {}, el('div', { class: 'controls' },
      el('label', {}, 'Line contains ', this.filter), el('label', {}, this.pause, ' hold still')),
    this.list, el('p', { class: 'note' }, `The newest ${kKept}. \`proffer events\` shows all that the master keeps.`));
  }

  happened(event) {
    this.kept.unshift(event);
    if (this.kept.length > kKept) this.kept.pop();
    this.soon();
  }
  missed(gap) {
    this.happened({ ...gap, event: `gap: events may be missing from ${gap.seq} to before ${gap.until}` });
  }
  soon() {
    if (this.asked || !this.list.isConnected) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.show();
    });
  }
  read() {
    this.soon();
  }
  show() {
    if (this.pause.checked) return;
    const part = this.filter.value;
    const shown = this.kept.filter((event) => !part || `${event.event}  ${fieldsOf(event)}`.includes(part));
    // Only what is new is made: the list is in the order of time.
    const top = this.list.firstChild?.dataset.seq;
    const isSame = this.shownWith === part && top !== undefined;
    const fresh = isSame ? shown.findIndex((event) => event.seq === top) : -1;
    if (fresh >= 0) this.list.prepend(...shown.slice(0, fresh).map(eventWords));
    else this.list.replaceChildren(...shown.map(eventWords));
    while (this.list.children.length > shown.length) this.list.lastChild.remove();
    this.shownWith = part;
  }
}
