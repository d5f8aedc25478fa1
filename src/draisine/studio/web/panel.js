// Rows of the panels: a slider and a number for one quantity, and parameters in groups with search and reset.
(() => {
  "use strict";
  const raised = (_, power) => [...power].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
  const pretty = (unit) => unit.replaceAll("*", "·").replace(/\^(-?\d)/g, raised);
  const shown = (v) => String(Number(v.toPrecision(6)));
  const DEGREES = { rad: "°", "rad/s": "°/s", "rad/s^2": "°/s^2" };
  /** How a quantity is shown: angles in degrees. The model's own unit is radians, in which links and recordings are written. */
  const display = (unit) => (unit in DEGREES ? { factor: 180 / Math.PI, unit: pretty(DEGREES[unit]) } : { factor: 1, unit: pretty(unit) });

  /** An adjustable quantity: `change(value)` returns null or the reason for a refusal. */
  class Row {
    constructor({ name, label, unit = "", about = "", low, high, value, usual, change }) {
      Object.assign(this, { name, usual, change, text: `${name} ${label} ${about}`.toLowerCase() });
      this.element = document.createElement("div");
      this.element.className = "row";
      const id = `row-${Row.count++}`;
      const [caption, units, back] = ["label", "span", "button"].map((tag) => document.createElement(tag));
      const { factor, unit: own } = display(unit), seen = (v) => shown(factor * v);
      Object.assign(this, { factor, seen });
      this.slider = Object.assign(document.createElement("input"), { type: "range", min: low, max: high, step: "any", id });
      this.box = Object.assign(document.createElement("input"), { type: "number", step: "any" });
      caption.htmlFor = id;
      caption.textContent = label;
      caption.title = about ? `${name}: ${about}` : name;
      this.slider.setAttribute("aria-valuetext", "");
      this.slider.dataset.name = this.box.dataset.name = name;
      this.box.setAttribute("aria-label", `${label}, number${own ? " in " + own : ""}`);
      units.className = "unit";
      units.textContent = units.title = own;
      back.type = "button";
      back.textContent = "↺";
      back.title = `back to ${seen(usual)}`;
      back.setAttribute("aria-label", `${label} back to ${seen(usual)}`);
      this.element.append(caption, this.slider, this.box, units, back);
      this.slider.addEventListener("input", () => this.ask(Number(this.slider.value)));
      this.box.addEventListener("change", () => this.typed(this.box.value.trim()));
      back.addEventListener("click", () => { this.ask(this.usual); this.slider.focus(); });
      this.unit = own;
      this.set(value);
    }

    typed(text) { this.ask(text === "" ? NaN : text === this.seen(this.value) ? this.value : Number(text) / this.factor); }

    ask(value) {
      const refused = Number.isFinite(value) ? this.change(value) : `${this.name} must be a number`;
      this.box.setAttribute("aria-invalid", String(Boolean(refused)));
      if (refused) { this.box.title = refused; this.set(this.value); } else { this.box.title = ""; this.set(value); }
    }

    set(value) {
      this.value = value;
      this.slider.value = value;
      this.slider.setAttribute("aria-valuetext", `${this.seen(value)} ${this.unit}`);
      this.box.value = this.seen(value);
      this.element.classList.toggle("changed", value !== this.usual);
    }
  }
  Row.count = 0;

  const words = (name) => name.replaceAll("_", " ");
  const SYMBOLS = {
    m: "mass", r: "radius", x: "center x", y: "center y", z: "center z", ixx: "inertia xx", iyy: "inertia yy", izz: "inertia zz",
    ixz: "inertia xz", ixy: "inertia xy", iyz: "inertia yz",
  };

  /** A parameter's group, which is the body it ends with, and its name there. */
  function grouped(name, bodies) {
    const body = bodies.filter((b) => name.endsWith("_" + b)).sort((a, b) => b.length - a.length)[0];
    if (!body) return ["the whole", words(name)];
    const stem = name.slice(0, -body.length - 1);
    return [words(body), SYMBOLS[stem] ?? words(stem)];
  }

  /** All parameters: rows by group, search, reset. */
  class Parameters {
    constructor(manifest, place, { change, count, search }) {
      this.rows = new Map();
      this.count = count;
      const groups = new Map();
      for (const parameter of manifest.parameters) {
        const [group, label] = grouped(parameter.name, manifest.bodies);
        if (!groups.has(group)) {
          const set = document.createElement("details"), title = document.createElement("summary");
          set.className = "group";
          set.open = groups.size === 0;
          title.textContent = group;
          set.append(title);
          place.append(set);
          groups.set(group, { set, rows: [], group });
        }
        const { name, default: usual } = parameter;
        const asked = (value) => { queueMicrotask(() => this.tally()); return change(name, value); };
        const row = new Row({ ...parameter, label, value: usual, usual, change: asked });
        groups.get(group).set.append(row.element);
        groups.get(group).rows.push(row);
        this.rows.set(parameter.name, row);
      }
      search.addEventListener("input", () => {
        const wanted = search.value.trim().toLowerCase();
        for (const { set, rows, group } of groups.values()) {
          for (const row of rows) row.element.hidden = !(row.text.includes(wanted) || group.includes(wanted));
          set.hidden = rows.every((row) => row.element.hidden);
          if (wanted && !set.hidden) set.open = true;
        }
      });
      this.tally();
    }

    show(values) {
      let i = 0;
      for (const row of this.rows.values()) row.set(values[i++]);
      this.tally();
    }

    tally() {
      const changed = [...this.rows.values()].filter((row) => row.value !== row.usual).length;
      this.count.textContent = changed ? `${changed} changed` : "";
    }
  }

  Object.assign(DraisineStudio, { Row, Parameters, words, shown, pretty, display });
})();
