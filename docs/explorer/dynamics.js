/* Lagrangian dynamics in the Monge metric G = I + α² g gᵀ, and HMC, which is α = 0.

   The formulas are those of mongepatch's metrics/monge.py and integrators/lagrangian.py, in the merged scheme: a half
   kick, then drifts with one whole kick between them, and a half kick at the end. */
(function (explorer) {
  "use strict";

  const dot = (u, v) => u[0] * v[0] + u[1] * v[1];
  const times = ([h11, h12, h22], v) => [h11 * v[0] + h12 * v[1], h12 * v[0] + h22 * v[1]];
  const DIVERGENCE = 1000; // the energy error above which the library, too, counts a divergence

  /* The geometry at a position: g, H, L = 1 + α² g·g and h = H g. */
  function pointAt(target, alpha, position) {
    const { value, gradient, hessian } = target.at(position);
    const stretch = 1 + alpha * alpha * dot(gradient, gradient);
    return { position, value, gradient, hessian, stretch, curvature: times(hessian, gradient), alpha };
  }

  /* One kick of this length in time: the new velocity, and the log of the change of volume. */
  function kick(point, velocity, length) {
    const a = point.alpha * point.alpha;
    const share = a / point.stretch;
    const { gradient, curvature } = point;
    const along = times(point.hessian, velocity);
    const before = length * share * dot(curvature, velocity);
    const steep = [gradient[0] + length * along[0], gradient[1] + length * along[1]];
    const numerator = 1 - a * dot(velocity, along) + a * share * dot(steep, curvature);
    const push = (length * numerator) / (point.stretch * (1 + before));
    const kicked = [0, 1].map((i) => velocity[i] + push * gradient[i] - length * share * curvature[i]);
    const after = length * share * dot(curvature, kicked);
    return { velocity: kicked, logVolume: Math.log(Math.abs(1 - after)) - Math.log(Math.abs(1 + before)) };
  }

  /* E(x, v) = −ℓ − ½ log det G + ½ vᵀGv. */
  function energy(point, velocity) {
    const along = point.alpha * dot(point.gradient, velocity);
    return -point.value - 0.5 * Math.log(point.stretch) + 0.5 * (dot(velocity, velocity) + along * along);
  }

  /* Every point of a trajectory: row n is the end of a trajectory of n steps. */
  function integrate(target, alpha, position, velocity, stepSize, steps) {
    let point = pointAt(target, alpha, position);
    const rows = [{ position, velocity, energy: energy(point, velocity), logVolume: 0 }];
    let leaving = kick(point, velocity, 0.5 * stepSize);
    let logVolume = leaving.logVolume;
    for (let n = 0; n < steps; n++) {
      const arriving = leaving.velocity;
      const next = [0, 1].map((i) => point.position[i] + stepSize * arriving[i]);
      point = pointAt(target, alpha, next);
      const end = kick(point, arriving, 0.5 * stepSize);
      rows.push({
        position: next,
        velocity: end.velocity,
        energy: energy(point, end.velocity),
        logVolume: logVolume + end.logVolume,
      });
      leaving = kick(point, arriving, stepSize);
      logVolume += leaving.logVolume;
    }
    return rows;
  }

  /* What acceptance is decided by: E₁ − E₀ − log-volume. Infinite where a number of the trajectory is not finite. */
  function errorOf(rows) {
    const last = rows[rows.length - 1];
    const error = last.energy - rows[0].energy - last.logVolume;
    return rows.every((row) => Number.isFinite(row.energy)) && Number.isFinite(error) ? error : Infinity;
  }

  /* v = G^(−1/2) z, so that v ~ N(0, G⁻¹) where z is standard normal. */
  function velocityFromNoise(point, noise) {
    const root = Math.sqrt(point.stretch);
    const shrink = (-(point.alpha ** 2) / (root * (1 + root))) * dot(point.gradient, noise);
    return [noise[0] + shrink * point.gradient[0], noise[1] + shrink * point.gradient[1]];
  }

  /* z = G^(1/2) v, the inverse of it. */
  function noiseFromVelocity(point, velocity) {
    const grow = (point.alpha ** 2 / (1 + Math.sqrt(point.stretch))) * dot(point.gradient, velocity);
    return [velocity[0] + grow * point.gradient[0], velocity[1] + grow * point.gradient[1]];
  }

  /* One draw of the sampler: a new velocity, a trajectory, and the Metropolis test. */
  function transition(target, alpha, position, stepSize, steps, random) {
    const velocity = velocityFromNoise(pointAt(target, alpha, position), random.normals());
    const rows = integrate(target, alpha, position, velocity, stepSize, steps);
    const error = errorOf(rows);
    const accepted = Math.log(random.uniform()) < -error;
    const end = accepted ? rows[rows.length - 1].position : position;
    return { rows, accepted, diverged: error > DIVERGENCE, position: end };
  }

  /* A seeded generator (mulberry32), so that a page that is opened again shows the same. */
  function randomFrom(seed) {
    let state = seed >>> 0;
    function uniform() {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = state;
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
    }
    function normals() {
      const radius = Math.sqrt(-2 * Math.log(uniform()));
      const angle = 2 * Math.PI * uniform();
      return [radius * Math.cos(angle), radius * Math.sin(angle)];
    }
    return { uniform, normals };
  }

  Object.assign(explorer, {
    pointAt,
    kick,
    energy,
    integrate,
    errorOf,
    velocityFromNoise,
    noiseFromVelocity,
    transition,
    randomFrom,
  });
})((globalThis.mongepatchExplorer ??= {}));
