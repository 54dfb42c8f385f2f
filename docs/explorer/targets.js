/* The two-dimensional targets of mongepatch.targets: log density, gradient and Hessian written out.

   Classic scripts share one object, so that the page works from file:// and node can load it:
   `at(p)` gives { value, gradient: [g1, g2], hessian: [h11, h12, h22] }, `fromNoise(u, w)` an exact draw from two
   standard normals. Places that show the metric are `sites`, and `close` is a view of where the difficulty lies. */
(function (explorer) {
  "use strict";

  const softplus = (a) => Math.max(a, 0) + Math.log1p(Math.exp(-Math.abs(a)));
  const sigmoid = (a) => (a >= 0 ? 1 / (1 + Math.exp(-a)) : Math.exp(a) / (1 + Math.exp(a)));
  const normalDensity = (variance) => (t) => Math.exp((-0.5 * t * t) / variance) / Math.sqrt(2 * Math.PI * variance);

  /* Φ by the series of Marsaglia, accurate to rounding where |t| < 6: it turns noise into uniform numbers. */
  function normalCdf(t) {
    if (Math.abs(t) > 6) return t > 0 ? 1 : 0;
    let sum = t;
    let term = t;
    for (let k = 3; Math.abs(term) > 1e-17 * Math.abs(sum) && k < 400; k += 2) sum += term *= (t * t) / k;
    return 0.5 + (sum * Math.exp(-0.5 * t * t)) / Math.sqrt(2 * Math.PI);
  }

  /* Noise of the places at which the metric is shown. */
  const spaced = (low, high, n) => Array.from({ length: n }, (_, k) => low + (k / (n - 1)) * (high - low));
  const pairs = (us, ws) => ws.flatMap((w) => us.map((u) => [u, w]));
  const alternating = (ws) => ws.map((w, k) => [k % 2 ? 1 : -1, w]);

  /* The paper's funnel: a ~ N(0, 15), x ~ N(0, softplus(a)). */
  const FUNNEL_VARIANCE = 15;
  const funnel = {
    at([x, a]) {
      const s = softplus(a);
      const s1 = sigmoid(a);
      const s2 = s1 * (1 - s1);
      const r = s1 / s;
      const xx = (x * x) / s;
      return {
        value: -0.5 * (xx + Math.log(s) + (a * a) / FUNNEL_VARIANCE),
        gradient: [-x / s, 0.5 * xx * r - 0.5 * r - a / FUNNEL_VARIANCE],
        hessian: [
          -1 / s,
          (x / s) * r,
          0.5 * xx * (s2 / s - 2 * r * r) - 0.5 * (s2 / s - r * r) - 1 / FUNNEL_VARIANCE,
        ],
      };
    },
    fromNoise(u, w) {
      const a = Math.sqrt(FUNNEL_VARIANCE) * w;
      return [Math.sqrt(softplus(a)) * u, a];
    },
    axes: ["x", "a"],
    view: { x: [-8, 8], y: [-16, 12] },
    close: { x: [-1, 1], y: [-9, -2] },
    aspect: 1.45,
    levels: [-12, -8, -5, -3, -1.5, 0],
    sites: pairs([-1.2, 1.2], spaced(-2.8, 2.4, 14)),
    marginal: { name: "a", range: [-14, 14], of: (p) => p[1], density: normalDensity(FUNNEL_VARIANCE) },
    defaults: { alpha: 1, stepSize: 0.2, steps: 9, start: [0.25, -5], noise: [1, -1.3], close: true },
  };

  /* The same funnel with z = x / √softplus(a) in the place of x: two independent normals. */
  const whitened = {
    at: ([z, a]) => ({
      value: -0.5 * (z * z + (a * a) / FUNNEL_VARIANCE),
      gradient: [-z, -a / FUNNEL_VARIANCE],
      hessian: [-1, 0, -1 / FUNNEL_VARIANCE],
    }),
    fromNoise: (u, w) => [u, Math.sqrt(FUNNEL_VARIANCE) * w],
    toFunnel: ([z, a]) => [z * Math.sqrt(softplus(a)), a],
    fromFunnel: ([x, a]) => [x / Math.sqrt(softplus(a)), a],
    axes: ["z = x / √softplus(a)", "a"],
    view: { x: [-8, 8], y: [-16, 12] },
    close: { x: [-5, 5], y: [-9, -2] },
    aspect: 1.45,
    levels: [-12, -8, -5, -3, -1.5, -0.3],
    sites: funnel.sites,
    marginal: funnel.marginal,
  };

  /* Radius ~ N(12, 0.12), angle uniform. */
  const RADIUS = 12;
  const THICKNESS = 0.12;
  const ring = {
    at([x, y]) {
      const r = Math.sqrt(x * x + y * y);
      const [n, m] = [x / r, y / r];
      const slope = -(r - RADIUS) / THICKNESS - 1 / r;
      const curvature = -1 / THICKNESS + 1 / (r * r);
      const across = slope / r;
      return {
        value: (-0.5 * (r - RADIUS) ** 2) / THICKNESS - Math.log(r),
        gradient: [slope * n, slope * m],
        hessian: [curvature * n * n + across * m * m, (curvature - across) * n * m, curvature * m * m + across * n * n],
      };
    },
    fromNoise(u, w) {
      const r = RADIUS + Math.sqrt(THICKNESS) * u;
      const angle = 2 * Math.PI * normalCdf(w);
      return [r * Math.cos(angle), r * Math.sin(angle)];
    },
    axes: ["x₁", "x₂"],
    view: { x: [-16, 16], y: [-16, 16] },
    close: { x: [6, 15], y: [-1, 8] },
    levels: [-14, -8, -4.5],
    sites: alternating([-1.534, -0.887, -0.489, -0.157, 0.157, 0.489, 0.887, 1.534]),
    marginal: {
      name: "angle / π",
      range: [-1, 1],
      of: (p) => Math.atan2(p[1], p[0]) / Math.PI,
      density: () => 0.5,
    },
    defaults: { alpha: 1, stepSize: 0.06, steps: 100, start: [12.3, 0], noise: [-0.9, 1.5] },
  };

  /* (x₁, x₂ + sin x₁) ~ N(0, Σ) with the paper's Σ. */
  const SIGMA = [10, 0.01, 0.001];
  const DETERMINANT = SIGMA[0] * SIGMA[2] - SIGMA[1] * SIGMA[1];
  const PRECISION = [SIGMA[2] / DETERMINANT, -SIGMA[1] / DETERMINANT, SIGMA[0] / DETERMINANT];
  const squiggle = {
    at([x1, x2]) {
      const [p11, p12, p22] = PRECISION;
      const sine = Math.sin(x1);
      const slope = Math.cos(x1);
      const y = x2 + sine;
      const q1 = p11 * x1 + p12 * y;
      const q2 = p12 * x1 + p22 * y;
      return {
        value: -0.5 * (x1 * q1 + y * q2),
        gradient: [-(q1 + q2 * slope), -q2],
        hessian: [-(p11 + 2 * p12 * slope + p22 * slope * slope - q2 * sine), -(p12 + p22 * slope), -p22],
      };
    },
    fromNoise(u, w) {
      const first = Math.sqrt(SIGMA[0]);
      const x1 = first * w;
      const y = (SIGMA[1] / first) * w + Math.sqrt(SIGMA[2] - (SIGMA[1] / first) ** 2) * u;
      return [x1, y - Math.sin(x1)];
    },
    axes: ["x₁", "x₂"],
    view: { x: [-10, 10], y: [-2.5, 2.5] },
    close: { x: [-3, 3], y: [-1.5, 1.5] },
    levels: [-10, -5, -2, -0.5],
    sites: alternating(spaced(-2.6, 2.6, 25)),
    marginal: { name: "x₁", range: [-11, 11], of: (p) => p[0], density: normalDensity(SIGMA[0]) },
    defaults: { alpha: 0.1, stepSize: 0.005, steps: 200, start: [-1.2, 0.93], noise: [1.5, -0.9], close: true },
  };

  /* Ten observations of x₁ + x₂², with mean 1 and variance 0.5; x₁, x₂ ~ N(0, 0.5). */
  const OBSERVED = 1;
  const DATA_PRECISION = 20;
  const PRIOR_VARIANCE = 0.5;
  const banana = {
    at([x1, x2]) {
      const misfit = OBSERVED - x1 - x2 * x2;
      return {
        value: -0.5 * (DATA_PRECISION * misfit * misfit + (x1 * x1 + x2 * x2) / PRIOR_VARIANCE),
        gradient: [
          DATA_PRECISION * misfit - x1 / PRIOR_VARIANCE,
          2 * DATA_PRECISION * misfit * x2 - x2 / PRIOR_VARIANCE,
        ],
        hessian: [
          -DATA_PRECISION - 1 / PRIOR_VARIANCE,
          -2 * DATA_PRECISION * x2,
          2 * DATA_PRECISION * (misfit - 2 * x2 * x2) - 1 / PRIOR_VARIANCE,
        ],
      };
    },
    fromNoise(u, w) {
      const x2 = bananaQuantile(normalCdf(w));
      const variance = 1 / (DATA_PRECISION + 1 / PRIOR_VARIANCE);
      return [variance * DATA_PRECISION * (OBSERVED - x2 * x2) + Math.sqrt(variance) * u, x2];
    },
    axes: ["x₁", "x₂"],
    view: { x: [-2.75, 2.25], y: [-2.5, 2.5] },
    close: { x: [-0.75, 1.75], y: [-1.25, 1.25] },
    levels: [-12, -8, -5, -3, -1.5],
    sites: pairs([-1.2, 1.2], spaced(-2.2, 2.2, 8)),
    marginal: { name: "x₂", range: [-2.2, 2.2], of: (p) => p[1], density: (t) => bananaTable().density(t) },
    defaults: { alpha: 0.1, stepSize: 0.08, steps: 20, start: [0.85, 0.1], noise: [0.6, 1.2] },
  };

  /* The marginal of x₂ by quadrature, made when it is first wanted. */
  let table = null;
  function bananaTable() {
    if (table) return table;
    const [low, high, cells] = [-5, 5, 4000];
    const width = (high - low) / cells;
    const variance = 1 / DATA_PRECISION + PRIOR_VARIANCE;
    const unscaled = (t) => Math.exp(-0.5 * ((t * t) / PRIOR_VARIANCE + (OBSERVED - t * t) ** 2 / variance));
    const below = [0];
    for (let i = 0; i < cells; i++) below.push(below[i] + unscaled(low + (i + 0.5) * width));
    const total = below[cells];
    table = { low, width, below: below.map((b) => b / total), density: (t) => unscaled(t) / (total * width) };
    return table;
  }

  function bananaQuantile(probability) {
    const { low, width, below } = bananaTable();
    let [left, right] = [0, below.length - 1];
    while (right - left > 1) {
      const middle = (left + right) >> 1;
      if (below[middle] <= probability) left = middle;
      else right = middle;
    }
    return low + width * (left + (probability - below[left]) / (below[right] - below[left]));
  }

  explorer.targets = { funnel, whitened, ring, squiggle, banana };
})((globalThis.mongepatchExplorer ??= {}));
