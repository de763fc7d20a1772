import { get, list, post } from './api.js';
import { Table, el, facts, put, question } from './dom.js';
import { amounts, millionths, moment } from './amounts.js';
import { Blame } from './blame.js';

export const wanted = (framework) => (framework.asks ?? []).reduce((sum, ask) => sum + (ask.wanted ?? 0), 0);

export class FrameworksView {
  name = 'frameworks';
  title = 'Frameworks';

  constructor() {
    this.rows = [];
    this.chosen = '';
    this.detail = el('section', { class: 'panel', hidden: true, 'aria-label': 'The chosen framework' });
    this.filter = el('input', { type: 'search', size: 16, oninput: () => this.show() });
    this.table = new Table('Frameworks', [
      ['Framework', (f) => el('a', { href: `#/frameworks/${encodeURIComponent(f.framework)}` }, f.framework)],
      ['Role', (f) => f.role],
      ['User', (f) => f.user],
      ['State', (f) => `${f.state}${f.suppressed ? ', suppressed' : ''}`],
      ['Share', (f) => millionths(f.dominant_share_millionths), 'number'],
      ['Used', (f) => amounts(f.allocated) || 'nothing', 'wide'],
      ['Tasks', (f) => f.tasks, 'number'],
      ['Wanted', (f) => wanted(f), 'number'],
    ], { empty: 'no framework is like that' });
    this.root = el('div', {}, this.detail, el('div', { class: 'controls' },
      el('label', {}, 'Name, role or user contains ', this.filter)), this.table.root);
  }

  open(name) {
    this.chosen = name;
    this.showChosen();
  }
  concerns(event) {
    return event.framework !== undefined;
  }
  async read() {
    this.rows = await list('frameworks', 'frameworks');
    this.show();
    this.showChosen();
    if (!this.detail.hidden) await this.blame.read(`framework=${encodeURIComponent(this.chosen)}`);
  }
  show() {
    const part = this.filter.value;
    this.table.set(this.rows.filter((f) => [f.framework, f.role, f.user].some((text) => text?.includes(part))));
  }
  showChosen() {
    const framework = this.rows.find((row) => row.framework === this.chosen);
    this.detail.hidden = !framework;
    const seen = JSON.stringify(framework ?? null);
    if (!framework || seen === this.seen) return;
    this.seen = seen;
    if (this.blameOf !== framework.framework) this.blame = new Blame();
    this.blameOf = framework.framework;
    const why = el('p', { class: 'note' }, 'asking why');
    put(this.detail, el('h3', {}, `Framework ${framework.framework}`), why, facts([
      ['Role', framework.role], ['User', framework.user], ['State', framework.state],
      ['Used', amounts(framework.allocated) || 'nothing'], ['Offered', amounts(framework.offered) || 'nothing'],
      ['Tasks', String(framework.tasks)], ['Subscribed', moment(framework.subscribed_at_s)],
      ['Asks', (framework.asks ?? []).map((ask) => `${ask.ask || 'one'}: ${ask.wanted} of ${amounts(ask.shape)}`).join('; ')],
    ]), el('p', { class: 'controls' },
      el('a', { href: `#/tasks/${encodeURIComponent(`?${framework.framework}/`)}` }, 'Its tasks'),
      el('button', { type: 'button', id: 'kill-all', onclick: () => this.askKill(framework) }, 'Kill its tasks…'),
      el('button', { type: 'button', id: 'teardown', onclick: () => this.askTeardown(framework) }, 'End it for ever…'),
      el('a', { href: '#/frameworks' }, 'Close')), this.blame.root);
    get(`/v1/explain?framework=${encodeURIComponent(framework.framework)}`)
      .then((told) => { why.textContent = told.answer; }, (error) => { why.textContent = error.words ?? String(error); });
  }
  askKill(framework) {
    question({
      title: `Kill all tasks of framework ${framework.framework}?`,
      text: `Its ${framework.tasks} tasks end. Its scheduler may launch others.`,
      yes: `Kill the tasks of ${framework.framework}`,
      act: (_, key) => post('/v1/kill', { framework: framework.framework }, key),
    });
  }
  askTeardown(framework) {
    question({
      title: `End framework ${framework.framework} for ever?`,
      text: `Its ${framework.tasks} tasks end, and its scheduler is refused from now on.`,
      yes: `End ${framework.framework}`,
      sure: framework.framework,
      act: (_, key) => post('/v1/teardown', { framework: framework.framework }, key),
    });
  }
}
