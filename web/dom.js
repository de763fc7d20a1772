// Elements are made of text only: nothing that the cluster says is ever read as HTML.

export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'class') element.className = value;
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(2)) {
    if (child !== undefined && child !== null) element.append(child);
  }
  return element;
}

export function put(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== undefined && child !== null));
}

export function facts(rows) {
  return el('dl', { class: 'facts' }, rows.filter(([, value]) => value !== '' && value !== undefined)
    .map(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));
}

// A table that shows one page of rows. `columns`: [title, cell(row), class]; a cell is a text or an
// element without listeners, such as a link.
export class Table {
  constructor(caption, columns, { pageSize = 50, empty = 'none' } = {}) {
    Object.assign(this, { columns, pageSize, empty, rows: [], page: 0 });
    this.caption = el('caption', {}, caption);
    this.title = caption;
    this.body = el('tbody');
    this.earlier = el('button', { type: 'button', onclick: () => this.turn(-1) }, 'Earlier rows');
    this.later = el('button', { type: 'button', onclick: () => this.turn(1) }, 'Later rows');
    this.place = el('span', { class: 'quiet' });
    this.pages = el('div', { class: 'controls' }, this.earlier, this.later, this.place);
    this.root = el('div', {}, el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
      el('table', {}, this.caption,
        el('thead', {}, el('tr', {}, columns.map(([title, , kind]) => el('th', { scope: 'col', class: kind }, title)))),
        this.body)), this.pages);
  }
  set(rows) {
    if (!Array.isArray(rows)) throw new TypeError(`the rows of "${this.title}" are no list`);
    this.rows = rows;
    this.show();
  }
  turn(by) {
    this.page += by;
    this.show();
  }
  shown() {
    const last = Math.max(0, Math.ceil(this.rows.length / this.pageSize) - 1);
    this.page = Math.min(Math.max(0, this.page), last);
    const begin = this.page * this.pageSize;
    return this.rows.slice(begin, begin + this.pageSize);
  }
  show() {
    // What is the same stays the same element: it may have the focus, or be selected.
    const rows = this.shown();
    const elements = rows.map((row, index) => this.fill(this.body.children[index], row));
    while (this.body.children.length > elements.length) this.body.lastChild.remove();
    elements.forEach((element) => { if (!element.parentNode) this.body.append(element); });
    if (rows.length === 0) {
      this.body.append(el('tr', {}, el('td', { colspan: this.columns.length, class: 'quiet' }, this.empty)));
    }
    const begin = this.page * this.pageSize;
    this.pages.hidden = this.rows.length <= this.pageSize;
    this.earlier.disabled = this.page === 0;
    this.later.disabled = begin + this.pageSize >= this.rows.length;
    this.place.textContent = `${begin + 1} to ${begin + rows.length} of ${this.rows.length}`;
  }
  fill(element, row) {
    const cells = this.columns.map(([, cell, kind]) => ({ value: cell(row), kind }));
    if (!element || element.children.length !== cells.length) {
      const made = el('tr', {}, cells.map(({ value, kind }) => el('td', { class: kind }, value)));
      if (element) element.replaceWith(made);
      return made;
    }
    cells.forEach(({ value }, index) => {
      const cell = element.children[index];
      if (typeof value === 'string' || typeof value === 'number') {
        if (cell.children.length > 0 || cell.textContent !== String(value)) cell.textContent = value;
      } else if (!cell.firstChild?.isEqualNode(value)) {
        cell.replaceChildren(value);
      }
    });
    return element;
  }
}

const dialog = () => document.getElementById('question');

let asked = null;  // the question that is open

// Asks before something is changed: `title` names the object. `fields`: {name, label, value} each,
// with `isConcealed` for what nobody else should read. `sure`: a name that has to be typed first,
// where nothing can be taken back. `act(values, key)` is done on "yes", with the fields' values by
// their names; what the server refuses is shown here. `key` is the same for the same values, so that
// one that is sent again, because its answer was lost, is done once. Then views are read again.
export function question({ title, text, yes, fields = [], sure, act }) {
  const box = dialog();
  const part = (name) => document.getElementById(`question-${name}`);
  const mine = {};
  asked = mine;
  let isBusy = false;
  let key = { of: null, is: '' };
  const isSure = () => sure === undefined || inputs.at(-1).value === sure;
  const look = () => { part('yes').disabled = isBusy || !isSure(); };
  const all = [...fields, ...(sure === undefined ? [] : [{ label: `Type ${sure} to go on` }])];
  const inputs = all.map(({ value = '', isConcealed }) => {
    // A secret may have several lines, which a field for passwords would join.
    const input = isConcealed
      ? el('textarea', { class: 'concealed', rows: 3, autocomplete: 'off', spellcheck: 'false', oninput: look })
      : el('input', { type: 'text', autocomplete: 'off', oninput: look });
    input.value = value;
    return input;
  });
  part('title').textContent = title;
  part('text').textContent = text;
  part('error').textContent = '';
  put(part('fields'), all.map(({ label }, i) => el('p', {}, el('label', {}, el('span', {}, label), ' ', inputs[i]))));
  part('yes').textContent = yes;
  part('no').onclick = () => box.close();
  box.querySelector('form').onsubmit = (event) => {
    event.preventDefault();
    part('yes').click();
  };
  part('yes').onclick = async () => {
    if (isBusy || !isSure()) return;
    const values = Object.fromEntries(fields.map(({ name }, i) => [name, inputs[i].value]));
    if (key.of !== JSON.stringify(values)) key = { of: JSON.stringify(values), is: crypto.randomUUID() };
    isBusy = true;
    look();
    part('error').textContent = '';
    let why = '';
    try {
      await act(values, key.is);
    } catch (error) {
      why = error.words ?? error.message ?? String(error);
    }
    isBusy = false;
    document.dispatchEvent(new Event('changed'));
    if (asked !== mine) return;  // it was closed, and another one may be open
    part('error').textContent = why;
    if (why) look();
    else box.close();
  };
  const before = document.activeElement;
  box.onclose = () => {
    if (box.open) return;
    asked = null;
    key = null;
    for (const input of inputs) input.value = '';  // a secret does not stay in the page
    put(part('fields'));
    before?.focus?.();
  };
  look();
  box.showModal();
  (inputs[0] ?? part('no')).focus();
}
