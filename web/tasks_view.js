// Tasks, a page of them at a time, as the master gives them; and the story of one: what became of
// it, and its output as it grows.

import { follow, get, post } from './api.js';
import { Table, el, facts, put, question } from './dom.js';
import { amounts, moment } from './amounts.js';
import { Blame } from './blame.js';
import { eventWords } from './events_view.js';

const kRows = 50;
const kEventsShown = 200;
const kLogCharsMax = 400_000;  // twice as much as `proffer ui` begins with

const reason = (task) => (task.reason && task.reason !== 'none' ? task.reason : '');

export class TasksView {
  name = 'tasks';
  title = 'Tasks';

  constructor() {
    this.pages = [''];  // where each page begins
    this.chosen = '';
    this.prefix = el('input', { type: 'search', size: 24, onchange: () => this.first() });
    this.ended = el('input', { type: 'checkbox', onchange: () => this.first() });
    this.story = el('section', { class: 'panel', hidden: true, 'aria-label': 'The chosen task' });
    this.table = new Table('Tasks', [
      ['Task', (t) => el('a', { href: `#/tasks/${encodeURIComponent(`${t.framework}/${t.task}`)}` }, `${t.framework}/${t.task}`)],
      ['State', (t) => `${t.state}${reason(t) && ` (${reason(t)})`}`],
      ['Agent', (t) => t.agent],
      ['Role', (t) => t.role],
      ['User', (t) => t.user],
      ['Has', (t) => amounts(t.resources)],
      ['Since', (t) => moment(t.changed_at_s)],
      ['Command', (t) => t.command ?? '', 'wide'],
    ], { pageSize: kRows, empty: 'no task is like that' });
    this.earlier = el('button', { type: 'button', onclick: () => this.turn(-1) }, 'Earlier tasks');
    this.later = el('button', { type: 'button', onclick: () => this.turn(1) }, 'Later tasks');
    this.root = el('div', {}, this.story, el('div', { class: 'controls' },
      el('label', {}, 'Name begins with ', this.prefix), el('label', {}, this.ended, ' also ended ones')),
    this.table.root, el('div', { class: 'controls' }, this.earlier, this.later));
  }

  // Of one task its name, of those whose names begin so ?NAME.
  open(rest) {
    if (rest.startsWith('?')) {
      this.prefix.value = rest.slice(1);
      this.pages = [''];
      rest = '';
    }
    // Who comes back from another view sees what happened meanwhile.
    if (rest === this.chosen && this.isOpen) return;
    this.hide();
    this.isOpen = true;
    this.chosen = rest;
    this.story.hidden = !rest;
    if (rest) this.begin();
  }
  hide() {
    this.isOpen = false;
    this.endLog();
  }
  endLog() {
    this.log?.abort();
    this.log = null;
  }
  first() {
    this.pages = [''];
    this.read();
  }
  turn(by) {
    if (by < 0) this.pages.pop();
    else if (this.next) this.pages.push(this.next);
    this.read();
  }
  concerns(event) {
    return event.event.startsWith('task ');
  }
  happened(event) {
    if (!this.chosen || !this.isOpen || `${event.framework}/${event.task}` !== this.chosen) return;
    if ([...this.events.children].some((one) => one.dataset.seq === event.seq)) return;
    this.events.append(eventWords(event));
    while (this.events.children.length > kEventsShown) this.events.firstChild.remove();
  }

  async read() {
    const query = new URLSearchParams({ limit: kRows, prefix: this.prefix.value, after: this.pages.at(-1) });
    if (this.ended.checked) query.set('ended', '1');
    const page = await get(`/v1/tasks?${query}`);
    this.next = page.next ?? '';
    this.table.set(page.tasks);
    this.earlier.disabled = this.pages.length === 1;
    this.later.disabled = !this.next;
    if (this.chosen) await this.readStory();
    if (this.chosen) await this.blame.read(`task=${encodeURIComponent(this.chosen)}`);
  }

