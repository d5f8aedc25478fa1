// Charts: eigenvalues over speed, time histories of the last seconds, dials.
(() => {
  "use strict";
  const { Plot, short, limits } = DraisinePlot;
  const { display } = DraisineStudio;

  /** Numbers for display: angles in degrees. */
  function withUnit(value, unit, digits = 3) {
    const { factor, unit: u } = display(unit), v = factor * value;
    if (!Number.isFinite(v)) return "–";
    const whole = Math.max(1, Math.ceil(Math.log10(Math.abs(v) + 1e-9))); // digits before the point
    const text = Math.abs(v) >= 1e4 ? short(v) : String(Number(v.toFixed(Math.max(0, digits - whole)))).replace("-", "−");
    return u === "°" ? text + u : u ? `${text} ${u}` : text;
  }

  // ------------------------------------------------------------------ eigenvalues

  const NICE = [1, 1.5, 2, 3, 5, 7.5, 10];

  function reach(sets) {
    // limits contain nine tenths of oscillating or growing modes; fast decaying ones may lie outside
    const size = (re, im) => (im !== 0 ? Math.max(Math.abs(re), Math.abs(im)) : re);
    const sizes = sets.flatMap((set) => set.re.flatMap((row, i) => Array.from(row, (re, k) => size(re, set.im[i][k]))));
    const found = sizes.filter((v) => v > 0 && Number.isFinite(v)).sort((a, b) => a - b);
    const usual = found.length ? found[Math.floor(0.9 * (found.length - 1))] : 1;
    const power = 10 ** Math.floor(Math.log10(Math.max(usual, 1e-9)));
    return NICE.find((n) => n * power >= usual) * power;
  }

  /** Eigenvalues of neighboring speeds, matched by continuity. */
  function branches({ re, im }) {
    const size = re.length ? re[0].length : 0, found = [];
    let before = null;
    for (let i = 0; i < re.length; i++) {
      const free = new Set(Array.from({ length: size }, (_, k) => k)), row = new Array(size);
      for (let b = 0; b < size; b++) {
        let best = -1, least = Infinity;
        for (const k of free) {
          const gap = before ? Math.hypot(re[i][k] - before[b][0], im[i][k] - before[b][1]) : k;
          if (gap < least) { least = gap; best = k; }
        }
        free.delete(best);
        row[b] = [re[i][best], im[i][best]];
      }
      found.push(row);
      before = row;
    }
    return found;
  }

  class Spectrum {
    constructor(canvas, css, across) {
      this.plot = new Plot(canvas, css);
      Object.assign(this.plot, { top: 16, bottom: 30 });
      this.across = across;
      this.css = css;
      this.sets = [];
    }

    /** `sets`: [{speeds, re, im, critical, color, second}], the first one in front. */
    set(sets) {
      this.sets = sets.map((set) => ({ ...set, branches: branches(set) }));
      this.limit = reach(sets);
    }

    draw(now) {
      if (!this.sets.length) return;
      const { plot, css } = this, { speeds } = this.sets[0];
      plot.begin([speeds[0], speeds[speeds.length - 1]], [-this.limit, this.limit], { across: 5, along: 6 });
      plot.inside(() => {
        this.shade(this.sets[0]);
        for (const set of [...this.sets].reverse()) this.lines(set);
        this.sets.forEach((set, k) => {
          if (!Number.isFinite(now[k])) return;
          plot.upright(now[k], set.second ? css("--second") : css("--ink"));
          this.marks(set, now[k]);
        });
      });
      plot.pen.strokeStyle = css("--faint");
      plot.stroke([[plot.left, plot.py(0)], [plot.w - plot.right, plot.py(0)]]);
      plot.pen.fillStyle = css("--faint");
      plot.pen.textAlign = "center";
      plot.pen.fillText(this.across, (plot.left + plot.w - plot.right) / 2, plot.h - 6);
      this.sets.forEach((set, k) => this.labels(set, k));
    }

    /** Stable ranges, up to the critical speed beside their last sample. */
    shade({ speeds, re, critical }) {
      const { plot, css } = this, { pen } = plot, steady = re.map((row) => row.every((v) => v < -1e-6));
      pen.fillStyle = css("--good");
      const edge = (i, other) => critical.map(({ speed }) => speed).find((v) => (v - speeds[i]) * (v - speeds[other]) <= 0) ?? speeds[i];
      for (let first = 0, i = 0; i < speeds.length; i++) {
        if (steady[i] && !steady[i - 1]) first = i;
        if (!steady[i] || steady[i + 1]) continue;
        const low = first > 0 ? edge(first, first - 1) : speeds[first], high = i + 1 < speeds.length ? edge(i, i + 1) : speeds[i];
        pen.fillRect(plot.px(low), 0, plot.px(high) - plot.px(low), plot.h - plot.bottom);
      }
    }

    lines({ speeds, branches, second }) {
      const { plot, css } = this, size = branches.length ? branches[0].length : 0;
      const swings = second ? css("--second") : css("--accent"), creeps = second ? css("--second") : css("--real");
      const dash = second ? [6, 3] : [];
      for (let b = 0; b < size; b++) {
        const osc = (k) => Math.abs(branches[k][b][1]) > 1e-9;
        const part = (test, value) => (k) => (test(k) || (k > 0 && test(k - 1)) ? value(k) : NaN);
        const re = (k) => branches[k][b][0], im = (k) => branches[k][b][1], x = (k) => speeds[k];
        plot.line(speeds.length, x, part(osc, (k) => (im(k) >= 0 ? im(k) : NaN)), { color: swings, width: 1.1, alpha: 0.75, dash: [2, 2] });
        plot.line(speeds.length, x, part(osc, re), { color: swings, width: 2, dash });
        plot.line(speeds.length, x, part((k) => !osc(k), re), { color: creeps, width: 2, dash });
      }
    }

    marks({ speeds, branches, second }, speed) {
      const { plot, css } = this, step = (speeds[speeds.length - 1] - speeds[0]) / (speeds.length - 1);
      const at = (speed - speeds[0]) / step, k = Math.floor(at);
      if (k < 0 || k + 1 >= speeds.length) return;
      for (let b = 0; b < branches[k].length; b++) {
        const re = branches[k][b][0] + (at - k) * (branches[k + 1][b][0] - branches[k][b][0]);
        plot.dot(speed, re, second ? css("--second") : re < 1e-6 ? css("--ink") : css("--bad"), 3);
      }
    }

    labels({ critical, second }, rank) {
      const { plot, css } = this, { pen } = plot;
      const seen = critical.filter(({ speed }) => speed > plot.x[0] && speed < plot.x[1]).sort((a, b) => a.speed - b.speed);
      seen.forEach(({ name, speed }, i) => {
        const color = second ? css("--second") : css("--ink"), text = `${name} ${speed.toFixed(2)} m/s`, wide = pen.measureText(text).width;
        plot.dot(speed, 0, color, 3);
        // labels of the first and last critical speed on different sides, against overlap
        const left = seen.length < 2 ? plot.px(speed) - wide / 2 : i < seen.length / 2 ? plot.px(speed) - wide - 2 : plot.px(speed) + 2;
        pen.fillStyle = color;
        pen.textAlign = "left";
        pen.fillText(text, Math.min(Math.max(left, plot.left + 2), plot.w - wide - 1), rank ? plot.h - plot.bottom - 7 : 7);
      });
    }
  }

  // ------------------------------------------------------------------ strips

  /** The last seconds of one or more quantities. `series`: [{label, color, of(sample)}]. */
  class Strip {
    constructor(parent, { title, unit, series, close }, css) {
      this.series = series;
      this.unit = unit;
      this.css = css;
      this.figure = document.createElement("figure");
      this.figure.className = "strip";
      const caption = document.createElement("figcaption"), name = document.createElement("span"), canvas = document.createElement("canvas");
      this.now = document.createElement("span");
      this.now.className = "now";
      name.textContent = title;
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${title} over the last seconds`);
      caption.append(name, this.now);
      if (close) {
        const gone = document.createElement("button");
        gone.type = "button";
        gone.textContent = "×";
        gone.setAttribute("aria-label", `remove the chart of ${title}`);
        gone.addEventListener("click", () => { this.figure.remove(); close(this); });
        caption.append(gone);
      }
      this.figure.append(caption, canvas);
      if (series.length > 1 || series[0].label) {
        const key = document.createElement("ul");
        key.className = "key";
        for (const { label, color } of series) {
          const item = document.createElement("li");
          item.textContent = label;
          item.style.setProperty("--mark", color);
          key.append(item);
        }
        this.figure.append(key);
      }
      parent.append(this.figure);
      this.plot = new Plot(canvas, css);
    }

    draw(samples, window) {
      if (!this.plot.canvas.clientWidth || !samples.length) return;
      const end = samples[samples.length - 1].time, { factor } = display(this.unit);
      const rows = this.series.map(({ of }) => samples.map((sample) => factor * of(sample)));
      const begin = Math.max(end - window, samples[0].time), x = (k) => samples[k].time;
      this.plot.begin([begin, begin + window], limits(rows.flat()), { across: 3, unit: "s" });
      this.plot.inside(() => rows.forEach((row, i) => this.plot.line(row.length, x, (k) => row[k], { color: this.color(i), width: 1.6 })));
      const last = samples[samples.length - 1];
      this.now.textContent = this.series.length > 1 ? "" : withUnit(this.series[0].of(last), this.unit);
    }

    color(i) {
      const given = this.series[i].color;
      return given.startsWith("--") ? this.css(given) : given.startsWith("var(") ? this.css(given.slice(4, -1)) : given;
    }
  }

  // ------------------------------------------------------------------ dials

  const SVG = "http://www.w3.org/2000/svg";
  function svg(tag, attributes) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  /** A half circle that fills from its zero. */
  class Gauge {
    constructor(parent, { label, unit, low, high }) {
      Object.assign(this, { unit, low, high });
      const box = document.createElement("div"), name = document.createElement("small");
      box.className = "gauge";
      this.number = document.createElement("b");
      name.textContent = label;
      const picture = svg("svg", { viewBox: "0 0 100 56", "aria-hidden": "true" });
      picture.append(svg("path", { class: "arc", d: this.arc(0, 1) }));
      this.second = svg("path", { class: "fill b", d: "" });
      this.first = svg("path", { class: "fill", d: "" });
      const zero = this.share(0), [x, y] = this.point(zero, 33), [u, v] = this.point(zero, 50);
      picture.append(this.first, this.second, svg("line", { class: "zero", x1: x, y1: y, x2: u, y2: v }));
      box.append(picture, this.number, name);
      parent.append(box);
    }

    share(value) { return Math.min(Math.max((value - this.low) / (this.high - this.low), 0), 1); }
    point(share, radius) { const a = Math.PI * (1 - share); return [50 + radius * Math.cos(a), 52 - radius * Math.sin(a)]; }
    arc(a, b, radius = 44) {
      const [from, to] = [Math.min(a, b), Math.max(a, b)], [x, y] = this.point(from, radius), [u, v] = this.point(to, radius);
      return `M${x.toFixed(2)} ${y.toFixed(2)}A${radius} ${radius} 0 0 1 ${u.toFixed(2)} ${v.toFixed(2)}`;
    }

    set(value, other = NaN) {
      if (this.low === 0) for (const v of [value, other]) while (v > this.high && v < Infinity) this.high *= 2; // speeds may be any
      const zero = this.share(0);
      this.first.setAttribute("d", Number.isFinite(value) ? this.arc(zero, this.share(value)) : "");
      this.second.setAttribute("d", Number.isFinite(other) ? this.arc(zero, this.share(other), 38) : "");
      this.number.textContent = withUnit(value, this.unit);
    }
  }

  Object.assign(DraisineStudio, { Spectrum, Strip, Gauge });
})();
