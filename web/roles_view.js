import { get, list, post } from './api.js';
import { Table, el, facts, put, question } from './dom.js';
import { amounts, dominant, millionths, quota, quotaText } from './amounts.js';
import { Blame } from './blame.js';
import { Chart } from './chart.js';

const kRowsMax = 1_000;

// Use, what is borrowed of it, and marks for entitlement and limit, of the role's dominant kind.
function bar(role, total) {
  let { kind } = dominant(role.allocated, total);
  if (!kind) kind = dominant(role.entitlement, total).kind || 'cpus';
  const part = (of) => Math.min(1, (of?.[kind] ?? 0) / (total?.[kind] || 1));
  const use = part(role.allocated);
  const borrowed = Math.min(use, part(role.borrowed));
  const box = el('div', { class: 'bar', role: 'img',
    'aria-label': `${kind}: use ${(use * 100).toFixed(1)} %, borrowed ${(borrowed * 100).toFixed(1)} %, entitlement ${(part(role.entitlement) * 100).toFixed(1)} %` });
  const piece = (name, left, width) => {
    const one = el('i', { class: name });
    one.style.left = `${left * 100}%`;
    if (width !== null) one.style.width = `${width * 100}%`;
    box.append(one);
  };
  piece('', 0, use - borrowed);
  if (borrowed > 0) piece('borrowed', use - borrowed, borrowed);
  if (role.entitlement) piece('mark', Math.min(0.99, part(role.entitlement)), null);
  if (role.limit?.[kind] !== undefined) piece('mark', Math.min(0.99, part(role.limit)), null);
  return box;
}

export class RolesView {
  name = 'roles';
  title = 'Roles';

  constructor() {
    this.rows = [];
    this.chosen = '';
    this.chart = new Chart('Dominant shares of top roles since this page was opened');
    this.detail = el('section', { class: 'panel', hidden: true, 'aria-label': 'The chosen role' });
    this.key = el('ul', { class: 'key' }, [['accent', 'use'], ['borrowed', 'borrowed of it'], ['mark', 'entitlement, and limit']].map(([colour, words]) => {
      const sign = el('b');
      sign.style.background = `var(--${colour})`;
      return el('li', {}, sign, words);
    }));
    this.table = new Table('Roles, and those below them', [
      ['Role', (r) => {
        const link = el('a', { href: `#/roles/${encodeURIComponent(r.role)}` }, r.role.split('/').at(-1));
        link.style.paddingLeft = `${(r.role.split('/').length - 1) * 1.2}rem`;
        link.setAttribute('aria-label', r.role);
        return link;
      }],
      ['Weight', (r) => r.weight, 'number'],
      ['Share', (r) => millionths(r.dominant_share_millionths), 'number'],
      ['Use', (r) => bar(r, this.total)],
      ['Used', (r) => amounts(r.allocated) || 'nothing', 'wide'],
      ['Borrowed', (r) => amounts(r.borrowed) || 'nothing', 'wide'],
      ['Entitlement', (r) => amounts(r.entitlement) || 'nothing', 'wide'],
      ['Guarantee', (r) => (quota(r.guarantee) ? `${quota(r.guarantee)}${r.guarantee_met === false ? ' (not met)' : ''}` : 'none')],
      ['Limit', (r) => quota(r.limit) || 'none'],
      ['Frameworks', (r) => r.frameworks, 'number'],
    ], { empty: 'no role has a framework or settings' });
    this.root = el('div', {}, el('h3', {}, 'Shares over time'), this.chart.root, this.detail, this.key, this.table.root);
  }

  open(name) {
    this.chosen = name;
    this.showChosen();
  }
  concerns(event) {
    return event.event.startsWith('role') || event.event.startsWith('task ') || event.event.startsWith('framework');
  }

