// Who may connect, and what tasks may know: keys of agents and users, and secrets. A key is shown by
// its public half; the value of a secret is never told.

import { list, post } from './api.js';
import { Table, el, facts, put, question } from './dom.js';
import { moment } from './amounts.js';

const link = (kind, name) => `#/access/${kind}/${encodeURIComponent(name)}`;
const hex = (text) => [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('');

export class AccessView {
  name = 'access';
  title = 'Keys and secrets';

  constructor() {
    this.keys = [];
    this.secrets = [];
    this.chosen = ['', ''];
    this.detail = el('section', { class: 'panel', hidden: true, 'aria-label': 'What is chosen' });
    this.keyTable = new Table('Keys and join tokens', [
      ['Key', (k) => el('a', { href: link('key', k.key) }, k.key)],
      ['Of', (k) => `${k.kind} ${k.name}`],
      ['Runs as', (k) => k.runs_as ?? ''],
      ['Since', (k) => moment(k.since_s)],
      ['By', (k) => k.by ?? ''],
      ['Token until', (k) => moment(k.token_until_s)],
    ], { empty: 'none: this cluster is of one machine, or has no keys yet' });
    this.secretTable = new Table('Secrets', [
      ['Secret', (s) => el('a', { href: link('secret', `${s.owner}/${s.name}`) }, s.name)],
      ['Owner', (s) => s.owner],
      ['Since', (s) => moment(s.since_s)],
      ['Readable', (s) => (s.readable === false ? 'no: the master has another key' : 'yes')],
    ], { empty: 'none that you may see' });
    this.root = el('div', {}, this.detail, this.keyTable.root, this.secretTable.root, el('p', { class: 'controls' },
      el('button', { type: 'button', id: 'set-secret', onclick: () => this.askSet() }, 'Set a secret of yours…')));
  }

  open(rest) {
    const slash = rest.indexOf('/');
    this.chosen = slash < 0 ? ['', ''] : [rest.slice(0, slash), rest.slice(slash + 1)];
    this.showChosen();
  }
  concerns(event) {
    return event.event.startsWith('key') || event.event.startsWith('secret');
  }
  async read() {
    [this.keys, this.secrets] = await Promise.all([list('keys', 'keys'), list('secrets', 'secrets')]);
    this.keyTable.set(this.keys);
    this.secretTable.set(this.secrets);
    this.showChosen();
  }

  showChosen() {
    const [kind, name] = this.chosen;
    const row = kind === 'key' ? this.keys.find((one) => one.key === name)
      : this.secrets.find((one) => `${one.owner}/${one.name}` === name);
    this.detail.hidden = !kind || !row;
    const seen = JSON.stringify([kind, row ?? null]);
    if (this.detail.hidden || seen === this.seen) return;
    this.seen = seen;
    const close = el('a', { href: '#/access' }, 'Close');
    if (kind === 'key') {
      put(this.detail, el('h3', {}, `Key of ${row.kind} ${row.name}`),
        facts([['Key', row.key], ['Since', moment(row.since_s)], ['By', row.by ?? ''], ['Replaces', row.replaces ?? '']]),
        el('p', { class: 'controls' },
          el('button', { type: 'button', id: 'revoke', onclick: () => this.askRevoke(row) }, 'Revoke…'), close));
    } else {
      put(this.detail, el('h3', {}, `Secret ${row.name} of ${row.owner}`), el('p', { class: 'controls' },
        el('button', { type: 'button', id: 'remove-secret', onclick: () => this.askRemove(row) }, 'Remove…'), close));
    }
  }

  askRevoke(row) {
    question({
      title: `Revoke the key of ${row.kind} ${row.name}?`,
      text: 'Its connections end now, and it cannot come back with this key. Other keys of it stay.',
      yes: `Revoke the key of ${row.name}`,
      sure: row.name,
      act: (_, key) => post('/v1/key_revoke', { key: row.key }, key),
    });
  }
  askSet() {
    question({
      title: 'Set a secret?',
      text: 'Your tasks may have it from their next launch on. One of the same name is replaced. Its value is not shown again.',
      yes: 'Set it',
      fields: [{ name: 'name', label: 'Name' }, { name: 'value', label: 'Value', isConcealed: true }],
      act: ({ name, value }, key) => post('/v1/secret_set', { name: name.trim(), value_hex: hex(value) }, key),
    });
  }
  askRemove({ owner, name }) {
    question({
      title: `Remove secret ${name} of ${owner}?`,
      text: 'Tasks that run keep what they were given; those that want it from now on are refused.',
      yes: `Remove ${name}`,
      act: (_, key) => post('/v1/secret_remove', { owner, name }, key),
    });
  }
}
