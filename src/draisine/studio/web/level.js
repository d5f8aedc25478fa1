// One level of a start, positions or velocities: rows that must have their targets, solved by Newton's method with as little as
// possible moved from the references.
(function () {
  "use strict";
  const home = globalThis.Draisine;
  const { Rows, norm } = home.algebra;

  const FULFILLED = 1e-12; // the largest share of a residual that counts as zero
  const EXACT = 5e-15; // a share that steps need not better
  const STEPS = 80;
  const SLIDES = 400; // steps towards the solution that is closest to the reference
  const NUDGES = [1e-3, 1e-2, 1e-1];

  // One level: unknowns y = reference + scale z of which some are held, rows that must have their targets.
  class Level {
    constructor(solver, kind, reference, scale, held, aims) {
      const table = solver.table;
      const rows = table.constraints[kind];
      const names = kind === "position" ? table.q : table.v;
      this.solver = solver;
      this.kind = kind;
      this.names = names;
      this.reference = Float64Array.from(reference);
      this.scale = scale;
      this.take = [...rows, ...Object.keys(aims).map((name) => table.places[name])];
      this.target = Float64Array.from([...rows.map(() => 0), ...Object.values(aims)]);
      this.labels = [...rows.map((row) => table.names[row]), ...Object.keys(aims)];
      this.free = [];
      names.forEach((name, i) => {
        if (name in held) this.reference[i] = held[name];
        else this.free.push(i);
      });
      this.hidden = null; // further linear rows: matrix · y = offset, by all unknowns
      this.leap = kind === "position" ? table.leaps.map((leap) => (leap === null ? Infinity : leap)) : names.map(() => Infinity);
      this._prepare();
    }

    _prepare() {
      const extra = this.hidden ? this.hidden.offset.length : 0;
      const m = this.take.length + extra;
      this.rows = new Rows(m, this.free.length);
      this.whole = new Float64Array(m * this.names.length);
      this.residual = new Float64Array(m);
      this.weight = new Float64Array(m);
      this.y = new Float64Array(this.names.length);
    }

    withHidden(hidden) {
      this.hidden = hidden;
      this._prepare();
      return this;
    }

    holding(more) {
      // the same level with some of the free unknowns held at their references
      const made = Object.create(Level.prototype);
      Object.assign(made, this);
      made.free = this.free.filter((i) => !more.has(i));
      made._prepare();
      return made;
    }

    unknowns(z) {
      this.y.set(this.reference);
      for (let k = 0; k < this.free.length; k++) this.y[this.free[k]] += this.scale[this.free[k]] * z[k];
      return this.y;
    }

    // Residuals and rows at z; the largest residual as a share of what it is compared with.
    at(z) {
      const { solver, take, target, whole, residual, rows, free, scale, names } = this;
      const y = this.unknowns(z);
      const n = names.length;
      solver.evaluate(this.kind, y);
      whole.fill(0);
      const place = this.kind === "position" ? solver.byQ : solver.byV;
      const entries = this.kind === "position" ? solver.entriesQ : solver.entriesV;
      for (let r = 0; r < take.length; r++) {
        residual[r] = solver.values[take[r]] - target[r];
        const listed = place[take[r]];
        if (listed) for (let k = 0; k < listed.length; k += 2) whole[r * n + listed[k]] = entries[listed[k + 1]];
      }
      if (this.hidden) {
        const { matrix, offset } = this.hidden;
        for (let r = 0; r < offset.length; r++) {
          let sum = -offset[r];
          for (let j = 0; j < n; j++) sum += matrix[r * n + j] * y[j];
          residual[take.length + r] = sum;
          for (let j = 0; j < n; j++) whole[(take.length + r) * n + j] = matrix[r * n + j];
        }
      }
      for (let r = 0; r < residual.length; r++) {
        for (let k = 0; k < free.length; k++) rows.matrix[r * free.length + k] = whole[r * n + free[k]] * scale[free[k]];
      }
      return this._share(y);
    }

    _share(y) {
      const { residual, weight, whole, names, target } = this;
      const n = names.length;
      if (this.kind === "velocity" && !this.least) this.least = this._size();
      let largest = 0;
      for (let r = 0; r < residual.length; r++) {
        let size = r < target.length ? Math.abs(target[r]) : 0;
        for (let j = 0; j < n; j++) {
          const least = this.kind === "velocity" ? this.least * this.scale[j] : this.scale[j];
          size += Math.abs(whole[r * n + j]) * Math.max(Math.abs(y[j]), least);
        }
        weight[r] = size || 1;
        const share = Math.abs(residual[r]) / weight[r];
        if (!(share <= largest)) largest = share;
      }
      return largest; // NaN where something is not finite
    }

    // Velocities have no size of their own: that of what was wished for, or of the reference.
    _size() {
      const { residual, whole, names, scale, reference, target } = this;
      const n = names.length;
      let size = 0;
      for (let r = 0; r < residual.length; r++) {
        let rate = 0;
        for (let j = 0; j < n; j++) rate += Math.abs(whole[r * n + j]) * scale[j];
        const wanted = Math.max(Math.abs(residual[r]), r < target.length ? Math.abs(target[r]) : 0);
        if (rate > 0) size = Math.max(size, wanted / rate);
      }
      for (let j = 0; j < n; j++) size = Math.max(size, Math.abs(reference[j]) / scale[j]);
      return size > 0 && size < Infinity ? size : 1;
    }

    // Newton's method by shortest steps, each at most a believable leap, halved where it does not help; the share reached.
    restore(z) {
      const n = this.free.length;
      const step = new Float64Array(n);
      const trial = new Float64Array(n);
      const side = new Float64Array(this.residual.length);
      let share = this.at(z);
      for (let round = 0; round < STEPS && share > EXACT; round++) {
        for (let r = 0; r < side.length; r++) side[r] = -this.residual[r];
        this.rows.factor();
        this.rows.solve(side, step);
        let excess = 1;
        for (let k = 0; k < n; k++) excess = Math.max(excess, (Math.abs(step[k]) * this.scale[this.free[k]]) / this.leap[this.free[k]]);
        let part = 1 / excess;
        let better = NaN;
        for (let halving = 0; halving < 12; halving++, part /= 2) {
          for (let k = 0; k < n; k++) trial[k] = z[k] + part * step[k];
          better = this.at(trial);
          if (better < (1 - 0.1 * part) * share) break;
          if (share <= FULFILLED) {
            this.at(z);
            return share;
          }
          better = NaN;
        }
        if (!(better < share)) break;
        z.set(trial);
        share = better;
      }
      return this.at(z);
    }

    // Slide along the solutions to the one of least |z|: the shortest solution of the rows as they are here, again and again.
    closest(z) {
      const n = this.free.length;
      const next = new Float64Array(n);
      const side = new Float64Array(this.residual.length);
      const kept = Float64Array.from(z);
      let before = Infinity;
      let part = 1;
      for (let round = 0; round < SLIDES; round++) {
        this.at(z);
        for (let r = 0; r < side.length; r++) {
          let sum = -this.residual[r];
          for (let k = 0; k < n; k++) sum += this.rows.matrix[r * n + k] * z[k];
          side[r] = sum;
        }
        this.rows.factor();
        this.rows.solve(side, next);
        let change = 0;
        for (let k = 0; k < n; k++) change += (next[k] - z[k]) * (next[k] - z[k]);
        change = Math.sqrt(change);
        if (!(change <= 4 * before)) part /= 2;
        before = Math.min(before, change);
        for (let k = 0; k < n; k++) z[k] += part * (next[k] - z[k]);
        if (!(change > 1e-15 * (1 + norm(z)))) break;
        if (part < 1e-3) break;
      }
      const share = this.restore(z);
      if (share <= FULFILLED && norm(z) <= norm(kept) * (1 + 1e-9)) return share;
      z.set(kept);
      return this.at(z);
    }

    // A solution, or null; from the reference, else from beside it.
    solve() {
      const z = new Float64Array(this.free.length);
      if (this.restore(z) <= FULFILLED) {
        this.closest(z);
        return z;
      }
      for (const size of NUDGES) {
        for (let k = 0; k < z.length; k++) z[k] = size * Math.cos(1 + 2.4 * k);
        if (this.restore(z) <= FULFILLED) {
          this.closest(z);
          return z;
        }
      }
      z.fill(0);
      this.restore(z);
      return null;
    }

    worst() {
      let row = 0;
      for (let r = 1; r < this.residual.length; r++) {
        if (!(Math.abs(this.residual[r]) / this.weight[r] <= Math.abs(this.residual[row]) / this.weight[row])) row = r;
      }
      const left = this.residual[row];
      return `${this.labels[row] || "a dependent velocity"} misses by ${Number.isFinite(left) ? left.toPrecision(3) : left}`;
    }
  }

  home.Level = Level;
  home.levels = { FULFILLED, EXACT };
})();
