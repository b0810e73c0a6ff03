// Moving about in the timeline: mouse, touch, wheel, buttons and keys.
'use strict';

page.Timeline = class {
  constructor(figure) {
    this.data = JSON.parse(figure.querySelector('script').textContent);
    this.data.tracks.forEach(page.unpackTrack);
    this.own = this.data.own_scale;
    page.stretchTracks(this.data, this.own);
    const {rows, height} = page.timelineRows(this.data);
    this.view = {
      from: 0, to: this.data.length, rows, scroll: 0, axis: 26, names: this.data.operators.name, marked: null,
    };
    this.build(figure, height);
    this.listen();
    this.resize();
  }

  build(figure, height) {
    const box = figure.querySelector('.timeline-view');
    box.innerHTML = `
      <div class="timeline-bar" role="group" aria-label="Timeline">
        <button type="button" data-do="in">Zoom in</button>
        <button type="button" data-do="out">Zoom out</button>
        <button type="button" data-do="all">Whole step</button>
        <button type="button" data-do="scale" hidden>Each at its own length</button>
        <span class="legend"></span>
      </div>
      <div class="timeline-scroll"><canvas tabindex="0" role="application"></canvas><div></div></div>
      <p class="visually-hidden" aria-live="polite"></p>`;
    this.scroller = box.querySelector('.timeline-scroll');
    this.canvas = box.querySelector('canvas');
    this.canvas.setAttribute('aria-label', 'Timeline of the step. Left and right move, plus and minus zoom, ' +
      'N and P step through operators, up and down change the row.');
    this.spoken = box.querySelector('[aria-live]');
    this.bar = box.querySelector('.timeline-bar');
    this.context = this.canvas.getContext('2d');
    this.tall = Math.min(height + this.view.axis, Math.max(260, innerHeight * 0.75));
    this.scroller.style.height = this.tall + 'px';
    this.scroller.lastElementChild.style.height = Math.max(0, height + this.view.axis - this.tall) + 'px';
    this.scaleButton = this.bar.querySelector('[data-do=scale]');
    this.scaleButton.hidden = this.data.lengths.every((length) => length === this.data.length);
    this.note = figure.querySelector('.timeline-note');
    this.tell();
  }

  // Below the rows: how they are drawn, and what is left out.
  tell() {
    const left = this.data.roles_left_out;
    this.scaleButton.setAttribute('aria-pressed', String(this.own));
    this.note.textContent = page.scaleWords(this.data, this.own) + (left === 0 ? '' :
      ` ${left} more roles are not in this page: it would be too large. The file of --trace has them all.`);
  }

  listen() {
    const {canvas, scroller} = this;
    this.pointers = new Map();
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, event.offsetX);
      page.tip.hide();
    });
    canvas.addEventListener('pointermove', (event) => this.pointerMoved(event));
    for (const end of ['pointerup', 'pointercancel']) {
      canvas.addEventListener(end, (event) => this.pointers.delete(event.pointerId));
    }
    canvas.addEventListener('pointerleave', () => page.tip.hide());
    canvas.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    canvas.addEventListener('dblclick', (event) => this.zoom(0.25, this.timeAt(event.offsetX)));
    canvas.addEventListener('keydown', (event) => this.key(event));
    scroller.addEventListener('scroll', () => { this.view.scroll = scroller.scrollTop; this.paint(); });
    this.bar.addEventListener('click', (event) => this.button(event.target.dataset.do));
    new ResizeObserver(() => this.resize()).observe(scroller);
    page.themeListeners.push(() => { this.paints = null; this.paint(); });
  }

  resize() {
    const view = this.view;
    view.width = this.scroller.clientWidth;
    view.height = this.tall;
    view.ratio = devicePixelRatio || 1;
    view.left = view.width < 520 ? 76 : 124;
    view.plotWidth = Math.max(10, view.width - view.left - 6);
    this.canvas.width = Math.round(view.width * view.ratio);
    this.canvas.height = Math.round(view.height * view.ratio);
    this.canvas.style.width = view.width + 'px';
    this.canvas.style.height = view.height + 'px';
    this.paint();
  }

  // At most once a frame of the screen.
  paint() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.paintNow(); });
  }

  paintNow() {
    if (!this.paints) {
      this.paints = page.timelinePaints(this.data, this.context);
      this.legend();
    }
    page.paintTimeline(this.context, this.data, this.view, this.paints);
    this.canvas.dataset.from = this.view.from;
    this.canvas.dataset.to = this.view.to;
  }

  legend() {
    const used = new Set(this.data.operators.phase);
    for (const track of this.data.tracks) if (track.stream !== 'compute') used.add(page.kindOfStream(track.stream));
    const keys = [...used].map((kind) => {
      const key = document.createElement('span');
      const swatch = document.createElement('i');
      swatch.style.background = this.paints.of[kind];
      key.append(swatch, kind);
      return key;
    });
    this.bar.querySelector('.legend').replaceChildren(...keys);
  }

  timeAt(x) { return this.view.from + (x - this.view.left) / this.view.plotWidth * (this.view.to - this.view.from); }

  show(from, to) {
    const length = this.data.length, span = Math.min(length, Math.max(100, to - from));
    this.view.from = Math.max(0, Math.min(from, length - span));
    this.view.to = this.view.from + span;
    this.paint();
  }
  zoom(factor, around) {
    const {from, to} = this.view;
    this.show(around - (around - from) * factor, around + (to - around) * factor);
  }
  pan(share) {
    const move = share * (this.view.to - this.view.from);
    this.show(this.view.from + move, this.view.to + move);
  }

  wheel(event) {
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(event.deltaY / 300), this.timeAt(event.offsetX));
    else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) this.pan(sideways / this.view.plotWidth);
    else return;
    event.preventDefault();
  }

  pointerMoved(event) {
    const before = this.pointers.get(event.pointerId);
    if (before === undefined) return this.hover(event);
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId);
    this.pointers.set(event.pointerId, event.offsetX);
    if (others.length === 0) return this.pan((before - event.offsetX) / this.view.plotWidth);
    const anchor = others[0][1], apart = Math.abs(event.offsetX - anchor);
    if (apart > 5) this.zoom(Math.abs(before - anchor) / apart, this.timeAt(anchor));
  }

  hover(event) {
    const found = this.spanAt(event.offsetX, event.offsetY);
    this.view.marked = found;
    this.paint();
    if (found) page.tip.show(page.spanFacts(this.data, found.row, found.index), event.clientX, event.clientY);
    else page.tip.hide();
  }

  spanAt(x, y) {
    const at = y - this.view.axis + this.view.scroll;
    const row = this.view.rows.find((one) => one.track && at >= one.top && at < one.top + one.height);
    if (!row || y < this.view.axis || x < this.view.left) return null;
    const slack = (this.view.to - this.view.from) / this.view.plotWidth;  // a pixel
    const time = this.timeAt(x), index = page.firstAfter(row.track, time);
    for (const near of [index, index - 1]) {
      if (!(near >= 0 && near < row.track.start.length)) continue;
      if (row.track.start[near] <= time + slack && row.track.end[near] >= time - slack) return {row, index: near};
    }
    return null;
  }

  button(what) {
    const middle = (this.view.from + this.view.to) / 2;
    if (what === 'in') this.zoom(0.5, middle);
    if (what === 'out') this.zoom(2, middle);
    if (what === 'all') this.show(0, this.data.length);
    if (what === 'scale') {
      this.own = !this.own;
      page.stretchTracks(this.data, this.own);
      this.tell();
      this.paint();
    }
  }

  key(event) {
    const middle = (this.view.from + this.view.to) / 2;
    const does = {
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2),
      ArrowDown: () => this.changeRow(1), ArrowUp: () => this.changeRow(-1),
      '+': () => this.zoom(0.5, middle), '=': () => this.zoom(0.5, middle), '-': () => this.zoom(2, middle),
      0: () => this.show(0, this.data.length), Home: () => this.show(0, this.data.length),
      n: () => this.step(1), p: () => this.step(-1),
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    does();
  }

  changeRow(by) {
    const rows = this.view.rows.filter((row) => row.track);
    const now = this.view.marked ? rows.indexOf(this.view.marked.row) + by : 0;
    const row = rows[Math.max(0, Math.min(rows.length - 1, now))];
    const time = this.view.marked ? this.view.marked.row.track.start[this.view.marked.index] : this.view.from;
    this.mark(row, Math.min(page.firstAfter(row.track, time), row.track.start.length - 1));
  }
  step(by) {
    if (!this.view.marked) return this.changeRow(0);
    const {row, index} = this.view.marked;
    this.mark(row, Math.max(0, Math.min(row.track.start.length - 1, index + by)));
  }

  // Brings it into sight and says it.
  mark(row, index) {
    this.view.marked = {row, index};
    const begin = row.track.start[index], end = row.track.end[index], span = this.view.to - this.view.from;
    if (begin < this.view.from || end > this.view.to) this.show(begin - span / 4, begin + span * 3 / 4);
    const room = this.tall - this.view.axis;
    if (row.top < this.view.scroll) this.scroller.scrollTop = row.top - 20;
    if (row.top + row.height > this.view.scroll + room) this.scroller.scrollTop = row.top + row.height - room + 20;
    this.paint();
    const facts = page.spanFacts(this.data, row, index);
    const known = Object.entries(facts).filter(([, value]) => value !== undefined);
    this.spoken.textContent = known.map(([label, value]) => `${label} ${value}`).join(', ');
    const place = this.canvas.getBoundingClientRect();
    const x = this.view.left + (begin - this.view.from) / (this.view.to - this.view.from) * this.view.plotWidth;
    const below = row.top - this.view.scroll + this.view.axis + row.height;
    page.tip.show(facts, place.left + Math.max(this.view.left, x), place.top + below);
  }
};
