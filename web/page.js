// The page: which view is shown, when it is read anew, and whether the master is heard. A view has
// {name, title, read()}: `read` fetches what it shows and shows it; it is called every two seconds
// at most, less often if that takes long, and soon after an event that concerns it.

import { Events, Refusal, beginSession, get, keyOfLink } from './api.js';
import { el, put } from './dom.js';
import { clock } from './amounts.js';
import { AccessView } from './access_view.js';
import { AppsView } from './apps_view.js';
import { ClusterView } from './cluster_view.js';
import { EventsView } from './events_view.js';
import { FrameworksView } from './frameworks_view.js';
import { HistoryView, MastersView } from './history_view.js';
import { RolesView } from './roles_view.js';
import { TasksView } from './tasks_view.js';
import { WaitingView } from './waiting_view.js';

const kReadEvery = 2_000;
const kRestFactor = 10;  // reading takes at most a tenth of the time
const kAfterEvent = 300;

const main = document.getElementById('main');
const connection = document.getElementById('connection');

const views = [ClusterView, RolesView, FrameworksView, WaitingView, TasksView, HistoryView, AppsView,
  MastersView, AccessView, EventsView]
  .map((View) => new View());
let shown = null;
const trouble = el('p', { class: 'error', role: 'alert' });

// ---- Whether the master is heard.

const heard = { stream: false, reads: true, since: Date.now() / 1000, why: '' };

function tell() {
  const isLive = heard.stream && heard.reads;
  const words = isLive ? 'live' : `not connected since ${clock(heard.since)}; trying again${heard.why ? `: ${heard.why}` : ''}`;
  // A screen reader hears changes only.
  if (connection.textContent !== words) connection.textContent = words;
  connection.classList.toggle('lost', !isLive);
}

function hear(part, isHeard, why = '') {
  if (heard.stream && heard.reads && !isHeard) heard.since = Date.now() / 1000;
  heard[part] = isHeard;
  heard.why = isHeard ? '' : why;
  tell();
}

// ---- Reading.

let timer = 0;
let isReading = false;
let isAskedAgain = false;

function soon(wait) {
  clearTimeout(timer);
  timer = setTimeout(read, wait);
}

async function read() {
  if (isReading) {
    isAskedAgain = true;
    return;
  }
  if (document.hidden) return soon(kReadEvery);
  isReading = true;
  const view = shown;
  const begin = performance.now();
  try {
    await view.read();
    hear('reads', true);
    say('');
  } catch (error) {
    // Whatever it is, the page goes on; what is no refusal is a mistake of ours.
    if (!(error instanceof Refusal)) console.error(error);
    if (error.status === 401) return fail(error);
    const isAway = error instanceof Refusal && [0, 502, 503, 504].includes(error.status);
    if (isAway) hear('reads', false, error.message);
    if (view === shown) say(isAway ? '' : `This view is not up to date: ${error.words ?? error}`);
  } finally {
    isReading = false;
  }
  const took = performance.now() - begin;
  const isOther = view !== shown || isAskedAgain;
  isAskedAgain = false;
  return soon(isOther ? 0 : Math.max(view.readEvery ?? kReadEvery, took * kRestFactor));
}

// What is said above the view: why it may be wrong.
function say(words) {
  if (trouble.textContent !== words) trouble.textContent = words;
  trouble.hidden = !words;
}

// Shares are kept since the page was opened, whatever is shown.
function sampleRoles() {
  if (!document.hidden) views[1].sample().catch(() => {});
  setTimeout(sampleRoles, 5_000);
}

// ---- Which view.

function navigate() {
  const [name, ...rest] = location.hash.replace(/^#\//, '').split('/').map(decodeURIComponent);
  const view = views.find((one) => one.name === name) ?? views[0];
  const isOther = view !== shown;
  if (isOther) {
    shown?.hide?.();
    shown = view;
    say('');
    put(main, el('h2', { class: 'unseen' }, view.title), trouble, view.root);
    document.title = `${view.title} – Proffer`;
    for (const link of document.querySelectorAll('nav a')) {
      if (link.hash === `#/${view.name}`) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
  }
  view.open?.(rest.join('/'));
  if (isOther && navigate.isLater) main.focus();
  navigate.isLater = true;
  read();
}

function fail(error) {
  clearTimeout(timer);
  put(main, el('p', { class: 'error', role: 'alert' }, error.words));
  connection.textContent = 'no session';
}

// A browser does not load a page again if only the part behind # differs: a new link's key would
// stay unused.
let hasBegun = false;
addEventListener('hashchange', () => {
  if (keyOfLink()) location.reload();
  else if (hasBegun) navigate();
});

async function begin() {
  try {
    await beginSession();
    await get('/v1/status');
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.status === 401 || error.status === 403) return fail(error);
    hear('reads', false, error.message);
  }
  put(document.getElementById('views'), views.map((view) => el('li', {}, el('a', { href: `#/${view.name}` }, view.title))));
  document.addEventListener('changed', () => soon(0));
  document.addEventListener('visibilitychange', () => { if (!document.hidden) soon(0); });
  hasBegun = true;
  navigate();
  sampleRoles();
  new Events('?last=200', {
    event: (event) => {
      for (const view of views) view.happened?.(event);
      if (shown.concerns?.(event)) soon(kAfterEvent);
    },
    gap: (gap) => views.at(-1).missed(gap),
    live: () => hear('stream', true),
    lost: (error) => hear('stream', false, error instanceof Refusal ? error.message : ''),
  });
}

begin();
