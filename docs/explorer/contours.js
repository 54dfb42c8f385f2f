/* The density as a picture: a light shade, and contour lines by marching squares. */
(function (explorer) {
  "use strict";

  const SPACING = 2; // pixels between the values that are computed

  /* Values of the log density at every other pixel, row by row. */
  function valuesOn(target, frame) {
    const columns = Math.ceil(frame.width / SPACING) + 1;
    const rows = Math.ceil(frame.height / SPACING) + 1;
    const values = new Float64Array(columns * rows);
    for (let j = 0; j < rows; j++)
      for (let i = 0; i < columns; i++)
        values[j * columns + i] = target.at(frame.toData([i * SPACING, j * SPACING])).value;
    return { values, columns, rows };
  }

  /* Segments of a level in the cell whose corners are given, as pairs of points. */
  function segments(corners, level) {
    const places = [
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 1],
    ];
    const crossings = [];
    for (let side = 0; side < 4; side++) {
      const [p, q] = [side, (side + 1) % 4];
      if (corners[p] > level !== corners[q] > level) {
        const t = (level - corners[p]) / (corners[q] - corners[p]);
        crossings.push([0, 1].map((k) => places[p][k] + t * (places[q][k] - places[p][k])));
      }
    }
    return crossings.length === 4 ? [crossings.slice(0, 2), crossings.slice(2)] : crossings.length ? [crossings] : [];
  }

  function drawLines(context, { values, columns, rows }, levels) {
    context.beginPath();
    for (let j = 0; j + 1 < rows; j++)
      for (let i = 0; i + 1 < columns; i++) {
        const at = j * columns + i;
        const corners = [values[at], values[at + 1], values[at + columns + 1], values[at + columns]];
        if (!corners.every(Number.isFinite)) continue;
        for (const level of levels)
          for (const [[x0, y0], [x1, y1]] of segments(corners, level)) {
            context.moveTo((i + x0) * SPACING, (j + y0) * SPACING);
            context.lineTo((i + x1) * SPACING, (j + y1) * SPACING);
          }
      }
    context.stroke();
  }

  function drawShade(context, { values, columns, rows }, levels, colour) {
    const [low, high] = [levels[0], levels[levels.length - 1]];
    context.fillStyle = colour;
    for (let j = 0; j < rows; j++)
      for (let i = 0; i < columns; i++) {
        const height = Math.min(1, (values[j * columns + i] - low) / (high - low));
        if (!(height > 0)) continue;
        context.globalAlpha = 0.22 * height;
        context.fillRect((i - 0.5) * SPACING, (j - 0.5) * SPACING, SPACING, SPACING);
      }
    context.globalAlpha = 1;
  }

  /* A canvas with the density of a target in a frame of so many pixels, for one theme. */
  explorer.densityPicture = function (target, frame, scale, colours) {
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(frame.width * scale);
    canvas.height = Math.round(frame.height * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    const grid = valuesOn(target, frame);
    drawShade(context, grid, target.levels, colours.shade);
    context.strokeStyle = colours.contour;
    context.lineWidth = 0.8;
    drawLines(context, grid, target.levels);
    return canvas;
  };
})((globalThis.mongepatchExplorer ??= {}));
