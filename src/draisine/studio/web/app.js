// The studio: one or two live models, controls, panels, and time.
(() => {
  "use strict";
  const { Theatre, Controls, Designs, Links, Rides, Row, Stability, Loads, Lifts, Modes, Charts, Gauge, hush, notify, refuse, words, WINDOW } = DraisineStudio;
  const { Live } = Draisine;
  const $ = (id) => document.getElementById(id), root = document.documentElement;
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const LONGEST_FRAME = 0.1; // s: a page that slept does not make up for it
  const AWAKE = 4; // frames that are drawn after anything happened; then a page at rest rests
  const FIRST = new Set(["speed", "lean", "roll_rate", "steer"]); // of what one may target for a start
  const CAMERAS = ["orbit", "follow", "top"];
  const ENDS = { fallen: "It fell over", "not finite": "The equations have no finite value there" };
  const EVENTS = ["pointerdown", "pointerup", "pointermove", "wheel", "keydown", "keyup", "input", "change", "click", "toggle"];

  class Studio {
    constructor(manifest, programs) {
      Object.assign(this, { manifest, programs, riding: false, pace: 1, camera: "orbit", outcome: "ok", rival: null, samples: [], warned: "" });
      Object.assign(this, { step: NaN, frames: NaN, rate: NaN, ticks: [], awake: AWAKE, last: null, count: 0 }); // ms a step, frames a second, …
      this.start = { ...manifest.start };
      this.live = this.another();
      this.live.jumps = [];
      this.theatre = this.scene();
      this.board = {
        stability: new Stability(manifest, css),
        loads: new Loads(manifest, this.live, css),
        lifts: new Lifts(manifest),
        modes: new Modes(manifest),
        charts: new Charts(manifest, css, this.theatre ? $("strips") : $("sheet")),
      };
      this.designs = new Designs(this);
      this.rides = new Rides(this);
      this.links = new Links(this);
      this.targets = this.starts();
      this.acts = this.keys();
      this.controls = new Controls(manifest, { pad: $("pad"), knob: $("knob"), acts: this.acts });
      this.levers = this.inputs();
      this.gauges = this.dials();
      this.help();
      this.hint();
      this.vehicles();
      this.buttons();
    }

    another() { return new Live(this.manifest, this.programs); }
    wake() { this.awake = AWAKE; }

    // ---------------------------------------------------------------- building

    scene() {
      let made = null;
      try {
        if (this.manifest.solids) made = new Theatre($("view"), this.manifest, this.live, () => this.wake());
      } catch (problem) {
        refuse(`The scene needs WebGL, which this browser does not provide (${problem.message}). Everything else works.`);
      }
      $("view").hidden = !made;
      $("sheet").hidden = Boolean(made);
      document.querySelector("[data-camera]").closest(".segments").hidden = !made;
      return made;
    }

    /** Rows of start targets; the most important first. */
    starts() {
      const { manifest } = this, first = (row) => row.name in manifest.start || FIRST.has(row.name);
      const rows = manifest.targets.map((target) => {
        const given = manifest.start[target.name] ?? target.default;
        const change = (value) => {
          if (value === given && !(target.name in manifest.start)) delete this.start[target.name];
          else this.start[target.name] = value;
          return null;
        };
        return new Row({ ...target, label: words(target.name), value: given, usual: given, change });
      });
      $("targets").append(...rows.filter(first).map((row) => row.element));
      $("more-targets").append(...rows.filter((row) => !first(row)).map((row) => row.element));
      $("more").hidden = rows.every(first);
      $("starts").hidden = !rows.length;
      $("starts").open = Boolean(rows.length) && !this.manifest.inputs.length; // where only a start can set it going
      return rows;
    }

    inputs() {
      const { manifest, controls } = this, { across, along } = controls.axes;
      const rows = manifest.inputs.map((input) => {
        const change = (value) => { controls.held[input.name] = value; return null; };
        return new Row({ ...input, label: words(input.name), value: 0, usual: 0, change });
      });
      $("levers").append(...rows.map((row) => row.element));
      $("inputs").hidden = !rows.length;
      $("inputs").open = Boolean(rows.length) && !manifest.linear;
      $("pad").hidden = !across && !along;
      $("pad-across").textContent = across ? `↔ ${words(across.name)}` : "";
      $("pad-along").textContent = along ? `↕ ${words(along.name)}` : "";
      $("push").hidden = !manifest.push;
      $("brake").hidden = !controls.brakes.all.length;
      controls.holds($("brake"), "b");
      return rows;
    }

    dials() {
      const { outputs, states, linear } = this.manifest, angle = [-Math.PI / 4, Math.PI / 4];
      return Object.entries({ speed: [0, linear?.high ?? 10], lean: angle, steer: angle }).flatMap(([name, [low, high]]) => {
        const output = outputs.findIndex((o) => o.name === name), state = states.findIndex((s) => s.name === name);
        if (output < 0 && state < 0) return [];
        const { unit } = output < 0 ? states[state] : outputs[output];
        const value = (one) => (output < 0 ? one.state[state] : one.outputs()[output]);
        return [{ dial: new Gauge($("gauges"), { label: name, unit, low, high }), value }];
      });
    }

    keys() {
      const layer = (name) => () => { if (this.theatre) this.theatre.layers[name] = !this.theatre.layers[name]; };
      return {
        " ": () => this.push(), r: () => this.again(this.riding || this.outcome !== "ok"), p: () => this.ride(!this.riding),
        c: () => this.look(CAMERAS[(CAMERAS.indexOf(this.camera) + 1) % CAMERAS.length]),
        1: () => this.look("orbit"), 2: () => this.look("follow"), 3: () => this.look("top"),
        f: () => $("arrows").click(), t: layer("tracks"), m: layer("masses"), x: layer("axes"),
        "-": () => this.quicken(-1), "+": () => this.quicken(1), "=": () => this.quicken(1),
        e: () => this.rides.record(), l: () => this.links.copy(), d: () => this.theme(root.dataset.theme === "dark" ? "light" : "dark"),
        h: () => this.fold(), "?": () => $("help").showModal(),
      };
    }

    help() {
      const { manifest } = this, { across, along } = this.controls.axes;
      for (const [keys, meaning] of [
        ["← →", across && words(across.name)], ["↑ ↓", along && words(along.name)], ["shift", manifest.inputs.length && "with an arrow: harder"],
        ["B", this.controls.brakes.all.length && "brake; with shift all wheels"], ["space", manifest.push && "a push from the side"], ["R", "start again"], ["P", "pause, ride on"], ["C, 1 2 3", "camera: orbit, follow, top"],
        ["− +", "slower, faster time"], ["E", "record"], ["L", "copy a link to this moment"], ["F T M X", "forces, tracks, centers of mass, axes"],
        ["D", "light or dark"], ["H", "panels"], ["?", "this help"],
      ]) {
        if (!meaning) continue;
        const row = $("keys").tBodies[0].insertRow();
        row.insertCell().append(Object.assign(document.createElement("kbd"), { textContent: keys }));
        row.insertCell().textContent = meaning;
      }
      $("description").textContent = manifest.description || "";
      const { step, switches } = manifest.runtime, names = switches.map((one) => one.name).join(", ");
      $("steps").textContent = `Steps of ${Number((step * 1000).toPrecision(6))} ms; events and falls are noticed at the end of a step.`
        + (names ? ` Steps are cut where the equations switch (${names}); there and back within one step is not seen.` : "");
      $("countersteering").hidden = !manifest.linear || !/steer/.test(across?.name ?? "");
    }

    /** On the first screen: what hands do here, with keys, or with fingers where there are no keys. */
    hint() {
      const { manifest, controls } = this, { across, along } = controls.axes, touch = matchMedia("(pointer: coarse)").matches;
      const both = [across && `↔ ${words(across.name)}`, along && `↕ ${words(along.name)}`].filter(Boolean).join(", ");
      const rows = touch
        ? [both && ["pad", `drag: ${both}`], controls.brakes.all.length && ["brake", "brakes"],
          manifest.push && ["push", "a push from the side"], ["↺", "starts again"]]
        : [across && ["← →", words(across.name)], along && ["↑ ↓", words(along.name)],
          controls.brakes.all.length && ["B", "brakes"], manifest.push && ["space", "a push from the side"], ["R", "starts again"], ["P", "pauses"],
          ["?", "all keys"]];
      for (const row of rows.filter(Boolean)) {
        const item = document.createElement("li");
        item.append(Object.assign(document.createElement("kbd"), { textContent: row[0] }), row[1]);
        $("hint").firstElementChild.append(item);
      }
      if (!$("countersteering").hidden) {
        $("hint").firstElementChild.append(Object.assign(document.createElement("li"), { textContent: "To turn left, first steer slightly to the right." }));
      }
      $("hint").hidden = false;
      const close = () => { $("hint").hidden = true; };
      $("hint-close").addEventListener("click", close);
      $("pad").addEventListener("pointerup", close, { once: true });
      window.addEventListener("keyup", (event) => { if (event.key.startsWith("Arrow")) close(); });
    }

    /** Other models to ride, where a server offers them. */
    vehicles() {
      const { vehicles = [], name } = this.manifest;
      const option = (one) => Object.assign(document.createElement("option"), { textContent: one.title, value: one.name, selected: one.name === name });
      $("vehicles").append(...vehicles.map(option));
      $("vehicles").hidden = vehicles.length < 2;
      $("vehicles").addEventListener("change", () => location.assign(`./${$("vehicles").value}`));
    }

    buttons() {
      // after a click, keys control the model again
      const press = (id, act) => $(id).addEventListener("click", (event) => {
        act();
        if (event.detail > 0) $("view").focus({ preventScroll: true });
      });
      const again = () => this.again(true);
      for (const [id, key] of Object.entries({ pause: "p", push: " ", record: "e", link: "l", theme: "d", fold: "h" })) press(id, this.acts[key]);
      press("reset", again);
      $("ask").addEventListener("click", this.acts["?"]);
      for (const button of document.querySelectorAll("[data-camera]")) button.addEventListener("click", () => this.look(button.dataset.camera));
      $("pace").addEventListener("change", () => this.quicken(0));
      $("begin").addEventListener("click", again);
      $("default-start").addEventListener("click", () => { this.start = { ...this.manifest.start }; again(); });
      $("arrows").addEventListener("change", () => { if (this.theatre) this.theatre.layers.forces = $("arrows").checked; });
      $("release").addEventListener("click", () => this.levers.forEach((row) => row.ask(0)));
      const stir = (event) => { if (event.type !== "pointermove" || event.buttons) this.wake(); };
      for (const kind of EVENTS) document.addEventListener(kind, stir, { capture: true, passive: true });
      document.addEventListener("visibilitychange", () => { this.last = null; this.ticks.length = 0; }); // a page that slept was not slow
    }

    // ---------------------------------------------------------------- running

    get shown() { return this.rides.shown?.live ?? this.live; }
    get both() { return this.rival && !this.rides.shown ? [this.live, this.rival] : [this.shown]; }

    ride(on) {
      if (on && this.outcome !== "ok" && !this.rides.shown) this.restart();
      if (on) hush();
      this.riding = on;
      $("pause").textContent = on ? "❚❚" : "▶";
      $("pause").setAttribute("aria-label", on ? "pause" : "ride on");
      this.showStatus();
    }

    restart() {
      this.rides.close();
      const refused = this.live.reset(this.start) ?? this.rival?.reset(this.start) ?? null;
      if (refused) refuse(`It cannot start like this: ${refused}`); else this.opened();
      return refused;
    }

    again(riding) { if (!this.restart() && riding) this.ride(true); }

    /** After the state of the models was set. */
    opened() {
      this.outcome = "ok";
      this.samples = [];
      this.designs.choose(this.designs.chosen);
      for (const row of this.targets) row.set(this.start[row.name] ?? row.usual);
      this.theatre?.wipe();
      this.look(this.camera);
      this.designs.changed();
      this.showStatus();
    }

    asGiven() {
      this.rides.close();
      this.start = { ...this.manifest.start };
      this.live.setParameters(this.designs.usual);
      this.live.reset(this.start);
      this.designs.compare(false);
      this.opened();
    }

    push() {
      if (!this.manifest.push || this.rides.shown) return;
      for (const one of this.both) one.push(this.manifest.push.amount);
    }

    quicken(by) {
      const list = $("pace");
      list.selectedIndex = Math.min(Math.max(list.selectedIndex + by, 0), list.options.length - 1);
      this.pace = Number(list.value);
    }

    // ---------------------------------------------------------------- view

    look(camera) {
      this.camera = root.dataset.camera = camera;
      for (const button of document.querySelectorAll("[data-camera]")) button.setAttribute("aria-pressed", String(button.dataset.camera === camera));
      this.theatre?.look(camera, this.shown);
    }

    theme(name) {
      root.dataset.theme = name;
      this.theatre?.stage.paint(css);
    }

    fold() { $("fold").setAttribute("aria-expanded", String(!$("studio").classList.toggle("folded"))); }

    fit() {
      const box = $("scene").getBoundingClientRect();
      this.theatre?.stage.fit(box.width, box.height);
      this.wake();
    }

    showStatus() {
      const { why } = this.live, ended = !this.rides.shown && ENDS[this.outcome];
      const moving = this.riding || this.rides.shown;
      $("status").textContent = ended ? `${ended}${why ? ` (${why})` : ""} · R starts again` : moving ? "" : "paused · P rides on";
      $("status").className = ended ? "fallen" : "";
      root.dataset.outcome = this.outcome;
      root.dataset.riding = String(this.riding);
      this.wake();
    }

    // ---------------------------------------------------------------- time

    advance(passed) {
      const { live, rival, rides } = this, inputs = this.controls.values(passed), seconds = passed * this.pace * this.manifest.pace;
      const before = live.time, clock = performance.now();
      if (this.outcome === "ok") this.outcome = live.advance(seconds, inputs);
      const steps = Math.round((live.time - before) / live.h), each = (performance.now() - clock) / steps;
      if (steps > 0) this.step = Number.isFinite(this.step) ? 0.95 * this.step + 0.05 * each : each;
      rival?.advance(seconds, inputs);
      this.warn(live.warning || rival?.warning || "");
      if (this.outcome !== "ok" || live.recorded.full) rides.end();
      if (this.outcome === "ok") return;
      if (!rival || rival.status !== "ok") this.ride(false); else this.showStatus();
    }

    /** Show once that a run is not integrated as it should be. */
    warn(text) {
      if (text && text !== this.warned) notify(text);
      this.warned = text;
    }

    sample(one) {
      const { samples } = this, span = WINDOW * this.manifest.pace;
      while (samples.length && samples[samples.length - 1].time >= one.time) samples.pop();
      if (one === this.live) samples.push(...this.live.jumps.splice(0).filter(({ time }) => time < one.time));
      samples.push({ time: one.time, outputs: one.outputs().slice(), state: one.state.slice(), energy: one.energy() });
      while (samples.length > 2 && samples[1].time < one.time - span) samples.shift();
    }

    frame(now) {
      const passed = this.last === null ? 0 : Math.min(Math.max(now - this.last, 0) / 1000, LONGEST_FRAME);
      if (this.last !== null) this.measure((now - this.last) / 1000);
      this.last = now;
      if (this.riding) this.wake();
      if (!this.riding || this.rides.shown) this.controls.values(passed); // its knob, and the buttons of gamepads
      if (this.awake > 0 || this.board.stability.waiting()) this.draw(now, passed);
      requestAnimationFrame((next) => this.frame(next));
    }

    /** Frames a second, and simulated seconds a second, over the last two seconds of the wall clock. */
    measure(passed) {
      const { ticks } = this, time = this.shown.time;
      const jumped = ticks.length && (time < ticks[ticks.length - 1].time || !this.riding);
      if (jumped) ticks.length = 0;
      ticks.push({ passed, time });
      let seconds = ticks.reduce((sum, tick) => sum + tick.passed, 0);
      while (ticks.length > 2 && seconds > 2) seconds -= ticks.shift().passed;
      seconds -= ticks[0].passed;
      this.frames = seconds > 0.5 ? (ticks.length - 1) / seconds : NaN;
      this.rate = seconds > 0.5 ? (time - ticks[0].time) / seconds / this.manifest.pace : NaN;
    }

    /** Simulated time, how fast it passes if not as chosen, and frames a second. */
    clock() {
      const { riding, rate, frames, pace } = this, slow = riding && rate < 0.95 * pace, known = riding && Number.isFinite(rate);
      const words = slow ? ` · ${rate.toFixed(2)}×, slower than ${pace === 1 ? "real time" : `the ${pace}× chosen`}` : known && pace !== 1 ? ` · ${pace}× real time` : "";
      $("clock").textContent = `${this.shown.time.toFixed(1)} s${words}${known ? ` · ${frames.toFixed(frames < 2 ? 1 : 0)} frames/s` : ""}`;
      $("clock").classList.toggle("slow", slow);
      root.dataset.rate = String(rate);
    }

    draw(now, passed) {
      this.awake = Math.max(this.awake - 1, 0);
      if (this.rides.shown) this.rides.forward(passed * this.pace);
      else if (this.riding) this.advance(passed);
      const one = this.shown, { stability, loads, lifts, modes, charts } = this.board;
      this.sample(one);
      this.theatre?.show(one, passed);
      if (this.riding) this.theatre?.ease(passed);
      for (const { dial, value } of this.gauges) dial.set(...this.both.map(value));
      if (this.count % 2 === 0 || !this.riding) {
        stability.update(now, this.both);
        loads.update(this.samples, one);
        lifts.update(this.samples);
        modes.update(this.live);
        charts.update(this.samples);
      }
      if (this.count % 6 === 0 || passed > 0.03 || !this.riding) this.clock(); // slow frames: in each of them
      if (this.count++ % 20 === 0) this.pulse();
      root.dataset.time = one.time;
    }

    pulse() {
      const { live } = this, step = Number.isFinite(this.step) ? this.step.toFixed(3) : "–";
      if (this.rides.recording) $("recorded").textContent = `recording: ${live.recorded.seconds.toFixed(1)} s`;
      $("pulse").textContent = `${step} ms of computing a step of ${live.h * 1000} ms`;
    }

    begin() {
      new ResizeObserver(() => this.fit()).observe($("scene"));
      new ResizeObserver(() => this.wake()).observe($("panel"));
      if (matchMedia("(max-width: 860px)").matches) for (const id of ["design", "loads", "quantities"]) $(id).open = false;
      this.fit();
      this.theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
      this.camera = this.theatre?.travels ? "follow" : "orbit";
      this.designs.compare(false);
      this.opened();
      if (!this.links.follow()) this.ride(!matchMedia("(prefers-reduced-motion: reduce)").matches);
      this.frame(performance.now());
    }
  }

  DraisineStudio.page = new Studio(Draisine.manifest, Draisine.programs);
  DraisineStudio.page.begin();
  root.dataset.ready = "true";
})();
