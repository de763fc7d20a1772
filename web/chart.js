// Shares over time, as lines on a canvas. What is kept is bounded: so many samples of so many lines.

import { el } from './dom.js';
import { percent } from './amounts.js';

const kSamplesMax = 600;
const kLinesMax = 8;
const kDashes = [[], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 6], [1, 3], [10, 2, 2, 2]];

export class Chart {
  constructor(title) {
    this.samples = [];  // {at, shares: Map name -> share}
    this.canvas = el('canvas', { role: 'img', 'aria-label': title });
    this.key = el('ul', { class: 'key' });
    this.root = el('figure', {}, this.canvas, el('figcaption', {}, this.key));
    this.root.style.margin = '0';
    this.title = title;
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }
  add(at, shares) {
    this.samples.push({ at, shares });
    if (this.samples.length > kSamplesMax) this.samples.shift();
    if (this.canvas.isConnected) this.draw();
  }
  draw() {
    const now = this.samples.at(-1);
    const width = this.canvas.clientWidth;
    if (!now || !width) return;
    const names = [...now.shares].sort((a, b) => b[1] - a[1]).slice(0, kLinesMax).map(([name]) => name).sort();
    const height = 160;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.height = `${height}px`;
    const on = this.canvas.getContext('2d');
    on.setTransform(scale, 0, 0, scale, 0, 0);
    const style = getComputedStyle(document.documentElement);
    const text = style.getPropertyValue('--quiet');
    const most = Math.max(0.01, ...this.samples.map(({ shares }) => Math.max(0, ...names.map((name) => shares.get(name) ?? 0))));
    const begin = this.samples[0].at;
    const span = Math.max(1, now.at - begin);
    const left = 52;
    const x = (at) => left + ((width - left - 4) * (at - begin)) / span;
    const y = (share) => height - 18 - ((height - 28) * share) / most;
    on.font = '12px system-ui, sans-serif';
    on.fillStyle = text;
    on.fillText(percent(most), 0, 14);
    on.fillText('0 %', 0, height - 18);
    on.fillText(`${Math.round(span)} s ago`, left, height - 3);
    on.fillText('now', width - 28, height - 3);
    on.strokeStyle = style.getPropertyValue('--line');
    on.strokeRect(left, 8, width - left - 4, height - 26);
    names.forEach((name, index) => {
      on.strokeStyle = `hsl(${(index * 360) / kLinesMax} 60% 50%)`;
      on.lineWidth = 2;
      on.setLineDash(kDashes[index]);
      on.beginPath();
      this.samples.forEach(({ at, shares }) => on.lineTo(x(at), y(shares.get(name) ?? 0)));
      on.stroke();
    });
    on.setLineDash([]);
    const keys = names.map((name, index) => {
      const sign = el('b');
      sign.style.background = `hsl(${(index * 360) / kLinesMax} 60% 50%)`;
      return el('li', {}, sign, `${name} ${percent(now.shares.get(name) ?? 0)}`);
    });
    this.key.replaceChildren(...keys);
    this.canvas.setAttribute('aria-label', `${this.title}. Now: ${names.map((name) => `${name} ${percent(now.shares.get(name) ?? 0)}`).join(', ')}`);
  }
}
