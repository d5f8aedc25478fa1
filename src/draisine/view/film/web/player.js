// Player of a film: interpolates poses of bodies between equidistant times.
// The data, by `draisine.view.film.page`: numbers as little-endian base64, positions in meters, quaternions scalar first.
(() => {
  "use strict";

  const $ = (id) => document.getElementById(id);
  const film = JSON.parse($("data").textContent);
  const root = document.documentElement;

  const { Stage, floats } = DraisineStage, { Plot, short, limits } = DraisinePlot;
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  for (const run of film.runs) {
    run.poses = floats(run.poses);
    run.tracks = run.tracks.map((t) => ({ ...t, points: floats(t.points) }));
    run.forces = run.forces.map((f) => ({ ...f, at: floats(f.at), vector: floats(f.vector) }));
    run.charts = run.charts.map(({ times, values }) => ({ times: floats(times), values: floats(values) }));
    run.contacts = run.contacts.map((c) => ({ ...c, at: floats(c.at) }));
    run.lifts = run.lifts.map(({ name, force }) => ({ name, force: floats(force) }));
    run.center = floats(run.center);
    run.end = run.start + run.step * (run.count - 1);
  }
  const main = film.runs[0];
  const begin = Math.min(...film.runs.map((r) => Math.min(r.start, r.end)));
  const end = Math.max(...film.runs.map((r) => Math.max(r.start, r.end)));

  // ------------------------------------------------------------------ state

  const state = {
    time: main.start, playing: false, speed: 1, camera: "orbit",
    layers: { tracks: true, forces: false, masses: false, axes: false, ghosts: true },
  };
  let dirty = true;

  function place(run, time) {
    // index of the previous sample, and fraction to the next
    const at = Math.min(Math.max((time - run.start) / run.step, 0), run.count - 1);
    const k = Math.min(Math.floor(at), Math.max(run.count - 2, 0));
    return { k, share: run.count > 1 ? at - k : 0 };
  }
  function between(values, width, { k, share }, offset, size, out) {
    const a = k * width + offset, b = Math.min(a + width, values.length - width + offset);
    for (let i = 0; i < size; i++) out[i] = values[a + i] + share * (values[b + i] - values[a + i]);
    return out;
  }

  /** The value of a chart at a time; where it jumps, that behind the jump. */
  function valueAt({ times, values }, time) {
    const way = times[times.length - 1] >= times[0] ? 1 : -1;
    let low = 0, high = times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (way * times[middle] <= way * time) low = middle; else high = middle - 1;
    }
    const next = Math.min(low + 1, times.length - 1), gap = times[next] - times[low];
    return gap ? values[low] + Math.min(Math.max((time - times[low]) / gap, 0), 1) * (values[next] - values[low]) : values[low];
  }

  // ------------------------------------------------------------------ the stage

  const size = film.size;
  let stage = null, actors = [];
  try {
    stage = new Stage($("view"), { size, span: film.span, ground: film.ground, changed: () => { dirty = true; } });
    actors = film.runs.map(actor);
  } catch (problem) {
    stage = null;
    $("trouble").textContent = "The view needs WebGL, which this browser does not offer here (" + problem.message + "). The charts work without.";
    $("trouble").hidden = false;
  }

  function actor(run, rank) {
    const made = stage.actor(film.casts[run.cast], { ghost: rank > 0, color: run.color });
    const tracks = run.tracks.map(({ color, points }) => {
      const track = made.track(color, run.count);
      for (let k = 0; k < run.count; k++) track.append(points[3 * k], points[3 * k + 1], points[3 * k + 2]);
      return track;
    });
    const forces = run.forces.map((force) => ({ ...force, arrow: made.arrow() }));
    const contacts = run.contacts.map((contact) => ({ ...contact, dot: made.dot() }));
    return { run, made, tracks, forces, contacts };
  }

  function paintTheme() {
    if (stage) stage.paint(css);
    dirty = true;
  }

  // ------------------------------------------------------------------ moving it

  const position = [0, 0, 0], turn = [0, 0, 0, 0];
  function pose({ run, made, tracks, forces, contacts }) {
    const at = place(run, state.time), width = 7 * made.bodies.length;
    for (let i = 0; i < made.bodies.length; i++) {
      between(run.poses, width, at, 7 * i, 3, position);
      between(run.poses, width, at, 7 * i + 3, 4, turn);
      made.place(i, position, turn);
    }
    made.stretch();
    for (const track of tracks) track.upTo(Math.min(at.k + (at.share > 0 ? 2 : 1), run.count));
    for (const { at: points, vector, arrow } of forces) {
      arrow.point(between(points, 3, at, 0, 3, [0, 0, 0]), between(vector, 3, at, 0, 3, [0, 0, 0]), film.force_scale, state.layers.forces);
    }
    const nearest = Math.min(at.k + Math.round(at.share), run.count - 1);
    for (const { at: points, colors, dot } of contacts) dot.mark(between(points, 3, at, 0, 3, [0, 0, 0]), colors[nearest]);
  }

  const centreAt = (time) => between(main.center, 3, place(main, time), 0, 3, [0, 0, 0]);

  function heading(otherwise) {
    // of the way it goes around now; where it stands, as before
    const a = centreAt(state.time - 0.4), b = centreAt(state.time + 0.4), dx = b[0] - a[0], dy = b[1] - a[1];
    return Math.hypot(dx, dy) > 0.02 * size ? Math.atan2(dy, dx) : otherwise;
  }

  function aim(fresh) {
    stage.aim({ center: centreAt(state.time), course: heading(stage.course), goal: film.travels ? null : film.middle, fresh });
  }

  function show() {
    if (!stage) return;
    actors.forEach((actor, rank) => {
      actor.made.group.visible = rank === 0 || state.layers.ghosts;
      actor.made.show(state.layers);
      pose(actor);
    });
    aim(false);
    stage.render();
  }

  // ------------------------------------------------------------------ charts

  const panels = film.charts.map((chart, i) => {
    const figure = document.createElement("figure"), caption = document.createElement("figcaption");
    const name = document.createElement("span"), value = document.createElement("span"), canvas = document.createElement("canvas");
    name.textContent = chart.label;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", chart.label + " against time");
    caption.append(name, value);
    figure.append(caption, canvas);
    $("charts").append(figure);
    const range = limits(film.runs.flatMap((run) => Array.from(run.charts[i]?.values ?? [])));
    const panel = { chart, i, plot: new Plot(canvas, css), value, range };
    const seek = (event) => { if (event.buttons) go(panel.plot.at(event.clientX - canvas.getBoundingClientRect().left)); };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); seek(event); });
    canvas.addEventListener("pointermove", seek);
    return panel;
  });

  function draw({ chart, i, plot, value, range }) {
    plot.begin([begin, end], range, { unit: "s" });
    for (const [rank, run] of [...film.runs.entries()].reverse()) {
      const line = run.charts[i];
      if (!line || (rank > 0 && !state.layers.ghosts)) continue;
      const look = rank ? { color: run.color, alpha: 0.75, width: 1.2 } : { color: css("--accent") };
      plot.line(line.times.length, (k) => line.times[k], (k) => line.values[k], look);
    }
    plot.upright(state.time, css("--ink"));
    const now = main.charts[i] ? valueAt(main.charts[i], state.time) : NaN;
    const read = Math.abs(now) < 1e-9 * (range[1] - range[0]) ? 0 : now; // rounding is no reading
    value.textContent = Number.isFinite(now) ? short(read) + (chart.unit && chart.unit !== "°" ? " " : "") + chart.unit : "–";
    if (Number.isFinite(now)) plot.dot(state.time, now, css("--accent"));
  }

  // ------------------------------------------------------------------ controls

  const slider = $("time");
  slider.min = begin; slider.max = end;

  function go(time) {
    state.time = Math.min(Math.max(time, begin), end);
    slider.value = state.time;
    dirty = true;
  }
  function play(on) {
    if (on && state.time >= end - 1e-9) go(begin);
    state.playing = on;
    $("play").textContent = on ? "❚❚" : "▶";
    $("play").setAttribute("aria-label", on ? "pause" : "play");
  }
  function look(camera) {
    state.camera = camera;
    for (const button of document.querySelectorAll("button[data-camera]")) button.setAttribute("aria-pressed", String(button.dataset.camera === camera));
    if (stage) { stage.camera = camera; aim(true); }
    dirty = true;
  }
  function layer(name, on) {
    state.layers[name] = on;
    document.querySelector(`[data-layer="${name}"]`).checked = on;
    dirty = true;
  }
  function speed(choice) {
    const options = Array.from($("speed").options), k = Math.min(Math.max(choice, 0), options.length - 1);
    $("speed").selectedIndex = k;
    state.speed = Number(options[k].value);
  }
  function theme(name) {
    root.dataset.theme = name;
    paintTheme();
  }

  slider.addEventListener("input", () => { play(false); go(Number(slider.value)); });
  $("play").addEventListener("click", () => play(!state.playing));
  $("speed").addEventListener("change", () => speed($("speed").selectedIndex));
  $("theme").addEventListener("click", () => theme(root.dataset.theme === "dark" ? "light" : "dark"));
  for (const button of document.querySelectorAll("button[data-camera]")) button.addEventListener("click", () => look(button.dataset.camera));
  for (const box of document.querySelectorAll("[data-layer]")) {
    box.addEventListener("change", () => layer(box.dataset.layer, box.checked));
    const empty = { tracks: () => !film.runs.some((r) => r.tracks.length), forces: () => !film.runs.some((r) => r.forces.length), ghosts: () => film.runs.length < 2 };
    if (empty[box.dataset.layer]?.()) box.closest("label").hidden = true;
  }
  const cameras = { 1: "orbit", 2: "follow", 3: "top" }, keys = { t: "tracks", f: "forces", m: "masses", x: "axes", g: "ghosts" };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const step = event.shiftKey ? 1 : 1 / 30;
    if (key === " ") { if (["BUTTON", "SUMMARY"].includes(event.target.tagName) || event.target.type === "checkbox") return; play(!state.playing); }
    else if (key === "ArrowLeft") { play(false); go(state.time - step); }
    else if (key === "ArrowRight") { play(false); go(state.time + step); }
    else if (key === "Home") go(begin);
    else if (key === "End") go(end);
    else if (cameras[key]) look(cameras[key]);
    else if (keys[key]) layer(keys[key], !state.layers[keys[key]]);
    else if (key === "+" || key === "=") speed($("speed").selectedIndex + 1);
    else if (key === "-") speed($("speed").selectedIndex - 1);
    else if (key === "d") theme(root.dataset.theme === "dark" ? "light" : "dark");
    else return;
    event.preventDefault();
  });

  addEventListener("message", ({ source, data }) => {
    if (source === parent && data?.draisine === "time" && Number.isFinite(data.time)) { play(false); go(data.time); }
  });

  for (const run of film.runs) {
    if (film.runs.length < 2) break;
    const item = document.createElement("li");
    item.textContent = run.label;
    item.style.setProperty("--mark", run === main ? "var(--accent)" : run.color);
    $("legend").append(item);
  }

  function fit() {
    if (stage) {
      const box = $("stage").getBoundingClientRect();
      stage.fit(box.width, box.height);
    }
    dirty = true;
  }
  new ResizeObserver(fit).observe($("stage"));

  const decimals = end - begin < 1 ? 4 : 2;
  let last = null;
  function tick(now) {
    const passed = last === null ? 0 : Math.min((now - last) / 1000, 0.1);
    last = now;
    if (state.playing) {
      const next = state.time + passed * state.speed;
      if (next >= end) { go(end); play(false); } else go(next);
    }
    if (dirty) {
      dirty = false;
      $("clock").textContent = `${state.time.toFixed(decimals)} / ${end.toFixed(decimals)} s`;
      const { k, share } = place(main, state.time), at = Math.min(k + Math.round(share), main.count - 1);
      const lifted = main.lifts.filter(({ force }) => force[at] < 0).map(({ name }) => name);
      $("lifts").textContent = lifted.length ? `the ground would have to pull on ${lifted.join(" and ")}` : "";
      show();
      panels.forEach(draw);
      root.dataset.time = state.time;
      root.dataset.camera = state.camera;
      if (parent !== window) parent.postMessage({ draisine: "time", time: state.time }, "*"); // to the cell of a notebook
    }
    requestAnimationFrame(tick);
  }

  theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  fit();
  // a film of less than a second is over before it is seen: it begins in slow motion, which the list of speeds shows
  if (end - begin < 1) speed(Array.from($("speed").options).findLastIndex((each, k) => k === 0 || (end - begin) / Number(each.value) >= 1.5));
  look(state.camera);
  go(main.start);
  for (const name of film.layers) layer(name, true);
  play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  requestAnimationFrame(tick);
  root.dataset.ready = "true";
})();