  async fetch() {
    const [rows, status] = await Promise.all([list('roles', 'roles', { max: kRowsMax }), get('/v1/status')]);
    this.rows = rows.sort((a, b) => (a.role < b.role ? -1 : 1));
    this.total = status.total;
    return status;
  }
  async sample() {
    const status = await this.fetch();
    const top = this.rows.filter(({ role }) => !role.includes('/'));
    this.chart.add(status.now_s, new Map(top.map((r) => [r.role, (r.dominant_share_millionths ?? 0) / 1_000_000])));
  }
  async read() {
    await this.fetch();
    this.table.set(this.rows);
    this.chart.draw();
    this.showChosen();
    if (!this.detail.hidden) await this.blame.read(`role=${encodeURIComponent(this.chosen)}`);
  }

  showChosen() {
    const role = this.rows.find((row) => row.role === this.chosen);
    this.detail.hidden = !role;
    const seen = JSON.stringify(role ?? null);
    if (!role || seen === this.seen) return;
    this.seen = seen;
    if (this.blameOf !== role.role) this.blame = new Blame();
    this.blameOf = role.role;
    const why = el('p', { class: 'note' }, 'asking why');
    put(this.detail, el('h3', {}, `Role ${role.role}`), why, facts([
      ['Weight', String(role.weight)], ['Share', millionths(role.dominant_share_millionths)],
      ['Used', amounts(role.allocated) || 'nothing'], ['Offered', amounts(role.offered) || 'nothing'],
      ['Borrowed', amounts(role.borrowed) || 'nothing'], ['Entitlement', amounts(role.entitlement) || 'nothing'],
      ['Guarantee', quota(role.guarantee) || 'none'], ['Limit', quota(role.limit) || 'none'],
      ['Users', (role.users ?? []).join(', ')],
    ]), el('p', { class: 'controls' },
      el('button', { type: 'button', id: 'set-role', onclick: () => this.askSet(role) }, 'Change its settings…'),
      el('button', { type: 'button', id: 'unset-role', onclick: () => this.askUnset(role) }, 'Remove its settings…'),
      el('a', { href: '#/roles' }, 'Close')), this.blame.root);
    get(`/v1/explain?role=${encodeURIComponent(role.role)}`)
      .then((told) => { why.textContent = told.answer; }, (error) => { why.textContent = error.words ?? String(error); });
  }

  askSet(role) {
    const before = { weight: String(role.weight), guarantee: quotaText(role.guarantee), limit: quotaText(role.limit),
      users: (role.users ?? []).join(', ') };
    question({
      title: `Change the settings of role ${role.role}?`,
      text: 'Its fair share among the roles beside it is in proportion to its weight. Its guarantee is given back to it '
        + 'by others; its limit is never exceeded. Amounts are as in cpus:10;mem:4GiB.',
      yes: `Change ${role.role}`,
      fields: [
        { name: 'weight', label: 'Weight, from 0.001 to 1000', value: before.weight },
        { name: 'guarantee', label: 'Guarantee; empty: none', value: before.guarantee },
        { name: 'limit', label: 'Limit; empty: none', value: before.limit },
        { name: 'users', label: 'Users that may begin frameworks in it; empty: those of the role above it', value: before.users },
      ],
      act: (values, key) => {
        // Only what was changed is sent: another operator may have set the rest meanwhile.
        const change = { role: role.role };
        for (const [name, value] of Object.entries(values)) if (value.trim() !== before[name]) change[name] = value.trim();
        if (Object.keys(change).length === 1) throw new Error('nothing was changed');
        if (change.weight !== undefined) {
          const weight = Number(change.weight);
          if (!Number.isFinite(weight) || change.weight === '') throw new Error(`"${change.weight}" is no number`);
          change.weight = weight;
        }
        if (change.users !== undefined) change.users = change.users.split(/[\s,]+/).filter((user) => user);
        return post('/v1/role_set', change, key);
      },
    });
  }
  askUnset(role) {
    question({
      title: `Remove the settings of role ${role.role}?`,
      text: 'It is as if it had never been set: what the flags of the master say of it counts again, or else weight 1, no '
        + 'guarantee, no limit, and the users of the role above it.',
      yes: `Remove the settings of ${role.role}`,
      act: (_, key) => post('/v1/role_set', { role: role.role, unset: true }, key),
    });
  }
}
