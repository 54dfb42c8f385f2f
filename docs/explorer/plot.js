/* What a panel draws: the density, ellipses of the metric, a trajectory, draws, and a histogram beside the truth. */
(function (explorer) {
  "use strict";

  const MARGIN = { left: 34, right: 8, top: 8, bottom: 34 };
  const BINS = 32;

  /* Pixels of a plot and the numbers they stand for, y upwards. */
  function frameOf(view, width, height) {
    const [x0, x1] = view.x;
    const [y0, y1] = view.y;
    return {
      view,
      width,
      height,
      toPixel: ([x, y]) => [((x - x0) / (x1 - x0)) * width, ((y1 - y) / (y1 - y0)) * height],
      toData: ([px, py]) => [x0 + (px / width) * (x1 - x0), y1 - (py / height) * (y1 - y0)],
    };
  }

  /* A canvas as sharp as the screen, cleared. */
  function prepare(canvas, width, height) {
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  }

  /* About so many round numbers of a range. */
  function ticks([low, high], wanted) {
    const rough = (high - low) / wanted;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const found = [];
    for (let t = Math.ceil(low / step) * step; t <= high + 1e-9; t += step) found.push(Math.round(t / step) * step);
    return found;
  }

  const plain = (t) => String(Number(t.toPrecision(6))).replace("-", "−");

  function drawAxes(context, frame, names, colours) {
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.strokeRect(0, 0, frame.width, frame.height);
    context.fillStyle = colours.muted;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const t of ticks(frame.view.x, 4)) context.fillText(plain(t), frame.toPixel([t, 0])[0], frame.height + 4);
    context.fillText(names[0], frame.width / 2, frame.height + 18);
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const t of ticks(frame.view.y, 6)) context.fillText(plain(t), -5, frame.toPixel([0, t])[1]);
    context.save();
    context.translate(-26, frame.height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(names[1], 0, 0);
    context.restore();
  }

  /* { v : vᵀGv = r² } around a point: r across the gradient, r/√L along it. */
  function drawEllipse(context, frame, point, radius) {
    const size = Math.hypot(...point.gradient);
    const along = size > 0 ? point.gradient.map((g) => g / size) : [1, 0];
    const across = [-along[1], along[0]];
    const short = radius / Math.sqrt(point.stretch);
    context.beginPath();
    for (let k = 0; k <= 32; k++) {
      const [c, s] = [Math.cos((k * Math.PI) / 16), Math.sin((k * Math.PI) / 16)];
      const place = [0, 1].map((i) => point.position[i] + short * c * along[i] + radius * s * across[i]);
      context.lineTo(...frame.toPixel(place));
    }
    context.stroke();
  }

  const near = (value) => Math.max(-1e4, Math.min(1e4, value));

  /* A path with a dot at every step, as far as its numbers are finite. */
  function drawPath(context, frame, positions, colour, { faint = false } = {}) {
    const pixels = [];
    for (const position of positions) {
      if (!position.every(Number.isFinite)) break;
      pixels.push(frame.toPixel(position).map(near));
    }
    context.strokeStyle = context.fillStyle = colour;
    context.globalAlpha = faint ? 0.35 : 1;
    context.lineWidth = faint ? 1 : 1.6;
    context.beginPath();
    for (const pixel of pixels) context.lineTo(...pixel);
    context.stroke();
    const size = pixels.length > 60 ? 1.6 : 2.4;
    for (const pixel of faint ? [] : pixels) {
      context.beginPath();
      context.arc(...pixel, size, 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
    return pixels[pixels.length - 1];
  }

  /* The end of a trajectory: a ring where it is likely accepted, a cross where it is not. */
  function drawEnd(context, pixel, accepted, colours, colour) {
    context.lineWidth = 2.2;
    context.strokeStyle = colour;
    context.fillStyle = colours.paper;
    context.beginPath();
    if (accepted) {
      context.arc(...pixel, 5.5, 0, 2 * Math.PI);
      context.fill();
    } else {
      const [x, y] = pixel;
      for (const side of [-1, 1]) {
        context.moveTo(x - 6, y - 6 * side);
        context.lineTo(x + 6, y + 6 * side);
      }
    }
    context.stroke();
  }

  function drawDots(context, frame, positions, colour) {
    context.fillStyle = colour;
    context.globalAlpha = 0.45;
    for (const position of positions) {
      const [x, y] = frame.toPixel(position);
      context.fillRect(x - 1, y - 1, 2, 2);
    }
    context.globalAlpha = 1;
  }

  /* Draws of one quantity as bars, and its exact density as a line. */
  function drawHistogram(canvas, width, height, marginal, values, colour, colours) {
    const context = prepare(canvas, width, height);
    context.translate(MARGIN.left, 4);
    const [w, h] = [width - MARGIN.left - MARGIN.right, height - 38];
    const [low, high] = marginal.range;
    const cell = (high - low) / BINS;
    const counts = new Array(BINS).fill(0);
    for (const value of values) {
      const bin = Math.floor((value - low) / cell);
      if (bin >= 0 && bin < BINS) counts[bin] += 1;
    }
    const truth = Array.from({ length: 121 }, (_, k) => marginal.density(low + (k / 120) * (high - low)));
    const top = 1.45 * Math.max(...truth);
    const tall = (density) => Math.min(h, (density / top) * h);
    context.fillStyle = colour;
    context.globalAlpha = 0.55;
    counts.forEach((count, k) => {
      const bar = values.length ? tall(count / (values.length * cell)) : 0;
      context.fillRect((k / BINS) * w, h - bar, w / BINS - 1, bar);
    });
    context.globalAlpha = 1;
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.5;
    context.beginPath();
    truth.forEach((density, k) => context.lineTo((k / 120) * w, h - tall(density)));
    context.stroke();
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(0, h);
    context.lineTo(w, h);
    context.stroke();
    context.fillStyle = colours.muted;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const t of ticks(marginal.range, 5)) context.fillText(plain(t), ((t - low) / (high - low)) * w, h + 4);
    context.fillText(marginal.name, w / 2, h + 18);
  }

  Object.assign(explorer, {
    MARGIN,
    frameOf,
    prepare,
    drawAxes,
    drawEllipse,
    drawPath,
    drawEnd,
    drawDots,
    drawHistogram,
  });
})((globalThis.mongepatchExplorer ??= {}));
