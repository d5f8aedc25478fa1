// Panels: stability, forces and energy, charts of chosen quantities, differences between two designs.
(() => {
  "use strict";
  const { Spectrum, Strip, words, shown, display } = DraisineStudio;
  const $ = (id) => document.getElementById(id);
  const COARSE = 61, FINE = 161, PATIENCE = 90, REST = 260; // speeds; ms between drawings while a slider moves, and until it rests
  const NEUTRAL = 1e-6; // 1/s: a rate of growth that is none
  const WINDOW = 10; // s that strips show

  const element = (tag, text, of = {}) => Object.assign(document.createElement(tag), { textContent: text, ...of });

  // ------------------------------------------------------------------ stability

  /** First and last index of each run of true values. */
  function runs(list) {
    const found = [];
    list.forEach((ok, i) => {
      if (ok && !list[i - 1]) found.push([i, i]);
      if (ok) found[found.length - 1][1] = i;
    });
    return found;
  }

  class Stability {
    constructor(manifest, css) {
      this.linear = manifest.linear;
      $("stability").hidden = !this.linear;
      if (!this.linear) return;
      $("sweep").textContent = words(this.linear.sweep);
      this.speed = manifest.outputs.findIndex(({ name }) => name === this.linear.sweep);
      this.chart = new Spectrum($("spectrum"), css, `${words(this.linear.sweep)} [m/s]`);
      this.css = css;
      this.stale = { since: -Infinity, fine: false };
      this.computed = -Infinity;
      this.key();
    }

    key(second = false) {
      const lines = [["Re λ [1/s], oscillates", "var(--accent)", "solid"], ["Re λ [1/s], does not", "var(--real)", "solid"], ["Im λ [rad/s]", "var(--accent)", "dotted"]];
      if (second) lines.push(["B", "var(--second)", "dashed"]);
      $("spectrum-key").replaceChildren(...lines.map(([text, mark, stroke]) => {
        const item = element("li", text);
        item.style.setProperty("--mark", mark);
        item.style.setProperty("--stroke", stroke);
        return item;
      }));
    }

    change(now) { if (this.linear) this.stale = { since: now, fine: false }; }

    waiting() { return Boolean(this.linear) && $("stability").open && !this.stale.fine; }

    speeds(count) {
      const { low, high } = this.linear;
      return Array.from({ length: count }, (_, i) => low + (high - low) * i / (count - 1));
    }

    update(now, lives) {
      if (!this.linear || !$("stability").open) return;
      const resting = now - this.stale.since > REST;
      if (!this.stale.fine && (resting || now - this.computed > PATIENCE)) {
        const speeds = this.speeds(resting ? FINE : COARSE);
        this.chart.set(lives.map((live, k) => ({ speeds, ...live.spectrum(null, speeds), critical: live.critical(null), second: k > 0 })));
        this.computed = now;
        this.stale.fine = resting;
        this.key(lives.length > 1);
        this.verdict();
      }
      this.chart.draw(lives.map((live) => (this.speed < 0 ? NaN : live.outputs()[this.speed])));
    }

    /** Self-stable range as text. */
    verdict() {
      const { speeds, re, critical } = this.chart.sets[0], end = speeds.length - 1, step = speeds[1] - speeds[0];
      const spans = runs(re.map((row) => row.every((v) => v < -NEUTRAL)));
      const neutral = spans.length ? [] : runs(re.map((row) => row.every((v) => v < NEUTRAL)));
      const exact = (i) => {
        // the critical speed next to a speed of the chart, if there is one
        const near = critical.map(({ speed }) => speed).sort((a, b) => Math.abs(a - speeds[i]) - Math.abs(b - speeds[i]))[0];
        return (Math.abs(near - speeds[i]) <= 1.01 * step && i > 0 && i < end ? near : speeds[i]).toFixed(2);
      };
      const says = [...spans, ...neutral].map(([a, b]) => (b === end ? `above ${exact(a)}` : `from ${exact(a)} to ${exact(b)}`));
      const where = says.length ? `${says.join(" and ")} m/s` : "at no speed shown";
      const text = neutral.length ? `Without control, disturbances are neutral ${where}.` : `Without control, it is self-stable ${where}.`;
      $("verdict").textContent = text;
      $("verdict").dataset.critical = critical.map(({ name, speed }) => `${name}=${speed}`).join(";");
    }
  }

  // ------------------------------------------------------------------ forces and energy

  const PARTS = [["longitudinal_force", "along"], ["lateral_force", "to the left"], ["normal_force", "up"]];

  /** Contacts at which the ground would have to pull now: ideal ones do not lift off, and the motion is not possible from then on. */
  class Lifts {
    constructor(manifest) {
      const end = "_normal_force";
      const open = (manifest.runtime.machine?.contacts ?? []).map((name) => name + end); // these do lift off
      this.contacts = manifest.outputs.map(({ name }, at) => ({ name, at })).filter(({ name }) => name.endsWith(end) && !open.includes(name))
        .map(({ name, at }) => ({ name: words(name.slice(0, -end.length)), at }));
    }

    update(samples) {
      const { outputs } = samples[samples.length - 1], lifted = this.contacts.filter(({ at }) => outputs[at] < 0);
      const text = lifted.length ? `The ground would have to pull on ${lifted.map(({ name }) => name).join(" and ")}: it would lift off` : "";
      if ($("lifts").textContent !== text) $("lifts").textContent = text;
    }
  }

  /** Contacts that stick, slip and open: the mode of each as text, in its color. */
  class Modes {
    constructor(manifest) {
      const { machine } = manifest.runtime;
      $("contacts").hidden = !machine;
      this.items = (machine?.contacts ?? []).map((name, i) => {
        const row = $("modes").tBodies[0].insertRow(), mark = element("i", "");
        row.append(element("th", words(name), { scope: "row" }));
        const cell = row.insertCell(), text = element("span", "");
        cell.append(mark, text);
        return { mark, text, i, mode: -1 };
      });
      this.colors = machine?.colors;
    }

    update(live) {
      for (const item of this.items) {
        const mode = live.contacts.mode(item.i);
        if (mode === item.mode) continue;
        item.mode = mode;
        item.text.textContent = Draisine.MODES[mode];
        item.mark.style.background = this.colors[mode] || "transparent";
      }
    }
  }

  class Loads {
    constructor(manifest, live, css) {
      const place = (name) => manifest.outputs.findIndex((o) => o.name === name), forces = live.forces();
      this.energetic = live.energy() !== null && Number.isFinite(live.energy()?.total);
      this.local = forces.length > 0 && forces.every(({ name }) => PARTS.every(([part]) => place(`${name}_${part}`) >= 0));
      $("forces").hidden = $("arrows").closest("p").hidden = !forces.length;
      $("loads").hidden = !forces.length && !this.energetic;
      if (this.local) PARTS.forEach(([, text], k) => { $("forces").tHead.rows[0].cells[k + 1].textContent = text; });
      this.rows = forces.map(({ name }) => {
        const row = $("forces").tBodies[0].insertRow(), head = element("th", words(name), { scope: "row" });
        row.append(head);
        return { cells: [0, 1, 2].map(() => row.insertCell()), at: PARTS.map(([part]) => place(`${name}_${part}`)) };
      });
      this.strip = this.energetic && new Strip($("energy"), { title: "energy [J]", unit: "J", series: [
        { label: "kinetic", color: "var(--accent)", of: (s) => s.energy.kinetic },
        { label: "potential", color: "var(--real)", of: (s) => s.energy.potential },
        { label: "total", color: "var(--ink)", of: (s) => s.energy.total },
      ] }, css);
    }

    update(samples, live) {
      if (!$("loads").open) return;
      const last = samples[samples.length - 1];
      if (this.rows.length) live.forces().forEach(({ force }, i) => this.rows[i].cells.forEach((cell, k) => {
        const value = this.local ? last.outputs[this.rows[i].at[k]] : force[k];
        cell.textContent = Number.isFinite(value) ? `${String(Math.round(value) || 0).replace("-", "−")} N` : "–";
      }));
      if (this.strip) this.strip.draw(samples, WINDOW);
    }
  }

  // ------------------------------------------------------------------ charts of anything

  const USUAL = ["lean", "steer", "yaw_rate"], DULL = /_q[wxyz]$|_contact_|_force|_angle_in/;

  class Charts {
    constructor(manifest, css, place) {
      Object.assign(this, { css, place, strips: [] });
      this.known = new Map();
      manifest.outputs.forEach(({ name, unit }, i) => this.known.set(name, { unit, of: (s) => s.outputs[i] }));
      manifest.states.forEach(({ name, unit }, i) => { if (!this.known.has(name)) this.known.set(name, { unit, of: (s) => s.state[i] }); });
      const options = [...this.known.keys()].map((name) => element("option", words(name), { value: name }));
      $("add").append(element("option", "choose…", { value: "" }), ...options);
      $("add").addEventListener("change", () => { if ($("add").value) this.add($("add").value); $("add").value = ""; });
      const usual = USUAL.filter((name) => this.known.has(name)), states = manifest.states.map((s) => s.name).filter((name) => !DULL.test(name));
      (usual.length > 1 ? usual : states.slice(0, 4)).forEach((name) => this.add(name));
    }

    add(name) {
      const { unit, of } = this.known.get(name), angle = display(unit).unit;
      this.strips.push(new Strip(this.place, {
        title: `${words(name)} [${angle || "–"}]`, unit, series: [{ label: "", color: "var(--accent)", of }],
        close: (strip) => { this.strips = this.strips.filter((s) => s !== strip); },
      }, this.css));
    }

    update(samples) { for (const strip of this.strips) strip.draw(samples, WINDOW); }
  }

  // ------------------------------------------------------------------ two designs

  function differences(manifest, a, b) {
    const body = $("differences").tBodies[0];
    body.replaceChildren();
    manifest.parameters.forEach(({ name, unit }, i) => {
      if (!b || a[i] === b[i]) return;
      const row = body.insertRow(), { factor, unit: own } = display(unit);
      row.append(element("th", words(name), { scope: "row" }));
      row.append(element("td", shown(factor * a[i]), { className: "a" }), element("td", shown(factor * b[i]), { className: "b" }), element("td", own));
    });
    $("differences").caption.hidden = body.rows.length > 0;
  }

  Object.assign(DraisineStudio, { Stability, Loads, Lifts, Modes, Charts, differences, WINDOW });
})();
