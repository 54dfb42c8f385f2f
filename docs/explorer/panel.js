/* One sampler on one target: its plot, its handles, its chain and its numbers. */
(function (explorer) {
  "use strict";

  const MOST_DRAWS = 4000;
  const TALLEST = 470; // pixels of a plot
  const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

  /* A number in at most six characters. */
  function brief(value) {
    const size = Math.abs(value);
    if (!(size < 1e5)) return value > 0 ? "> 10⁵" : "< −10⁵";
    return value.toFixed(size < 10 ? 3 : size < 100 ? 1 : 0).replace(/^-(?=0\.0*$)/, "").replace("-", "−");
  }
  const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)}%` : "—");

  class Panel {
    /* `element` is a figure of the page; `onStart` and `onNoise` are told where handles are dragged. */
    constructor(element, { onStart, onNoise }) {
      this.element = element;
      this.plot = element.querySelector(".plot");
      this.canvas = element.querySelector(".plot canvas");
      this.histogram = element.querySelector(".histogram");
      this.numbers = Object.fromEntries(
        Array.from(element.querySelectorAll("[data-number]"), (cell) => [cell.dataset.number, cell]),
      );
      this.handles = {
        start: element.querySelector(".handle.start"),
        velocity: element.querySelector(".handle.velocity"),
      };
      this.draggable(this.handles.start, () => this.scene.start, onStart);
      this.draggable(this.handles.velocity, () => this.tip(), (tip) => onNoise(this.noiseAt(tip)));
      this.canvas.addEventListener("click", (event) => onStart(this.dataAt(event)));
      this.clear();
    }

    /* The scene: target, alpha, stepSize, steps, start, noise, colour. A change of it forgets the draws. */
    show(scene) {
      this.scene = scene;
      const { target, alpha, start } = scene;
      this.point = explorer.pointAt(target, alpha, start);
      const velocity = explorer.velocityFromNoise(this.point, scene.noise);
      this.rows = explorer.integrate(target, alpha, start, velocity, scene.stepSize, scene.steps);
      this.error = explorer.errorOf(this.rows);
      this.clear();
    }

    clear() {
      this.chain = { draws: [], accepted: 0, diverged: 0, position: null, rows: null };
    }

    get finished() {
      return this.chain.draws.length >= MOST_DRAWS;
    }

    /* So many further draws of this sampler, from the start point. */
    sample(count, random) {
      const { target, alpha, stepSize, steps, start } = this.scene;
      const { chain } = this;
      for (let k = 0; k < count && !this.finished; k++) {
        const drawn = explorer.transition(target, alpha, chain.position ?? start, stepSize, steps, random);
        Object.assign(chain, { position: drawn.position, rows: drawn.rows });
        chain.accepted += drawn.accepted;
        chain.diverged += drawn.diverged;
        chain.draws.push(drawn.position);
      }
    }

    /* Where the arrow of the velocity ends, and the noise of a velocity that ends there. */
    tip() {
      const velocity = explorer.velocityFromNoise(this.point, this.scene.noise);
      return [0, 1].map((i) => this.scene.start[i] + 2 * this.unit * velocity[i]);
    }

    noiseAt(tip) {
      const velocity = [0, 1].map((i) => (tip[i] - this.scene.start[i]) / (2 * this.unit));
      return explorer.noiseFromVelocity(this.point, velocity);
    }

    /* The length of an ellipse's long axis, and half of that of the arrow for a velocity of 1. */
    get unit() {
      const [low, high] = this.frame.view.y;
      return 0.025 * (high - low);
    }

    dataAt(event) {
      const box = this.canvas.getBoundingClientRect();
      return this.frame.toData([
        event.clientX - box.left - explorer.MARGIN.left,
        event.clientY - box.top - explorer.MARGIN.top,
      ]);
    }

    draggable(handle, place, moved) {
      const inside = (position) =>
        position.map((t, i) => Math.max(this.frame.view["xy"[i]][0], Math.min(this.frame.view["xy"[i]][1], t)));
      handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
      handle.addEventListener("pointermove", (event) => {
        if (handle.hasPointerCapture(event.pointerId)) moved(inside(this.dataAt(event)));
      });
      handle.addEventListener("keydown", (event) => {
        if (!(event.key in KEYS)) return;
        event.preventDefault();
        const share = event.shiftKey ? 0.05 : 0.01;
        const { x, y } = this.frame.view;
        const step = [share * (x[1] - x[0]), share * (y[1] - y[0])];
        moved(inside(place().map((t, i) => t + KEYS[event.key][i] * step[i])));
      });
    }

    /* Draw all of it. `map` shows the scene in other coordinates, on the density of `shown`. */
    draw(colours, close, { shown = this.scene.target, map = (p) => p } = {}) {
      const { MARGIN } = explorer;
      const width = this.plot.clientWidth;
      const height = Math.round(Math.min(width * (shown.aspect ?? 1), TALLEST));
      this.plot.style.height = `${height}px`;
      this.frame = explorer.frameOf(
        close ? shown.close : shown.view,
        width - MARGIN.left - MARGIN.right,
        height - MARGIN.top - MARGIN.bottom,
      );
      const context = explorer.prepare(this.canvas, width, height);
      context.translate(MARGIN.left, MARGIN.top);
      context.drawImage(this.density(shown, colours), 0, 0, this.frame.width, this.frame.height);
      explorer.drawAxes(context, this.frame, shown.axes, colours);
      context.save();
      context.beginPath();
      context.rect(0, 0, this.frame.width, this.frame.height);
      context.clip();
      const colour = colours[this.scene.colour];
      const mapped = shown !== this.scene.target;
      const placed = (rows) => rows.map((row) => map(row.position));
      if (!mapped) this.drawEllipses(context, colour);
      explorer.drawDots(context, this.frame, this.chain.draws.map(map), colour);
      if (this.chain.rows)
        explorer.drawPath(context, this.frame, placed(this.chain.rows), colour, { faint: true });
      const end = explorer.drawPath(context, this.frame, placed(this.rows), colour);
      if (end) explorer.drawEnd(context, end, this.error < Math.LN2, colours, colour);
      if (!mapped) this.drawArrow(context, colours);
      context.restore();
      this.placeHandles(mapped, map);
      const values = this.chain.draws.map(this.scene.target.marginal.of);
      const box = this.histogram.getBoundingClientRect();
      const { marginal } = this.scene.target;
      explorer.drawHistogram(this.histogram, box.width, box.height, marginal, values, colour, colours);
      this.write();
    }

    /* The picture of the density, made again only where something of it changed. */
    density(shown, colours) {
      const scale = window.devicePixelRatio || 1;
      const { width, height, view } = this.frame;
      const key = [width, height, scale, colours.contour, view.x, view.y].join();
      if (this.picture?.key !== key || this.picture.shown !== shown)
        this.picture = { key, shown, canvas: explorer.densityPicture(shown, this.frame, scale, colours) };
      return this.picture.canvas;
    }

    drawEllipses(context, colour) {
      const { target, alpha } = this.scene;
      context.strokeStyle = colour;
      context.lineWidth = 1;
      context.globalAlpha = 0.55;
      for (const noise of target.sites)
        this.drawEllipse(context, explorer.pointAt(target, alpha, target.fromNoise(...noise)));
      context.globalAlpha = 1;
      context.lineWidth = 2;
      this.drawEllipse(context, this.point);
    }

    drawEllipse(context, point) {
      explorer.drawEllipse(context, this.frame, point, this.unit);
    }

    drawArrow(context, colours) {
      const [from, to] = [this.scene.start, this.tip()].map(this.frame.toPixel);
      context.strokeStyle = colours.ink;
      context.lineWidth = 1.6;
      context.beginPath();
      context.moveTo(...from);
      context.lineTo(...to);
      context.stroke();
    }

    placeHandles(mapped, map) {
      const { MARGIN } = explorer;
      const places = { start: map(this.scene.start), velocity: this.tip() };
      for (const [name, handle] of Object.entries(this.handles)) {
        const [x, y] = this.frame.toPixel(places[name]);
        handle.style.left = `${x + MARGIN.left}px`;
        handle.style.top = `${y + MARGIN.top}px`;
        handle.hidden = mapped || x < -20 || y < -20 || x > this.frame.width + 20 || y > this.frame.height + 20;
      }
    }

    write() {
      const { chain } = this;
      const last = this.rows[this.rows.length - 1];
      const { marginal } = this.scene.target;
      const smallest = chain.draws.length ? brief(Math.min(...chain.draws.map(marginal.of))) : "—";
      const shown = {
        error: brief(this.error),
        volume: brief(last.logVolume),
        probability: Math.min(1, Math.exp(-this.error)).toFixed(2),
        cost: String(this.scene.alpha > 0 ? 3 * this.scene.steps + 3 : this.scene.steps),
        draws: String(chain.draws.length),
        accepted: percent(chain.accepted, chain.draws.length),
        diverged: percent(chain.diverged, chain.draws.length),
        smallest,
      };
      for (const [name, cell] of Object.entries(this.numbers)) cell.textContent = shown[name];
    }
  }

  explorer.Panel = Panel;
})((globalThis.mongepatchExplorer ??= {}));
