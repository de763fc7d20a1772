import { get, list, post } from './api.js';
import { Table, el, facts, put, question } from './dom.js';
import { amounts, dominant, moment, percent, resourcesText } from './amounts.js';
import { AgentMap } from './map.js';

function figures(pairs) {
  return pairs.map(([name, value, key]) => el('div', {}, el('dt', {}, name), el('dd', { 'data-figure': key }, String(value))));
}

// What the page says of an agent's state, in the words of `proffer agents`.
function described(row) {
  const { share, kind } = dominant(row.allocated, row.total);
  const isLost = row.state !== 'connected';
  const isDrained = row.drained_by_s > 0;
  return { name: row.agent, share, kind, isLost, isDrained, row,
    says: `${row.state}${isDrained ? ', drained' : ''}${row.trouble ? ', in trouble' : ''}` };
}

export class ClusterView {
  name = 'cluster';
  title = 'Cluster';

  constructor() {
    this.agents = [];
    this.chosen = '';
    this.figures = el('dl', { class: 'figures' });
    this.map = new AgentMap((name) => { location.hash = `#/cluster/${encodeURIComponent(name)}`; });
    this.key = el('ul', { class: 'key' }, ['use-none', 'use-full', 'drained', 'lost'].map((colour, i) => {
      const sign = el('b');
      sign.style.background = `var(--${colour})`;
      return el('li', {}, sign, ['unused', 'dominant resource used up', 'drained (stripe below)', 'away (line across)'][i]);
    }));
    this.detail = el('section', { class: 'panel', hidden: true, 'aria-label': 'The chosen agent' });
    this.filter = el('input', { type: 'search', size: 16, oninput: () => this.show() });
    this.state = el('select', { onchange: () => this.show() },
      [['all', 'all'], ['connected', 'connected'], ['drained', 'drained'], ['away', 'away']]
        .map(([value, words]) => el('option', { value }, words)));
    this.table = new Table('Agents', [
      ['Agent', (a) => el('a', { href: `#/cluster/${encodeURIComponent(a.name)}` }, a.name)],
      ['State', (a) => a.says],
      ['Dominant use', (a) => `${percent(a.share)}${a.kind ? ` of ${a.kind}` : ''}`, 'number'],
      ['Used', (a) => amounts(a.row.allocated) || 'nothing', 'wide'],
      ['Free', (a) => amounts(a.row.free) || 'nothing', 'wide'],
      ['Tasks', (a) => a.row.tasks, 'number'],
    ], { empty: 'no agent is like that' });
    this.brake = el('p', { class: 'controls', hidden: true });
    this.root = el('div', {}, this.figures, this.brake, this.map.root, this.key, this.detail,
      el('div', { class: 'controls' }, el('label', {}, 'Name contains ', this.filter),
        el('label', {}, 'State ', this.state)), this.table.root);
  }

  open(name) {
    this.chosen = name;
    this.showChosen();
  }

  concerns(event) {
    return event.agent !== undefined || event.event.startsWith('task ');
  }

  async read() {
    const [status, rows] = await Promise.all([get('/v1/status'), list('agents', 'agents')]);
    this.status = status;
    this.agents = rows.map(described);
    put(this.figures, figures([
      ['Agents connected', status.agents_connected, 'agents_connected'],
      ['Agents away', status.agents_disconnected + status.agents_unreachable, 'agents_away'],
      ['Frameworks', status.frameworks_connected, 'frameworks_connected'],
      ['Tasks running', status.tasks_running, 'tasks_running'],
      ['Tasks staging', status.tasks_staging, 'tasks_staging'],
      ['Tasks ended', status.tasks_ended, 'tasks_ended'],
      ['In use', amounts(status.allocated) || 'nothing', 'allocated'],
      ['Of', amounts(status.total) || 'nothing', 'total'],
    ]));
    this.map.set(this.agents);
    this.showBrake(status.agents_held_back ?? 0);
    this.show();
    this.showChosen();
  }

  showBrake(heldBack) {
    this.brake.hidden = heldBack === 0;
    if (heldBack === this.heldBack) return;
    this.heldBack = heldBack;
    put(this.brake, el('span', { class: 'error' }, `${heldBack} agents are silent and not given up: too many at once.`),
      el('button', { type: 'button', id: 'lift-brake', onclick: () => this.askLift() }, 'Give them up…'));
  }

  show() {
    const part = this.filter.value;
    const is = { all: () => true, connected: (a) => !a.isLost, drained: (a) => a.isDrained, away: (a) => a.isLost }[this.state.value];
    this.table.set(this.agents.filter((agent) => is(agent) && agent.name.includes(part)));
  }

