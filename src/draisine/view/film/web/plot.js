// Line plots on a small canvas, for charts of films and the studio.
(() => {
  "use strict";

  function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((s) => s * power >= raw) * power;
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k === 0 ? 0 : k * step);
    return found;
  }

  const short = (v) => {
    const text = Number(v.toPrecision(4));
    return (Math.abs(text) >= 1e5 || (text && Math.abs(text) < 1e-3) ? text.toExponential(1) : String(text)).replace("-", "−");
  };

  /** Limits around values with a margin; around nothing, −1 to 1. */
  function limits(values) {
    let low = Infinity, high = -Infinity;
    for (const v of values) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
    if (!(high >= low)) return [-1, 1];
    const flat = Math.max(1e-9, 1e-6 * Math.max(Math.abs(low), Math.abs(high)));
    const margin = high - low > flat ? 0.07 * (high - low) : Math.abs(high) > flat ? 0.05 * Math.abs(high) : 1;
    return [low - margin, high + margin];
  }

  class Plot {
    constructor(canvas, css) {
      Object.assign(this, { canvas, css, left: 46, right: 8, top: 6, bottom: 18 });
    }

    /** Clear the canvas and draw grid and tick labels for the limits `x` and `y`; the last one along x has the unit. */
    begin(x, y, { across = 4, along = 5, unit = "" } = {}) {
      const { canvas, css } = this, ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
      const [width, height] = [w, h].map((length) => Math.round(length * ratio));
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
      const pen = this.pen = canvas.getContext("2d");
      Object.assign(this, { w, h, x, y });
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, w, h);
      pen.font = "11px system-ui, sans-serif";
      pen.lineWidth = 1;
      pen.globalAlpha = 1;
      pen.setLineDash([]);
      pen.fillStyle = css("--faint");
      pen.strokeStyle = css("--line");
      pen.textBaseline = "middle";
      pen.textAlign = "right";
      for (const v of ticks(...y, across)) {
        this.stroke([[this.left, this.py(v)], [w - this.right, this.py(v)]]);
        pen.fillText(short(v), this.left - 5, this.py(v));
      }
      pen.textAlign = "center";
      const marks = ticks(...x, along), last = marks[marks.length - 1];
      for (const v of marks) pen.fillText(short(v) + (unit && v === last ? ` ${unit}` : ""), Math.min(this.px(v), w - 14), h - this.bottom + 11);
    }

    px(v) { return this.left + (v - this.x[0]) / (this.x[1] - this.x[0] || 1) * (this.w - this.left - this.right); }
    py(v) { return this.h - this.bottom - (v - this.y[0]) / (this.y[1] - this.y[0] || 1) * (this.h - this.top - this.bottom); }
    at(px) { return this.x[0] + (px - this.left) / Math.max(this.w - this.left - this.right, 1) * (this.x[1] - this.x[0]); }

    stroke(points) {
      this.pen.beginPath();
      points.forEach(([px, py], i) => (i ? this.pen.lineTo(px, py) : this.pen.moveTo(px, py)));
      this.pen.stroke();
    }

    /** A line through `count` points, broken where a value is not a number; no more points than can be seen. */
    line(count, xOf, yOf, { color, width = 1.8, alpha = 1, dash = [] }) {
      const { pen } = this;
      pen.strokeStyle = color;
      pen.lineWidth = width;
      pen.globalAlpha = alpha;
      pen.setLineDash(dash);
      pen.beginPath();
      let down = false;
      const every = Math.max(1, Math.floor(count / (3 * this.w)));
      for (let k = 0; k < count; k += every) {
        const v = yOf(k);
        if (!Number.isFinite(v)) { down = false; continue; }
        if (down) pen.lineTo(this.px(xOf(k)), this.py(v)); else pen.moveTo(this.px(xOf(k)), this.py(v));
        down = true;
      }
      pen.stroke();
      pen.globalAlpha = 1;
      pen.setLineDash([]);
    }

    upright(x, color, dash = []) {
      const { pen } = this;
      pen.strokeStyle = color;
      pen.lineWidth = 1;
      pen.setLineDash(dash);
      this.stroke([[this.px(x), 4], [this.px(x), this.h - this.bottom]]);
      pen.setLineDash([]);
    }

    dot(x, y, color, radius = 3.5) {
      this.pen.fillStyle = color;
      this.pen.beginPath();
      this.pen.arc(this.px(x), this.py(y), radius, 0, 7);
      this.pen.fill();
    }

    /** Clip to the axes while the given function draws. */
    inside(draw) {
      const { pen } = this;
      pen.save();
      pen.beginPath();
      pen.rect(this.left, 0, this.w - this.left - this.right, this.h - this.bottom + 1);
      pen.clip();
      draw();
      pen.restore();
    }
  }

  globalThis.DraisinePlot = { Plot, ticks, short, limits };
})();