  begin() {
    this.seen = '';
    this.blame = new Blame();
    this.what = el('div');
    this.why = el('p', { class: 'note' });
    this.kill = el('button', { type: 'button', id: 'kill', onclick: () => this.ask() }, 'Kill…');
    this.events = el('ol', { class: 'events' });
    this.text = el('pre', { class: 'log', tabindex: 0, 'aria-label': 'Output' });
    const kinds = ['stdout', 'stderr'].map((file, i) => el('label', {},
      el('input', { type: 'radio', name: 'file', value: file, checked: i === 0, onchange: () => this.readLog(file) }),
      ['standard output', 'standard error'][i]));
    put(this.story, el('h3', {}, `Task ${this.chosen}`), this.why, this.what,
      el('p', { class: 'controls' }, this.kill, el('a', { href: '#/tasks' }, 'Close')),
      this.blame.root, el('h3', {}, 'What happened'), this.events,
      el('h3', {}, 'Output'), el('div', { class: 'controls', role: 'radiogroup', 'aria-label': 'Which output' }, kinds), this.text);
    const list = this.events;
    get(`/v1/events?task=${encodeURIComponent(this.chosen)}&last=${kEventsShown}`).then((page) => {
      // Those that came meanwhile stay, behind it.
      const told = new Set(page.events.map((event) => event.seq));
      const later = [...list.children].filter((one) => !told.has(one.dataset.seq));
      put(list, page.events.map(eventWords), later);
    }, (error) => list.prepend(el('li', { class: 'error' }, error.words ?? String(error))));
    this.readLog('stdout');
  }

  async readStory() {
    const task = this.chosen;
    let told;
    try {
      told = await get(`/v1/explain?task=${encodeURIComponent(task)}`);
    } catch (error) {
      this.why.textContent = error.words ?? String(error);
      return;
    }
    if (task !== this.chosen) return;
    this.why.textContent = told.answer;
    const row = told.task ?? {};
    const isOver = ['finished', 'failed', 'killed', 'lost', 'gone', 'dropped', 'error'].includes(row.state);
    this.kill.disabled = isOver;
    const seen = JSON.stringify(row);
    if (seen === this.seen) return;
    this.seen = seen;
    put(this.what, facts([
      ['State', row.state ?? ''], ['Reason', reason(row)], ['Said', row.message ?? ''],
      ['Agent', row.agent ?? ''], ['Role', row.role ?? ''], ['User', row.user ?? ''],
      ['Has', amounts(row.resources)], ['Command', row.command ?? ''],
      ['Launched', moment(row.launched_at_s)], ['Changed', moment(row.changed_at_s)],
      ['Exit code', row.state === 'finished' || row.state === 'failed' ? String(row.exit_code ?? '') : ''],
    ]));
  }

  async readLog(file) {
    this.endLog();
    const log = new AbortController();
    this.log = log;
    const text = this.text;
    text.textContent = '';
    let length = 0;
    const add = (part) => {
      const isAtEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 8;
      text.append(part);
      length += part.length;
      if (length > kLogCharsMax) {
        text.textContent = `[the beginning is left out; \`proffer logs ${this.chosen}\` shows all]\n`
          + text.textContent.slice(-kLogCharsMax / 2);
        length = text.textContent.length;
      }
      if (isAtEnd) text.scrollTop = text.scrollHeight;
    };
    try {
      await follow(`/logs?${new URLSearchParams({ task: this.chosen, file })}`, log.signal, add);
    } catch (error) {
      if (error.name !== 'AbortError' && this.log === log) add(`\n(${error.words ?? 'the agent is not heard any more'})`);
    }
  }

  ask() {
    const task = this.chosen;
    question({
      title: `Kill task ${task}?`,
      text: 'It is told to end, and is ended by force after its grace period. Its framework may launch another.',
      yes: `Kill ${task}`,
      act: (_, key) => post('/v1/kill', { task }, key),
    });
  }
}
