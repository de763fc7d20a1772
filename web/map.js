// The map of agents: a tile for each, on one canvas. Ten thousand tiles are drawn in some
// milliseconds, and only when something has changed.

import { el } from './dom.js';
import { percent } from './amounts.js';

const kTileMax = 28;
const kTileMin = 4;

// A colour of the style sheet as three numbers.
function colour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}
const mixed = (from, to, part) => `rgb(${from.map((value, i) => Math.round(value + (to[i] - value) * part)).join(' ')})`;

export class AgentMap {
  constructor(select) {
    this.agents = [];
    this.at = 0;
    this.select = select;
    this.canvas = el('canvas', { tabindex: 0, role: 'img',
      onkeydown: (event) => this.key(event), onclick: (event) => this.click(event),
      onfocus: () => this.soon(), onblur: () => this.soon() });
    this.told = el('p', { class: 'unseen', 'aria-live': 'polite' });
    this.root = el('div', {}, this.canvas, this.told);
    this.resized = new ResizeObserver(() => this.soon());
    this.resized.observe(this.canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.soon());
  }
  set(agents) {
    this.agents = agents;
    this.at = Math.min(this.at, Math.max(0, agents.length - 1));
    const count = (is) => agents.filter(is).length;
    this.canvas.setAttribute('aria-label', `Map of ${agents.length} agents: ${count((a) => a.isLost)} away, ` +
      `${count((a) => a.isDrained)} drained. Arrow keys move, Enter shows an agent; the table below has the same.`);
    this.soon();
  }
  soon() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
    });
  }
  layout() {
    const width = this.canvas.clientWidth || 300;
    const count = Math.max(1, this.agents.length);
    let tile = kTileMax;
    while (tile > kTileMin && Math.ceil(count / Math.floor(width / tile)) * tile > 420) --tile;
    const columns = Math.max(1, Math.floor(width / tile));
    return { width, tile, columns, height: Math.ceil(count / columns) * tile };
  }
  draw() {
    const { width, tile, columns, height } = this.layout();
    const scale = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.canvas.style.height = `${height}px`;
    }
    const on = this.canvas.getContext('2d');
    on.setTransform(scale, 0, 0, scale, 0, 0);
    on.clearRect(0, 0, width, height);
    const none = colour('--use-none');
    const full = colour('--use-full');
    const shades = Array.from({ length: 11 }, (_, i) => mixed(none, full, i / 10));
    const [lost, drained, mark] = ['--lost', '--drained', '--mark'].map((name) => mixed(colour(name), [0, 0, 0], 0));
    const side = tile > 8 ? tile - 2 : tile - 1;
    this.agents.forEach((agent, i) => {
      const x = (i % columns) * tile;
      const y = Math.floor(i / columns) * tile;
      on.fillStyle = agent.isLost ? lost : shades[Math.round(Math.min(1, agent.share) * 10)];
      on.fillRect(x, y, side, side);
      if (agent.isLost && tile > 8) {  // Not by its colour alone.
        on.fillStyle = shades[0];
        on.fillRect(x + 2, y + side / 2 - 1, side - 4, 2);
      }
      if (agent.isDrained) {
        on.fillStyle = drained;
        on.fillRect(x, y + side - Math.max(2, side / 4), side, Math.max(2, side / 4));
      }
    });
    if (document.activeElement === this.canvas && this.agents.length > 0) {
      on.strokeStyle = mark;
      on.lineWidth = 2;
      on.strokeRect((this.at % columns) * tile, Math.floor(this.at / columns) * tile, side, side);
    }
  }
  key(event) {
    const { columns } = this.layout();
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns,
      Home: -this.agents.length, End: this.agents.length }[event.key];
    if (event.key === 'Enter' && this.agents[this.at]) return this.select(this.agents[this.at].name);
    if (step === undefined) return undefined;
    event.preventDefault();
    this.at = Math.min(this.agents.length - 1, Math.max(0, this.at + step));
    const agent = this.agents[this.at];
    if (agent) this.told.textContent = `${agent.name}: ${agent.says}, ${percent(agent.share)}`;
    return this.soon();
  }
  click(event) {
    const { tile, columns } = this.layout();
    const at = Math.floor(event.offsetY / tile) * columns + Math.floor(event.offsetX / tile);
    if (Math.floor(event.offsetX / tile) >= columns || !this.agents[at]) return;
    this.at = at;
    this.select(this.agents[at].name);
  }
}
