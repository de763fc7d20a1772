// Apps of the scheduler of services, and jobs of the batch scheduler, as they tell of them.

import { Refusal, request } from './api.js';
import { Table, el } from './dom.js';
import { moment } from './amounts.js';

const kPagesMax = 20;

async function rowsOf(framework, name) {
  const rows = [];
  let after = '';
  for (let i = 0; i < kPagesMax; ++i) {
    const page = await request(framework, { verb: 'list', ...(after ? { after } : {}) });
    const more = page?.[name] ?? [];
    if (!Array.isArray(more)) {
      throw new Refusal(200, { code: 'unreadable', message: `its "${name}" is no list` });
    }
    for (const row of more) rows.push(row);
    after = page.next ?? '';
    if (!after) break;
  }
  return rows;
}

function progress(done, total, words) {
  const bar = el('progress', { max: Math.max(1, total), value: done, 'aria-label': words });
  return el('span', {}, bar, ` ${words}`);
}

function doneOf(job) {
  if (job.array) return progress(job.array.done, job.array.total, `${job.array.done} of ${job.array.total} elements`);
  const done = (job.map?.done ?? 0) + (job.reduce?.done ?? 0);
  const total = (job.map?.total ?? 0) + (job.reduce?.total ?? 0);
  return progress(done, total, `${done} of ${total} tasks`);
}

export class AppsView {
  name = 'apps';
  title = 'Apps and jobs';
  readEvery = 10_000;  // each reading is a request to a scheduler, and an event

  constructor() {
    this.told = { service: el('p', { class: 'note' }), batch: el('p', { class: 'note' }) };
    this.apps = new Table('Apps', [
      ['App', (a) => a.app],
      ['Owner', (a) => a.owner ?? ''],
      ['State', (a) => a.state],
      ['Version', (a) => a.version, 'number'],
      ['Ready', (a) => progress(a.ready, a.instances, `${a.ready} of ${a.instances} instances`)],
      ['Of an earlier version', (a) => a.outdated, 'number'],
      ['Why', (a) => a.why ?? a.failed ?? '', 'wide'],
    ], { empty: 'no app' });
    this.jobs = new Table('Jobs that have not ended', [
      ['Job', (j) => j.job],
      ['Owner', (j) => j.owner ?? ''],
      ['Role', (j) => j.role],
      ['Phase', (j) => j.phase],
      ['Done', doneOf],
      ['Submitted', (j) => moment(j.submitted_at_s)],
      ['Note', (j) => j.error ?? j.note ?? '', 'wide'],
    ], { empty: 'no job' });
    this.root = el('div', {}, el('h3', {}, 'Apps'), this.told.service, this.apps.root,
      el('h3', {}, 'Jobs'), this.told.batch, this.jobs.root);
  }

  concerns() {
    return false;
  }
  async read() {
    for (const [framework, name, table] of [['service', 'apps', this.apps], ['batch', 'jobs', this.jobs]]) {
      try {
        table.set(await rowsOf(framework, name));
        this.told[framework].textContent = '';
      } catch (error) {
        // A framework of that name may answer anything: the other one is shown all the same.
        if (error.status === 0 || error.status === 401) throw error;
        this.told[framework].textContent = error.status === 404
          ? `No scheduler named ${framework} is connected.`
          : `The framework named ${framework} tells no ${name}: ${error.words ?? error}`;
      }
    }
  }
}
