/* The page: controls, three panels, and sentences that say what one sees. */
(function (explorer) {
  "use strict";

  const { targets, Panel, randomFrom } = explorer;
  const find = (id) => document.getElementById(id);

  const PANELS = {
    lmc: { title: "LMC, Monge metric", metric: "G = I + α²∇ℓ∇ℓᵀ" },
    hmc: { title: "HMC", metric: "G = I: the same ε and L, α = 0" },
    whitened: { title: "HMC, whitened coordinates", metric: "the same funnel with z in the place of x" },
  };
  const SEEN = {
    funnel:
      "The neck becomes narrower than any step. The ellipses of the Monge metric shrink across it, so LMC goes down " +
      "the neck with a step that throws HMC out of it. In whitened coordinates there is no neck: HMC goes down at a " +
      "third of the cost.",
    ring:
      "A path of HMC swings from wall to wall. As α rises, the path follows the ring like an orbit, but its energy " +
      "error grows, and ε has to be smaller. Its steps cost three times as much, so that HMC is the better choice here.",
    squiggle:
      "The ridge bends, and with it the one direction that the metric stiffens. LMC's ellipses lie along the ridge, " +
      "but its energy error is larger: HMC with the same ε and L accepts more. Lower α, and LMC becomes HMC.",
    banana:
      "The data measure x₁ + x₂² alone, so that the posterior is a bent ridge whose width varies little. A step that " +
      "suits one place suits the others: HMC accepts more than LMC, at a third of the cost.",
  };

  /* Sliders have even scales; α and ε do not. */
  const ALPHA = { value: (t) => 3 * t ** 3, place: (alpha) => Math.cbrt(alpha / 3) };
  const EPSILON = { value: (t) => 0.002 * 500 ** t, place: (epsilon) => Math.log(epsilon / 0.002) / Math.log(500) };
  const short = (value) => String(Number(value.toPrecision(2)));

  const state = { name: "funnel", running: false, random: randomFrom(1) };
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  function makePanel(name) {
    const figure = find("panel").content.firstElementChild.cloneNode(true);
    figure.classList.add(name);
    figure.querySelector("h2").textContent = PANELS[name].title;
    figure.querySelector(".metric").textContent = PANELS[name].metric;
    const label = `${PANELS[name].title}: contours, ellipses of the metric, a trajectory and draws`;
    figure.querySelector("canvas").setAttribute("aria-label", label);
    find("panels").append(figure);
    const whitened = name === "whitened";
    const panel = new Panel(figure, {
      onStart: (start) => change({ start: whitened && !back.checked ? targets.whitened.toFunnel(start) : start }),
      onNoise: (noise) => change({ noise }),
    });
    const back = figure.querySelector(".back input");
    figure.querySelector(".back").hidden = !whitened;
    back.addEventListener("change", drawAll);
    return Object.assign(panel, { name, back });
  }

  const panels = Object.keys(PANELS).map(makePanel);
  const shownPanels = () => panels.filter((panel) => !panel.element.hidden);

  /* What a panel shows of the state. */
  function sceneOf(panel) {
    const { name, alpha, stepSize, steps, start, noise } = state;
    const common = { stepSize, steps, noise, colour: panel.name };
    if (panel.name === "whitened")
      return { ...common, target: targets.whitened, alpha: 0, start: targets.whitened.fromFunnel(start) };
    return { ...common, target: targets[name], alpha: panel.name === "lmc" ? alpha : 0, start };
  }

  function change(changes) {
    Object.assign(state, changes);
    state.random = randomFrom(1);
    for (const panel of shownPanels()) panel.show(sceneOf(panel));
    drawAll();
  }

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const names = ["paper", "ink", "muted", "line", "lmc", "hmc", "whitened", "contour", "shade"];
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }

  function drawAll() {
    const palette = colours();
    for (const panel of shownPanels()) {
      const over = panel.name === "whitened" && panel.back.checked;
      panel.draw(palette, find("close").checked, over ? { shown: targets.funnel, map: targets.whitened.toFunnel } : {});
    }
    writeSettings();
  }

  function writeSettings() {
    const { alpha, stepSize, steps } = state;
    const shown = { alpha: short(alpha), epsilon: short(stepSize), steps: String(steps) };
    for (const [id, text] of Object.entries(shown)) {
      find(`${id}-value`).textContent = text;
      find(id).setAttribute("aria-valuetext", text);
    }
    find("verdict").textContent = shownPanels().map(verdict).join(" ");
    find("sample").textContent = state.running ? "Pause" : "Sample";
  }

  function verdict(panel) {
    const probability = Math.min(1, Math.exp(-panel.error));
    let outcome = `accepted with probability ${probability.toFixed(2)}`;
    if (probability > 0.995) outcome = "accepted";
    if (probability < 0.005) outcome = "rejected";
    return `${PANELS[panel.name].title}: this trajectory is ${outcome}.`;
  }

  function placeSliders() {
    find("alpha").value = ALPHA.place(state.alpha);
    find("epsilon").value = EPSILON.place(state.stepSize);
    find("steps").value = state.steps;
  }

  /* A target with its own settings. */
  function choose(name) {
    stop();
    const { defaults, marginal } = targets[name];
    for (const panel of panels) {
      panel.element.hidden = panel.name === "whitened" && name !== "funnel";
      panel.element.querySelector(".smallest").textContent = `smallest ${marginal.name}`;
    }
    find("seen").textContent = SEEN[name];
    find("close").checked = defaults.close ?? false;
    change({ name, ...defaults });
    placeSliders();
  }

  /* The first draws are shown one by one, the later ones many at a time. */
  function frame() {
    if (!state.running) return;
    for (const panel of shownPanels()) panel.sample(1 + Math.floor(panel.chain.draws.length / 25), state.random);
    if (shownPanels().every((panel) => panel.finished)) stop();
    drawAll();
    if (state.running) setTimeout(() => requestAnimationFrame(frame), panels[0].chain.draws.length < 30 ? 120 : 0);
  }

  function stop() {
    state.running = false;
  }

  function sample() {
    if (state.running) {
      stop();
      drawAll();
      return;
    }
    find("close").checked = false; // draws are everywhere
    if (shownPanels().every((panel) => panel.finished)) for (const panel of panels) panel.clear();
    if (still.matches) {
      for (const panel of shownPanels()) panel.sample(1000, state.random);
      drawAll();
      return;
    }
    state.running = true;
    frame();
  }

  find("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const radio of document.querySelectorAll("[name=target]"))
    radio.addEventListener("change", () => choose(radio.value));
  find("alpha").addEventListener("input", (event) => change({ alpha: ALPHA.value(Number(event.target.value)) }));
  find("epsilon").addEventListener("input", (event) => change({ stepSize: EPSILON.value(Number(event.target.value)) }));
  find("steps").addEventListener("input", (event) => change({ steps: Number(event.target.value) }));
  find("sample").addEventListener("click", sample);
  const velocities = randomFrom(2);
  find("velocity").addEventListener("click", () => change({ noise: velocities.normals() }));
  find("clear").addEventListener("click", () => change({}));
  find("reset").addEventListener("click", () => choose(state.name));
  find("close").addEventListener("change", drawAll);
  dark.addEventListener("change", drawAll);
  new ResizeObserver(drawAll).observe(find("panels"));

  choose(document.querySelector("[name=target]:checked").value);
})((globalThis.mongepatchExplorer ??= {}));