  showChosen() {
    const agent = this.agents.find(({ name }) => name === this.chosen);
    this.detail.hidden = !this.chosen;
    const seen = JSON.stringify([this.chosen, agent?.row]);
    if (this.detail.hidden || seen === this.seen) return;
    this.seen = seen;
    if (!agent) {
      put(this.detail, el('h3', {}, `Agent ${this.chosen}`), el('p', {}, this.status ? 'The master knows no such agent.' : 'reading'));
      return;
    }
    const { row } = agent;
    put(this.detail, el('h3', {}, `Agent ${agent.name}`), facts([
      ['State', agent.says], ['In trouble', row.trouble ?? ''],
      ['Drained, to be empty by', agent.isDrained ? moment(row.drained_by_s) : ''],
      ['Has', amounts(row.total)], ['Used', amounts(row.allocated) || 'nothing'],
      ['Offered', amounts(row.offered) || 'nothing'], ['Free', amounts(row.free) || 'nothing'],
      ['Tasks', String(row.tasks)], ['Registered', moment(row.registered_at_s)],
      ['Attributes', Object.entries(row.attributes ?? {}).map(([name, value]) => `${name}=${value}`).join(', ')],
      ['Limits', row.limits ?? ''],
    ]), (row.reserved ?? []).length > 0 ? el('ul', { class: 'reserved', 'aria-label': 'Reserved' }, row.reserved.map((one) => el('li', {},
      `${amounts(one.amounts) || 'nothing'} for role ${one.role}`,
      one.dynamic ? [' ', el('button', { type: 'button', class: 'unreserve', onclick: () => this.askUnreserve(agent, one) }, `Remove the reservation of ${one.role}…`)]
        : ' (by the agent itself)'))) : null, el('p', { class: 'controls' },
      agent.isDrained
        ? el('button', { type: 'button', id: 'undrain', onclick: () => this.ask(agent, 'undrain') }, 'Take the drain back…')
        : el('button', { type: 'button', id: 'drain', onclick: () => this.ask(agent, 'drain') }, 'Drain…'),
      el('button', { type: 'button', id: 'reserve', onclick: () => this.askReserve(agent) }, 'Reserve for a role…'),
      agent.isLost ? el('button', { type: 'button', id: 'gone', onclick: () => this.askGone(agent) }, 'Give it up for ever…') : null,
      el('a', { href: '#/cluster' }, 'Close')));
  }

  ask(agent, method) {
    const isDrain = method === 'drain';
    question({
      title: isDrain ? `Drain agent ${agent.name}?` : `Take the drain of agent ${agent.name} back?`,
      text: isDrain ? `Nothing new comes to it, and its ${agent.row.tasks} tasks are told to leave.` : 'Tasks may be launched on it again.',
      yes: isDrain ? `Drain ${agent.name}` : `Take back the drain of ${agent.name}`,
      act: (_, key) => post(isDrain ? '/v1/drain' : '/v1/undrain', { agent: agent.name }, key),
    });
  }
  askReserve(agent) {
    question({
      title: `Reserve resources of agent ${agent.name} for a role?`,
      text: 'Only the role and those below it are offered them from then on. What tasks use there now cannot be reserved.',
      yes: `Reserve on ${agent.name}`,
      fields: [
        { name: 'role', label: 'Role, as in ads/batch' },
        { name: 'resources', label: 'Resources, as in cpus:2;mem:1GiB' },
      ],
      act: ({ role, resources }, key) => post('/v1/reserve', { agent: agent.name, role: role.trim(), resources: resources.trim() }, key),
    });
  }
  askUnreserve(agent, { role, amounts: reserved }) {
    question({
      title: `Remove the reservation of role ${role} at agent ${agent.name}?`,
      text: 'All roles are offered it again. What tasks of the role use there cannot be given back.',
      yes: `Remove the reservation of ${role}`,
      fields: [{ name: 'resources', label: 'What is given back', value: resourcesText(reserved) }],
      act: ({ resources }, key) => post('/v1/unreserve', { agent: agent.name, role, resources: resources.trim() }, key),
    });
  }
  askGone(agent) {
    question({
      title: `Give agent ${agent.name} up for ever?`,
      text: `Do so only if its machine will never come back: its ${agent.row.tasks} tasks are told as gone, and their `
        + 'frameworks launch others. Should it come back, it is refused.',
      yes: `Give ${agent.name} up`,
      sure: agent.name,
      act: (_, key) => post('/v1/agent_gone', { agent: agent.name }, key),
    });
  }
  askLift() {
    question({
      title: 'Give the silent agents up?',
      text: 'More agents fell silent than may be given up in a period, as when a switch fails. If you go on, their tasks '
        + 'are lost to their frameworks, which launch others.',
      yes: 'Give them up',
      act: (_, key) => post('/v1/brake_lift', {}, key),
    });
  }
}
