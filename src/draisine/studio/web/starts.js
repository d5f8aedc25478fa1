// Consistent starts: wishes by name, the rest solved, with as little as possible moved from its default (as in Python's
// consistent_start: positions first, then velocities; as few independent velocities moved as will do).
(function () {
  "use strict";
  const home = globalThis.Draisine;
  const { Level } = home;
  const { norm } = home.algebra;
  const { FULFILLED, EXACT } = home.levels;

  const REASON = 10; // the change may grow by this factor for the sake of few velocities
  const DECIDED = 1e-10; // a velocity with less freedom than this is decided by the rows

  // Velocities: as few of the independent ones moved from their references as will do.
  function calmed(level, z, independent) {
    const n = z.length;
    const chosen = [];
    level.free.forEach((i, k) => {
      if (independent.has(i)) chosen.push(k);
    });
    if (!chosen.some((k) => z[k] !== 0)) return z;
    const bound = REASON * norm(z);
    level.at(z);
    level.rows.factor();
    const allowed = [];
    for (let k = 0; k < n; k++) {
      const column = new Float64Array(n);
      column[k] = 1;
      level.rows.along(column);
      allowed.push(column);
    }
    const hold = (i) => {
      const pivot = allowed[i][i];
      if (!(pivot > DECIDED)) return;
      const column = Float64Array.from(allowed[i]);
      for (let a = 0; a < n; a++) for (let b = 0; b < n; b++) allowed[b][a] -= (column[a] * column[b]) / pivot;
    };
    const held = chosen.filter((k) => z[k] === 0);
    held.forEach(hold);
    let candidates = chosen.filter((k) => z[k] !== 0);
    const back = [];
    let now = Float64Array.from(z);
    for (;;) {
      let best = -1;
      let bestSize = Infinity;
      let bestZ = now;
      for (const i of candidates) {
        if (!(allowed[i][i] > DECIDED)) continue;
        const moved = Float64Array.from(now);
        const gain = now[i] / allowed[i][i];
        for (let j = 0; j < n; j++) moved[j] -= gain * allowed[i][j];
        const size = Math.sqrt(chosen.reduce((sum, k) => sum + moved[k] * moved[k], 0));
        if (size < bestSize && norm(moved) <= bound) [best, bestSize, bestZ] = [i, size, moved];
      }
      if (best < 0) break;
      now = bestZ;
      hold(best);
      candidates = candidates.filter((k) => k !== best);
      back.push([best, Float64Array.from(now)]);
    }
    while (back.length) {
      const still = [...held, ...back.map(([k]) => k)];
      const there = back[back.length - 1][1];
      for (const k of still) there[k] = 0;
      if (level.at(there) <= EXACT && norm(there) <= bound) return there;
      const smaller = level.holding(new Set(still.map((k) => level.free[k])));
      const z0 = there.filter((_, k) => !still.includes(k));
      if (smaller.restore(z0) <= FULFILLED) {
        smaller.closest(z0);
        if (norm(z0) <= bound) {
          let next = 0;
          return there.map((_, k) => (still.includes(k) ? 0 : z0[next++]));
        }
      }
      back.pop();
    }
    return z;
  }

  class Starts {
    constructor(live) {
      const manifest = live.manifest;
      const table = manifest.runtime.starts;
      const sizes = manifest.runtime.slots.starts;
      this.live = live;
      this.table = table;
      this.program = live.programs.starts;
      this.values = new Float64Array(sizes.values);
      this.entriesQ = new Float64Array(sizes.by_q);
      this.entriesV = new Float64Array(sizes.by_v);
      this.q = Float64Array.from(table.q0);
      this.v = Float64Array.from(table.v0);
      this.byQ = places(table.by_q, table.names.length);
      this.byV = places(table.by_v, table.names.length);
      this.u = new Float64Array(manifest.inputs.length); // starts are solved without inputs
    }

    evaluate(kind, y) {
      (kind === "position" ? this.q : this.v).set(y);
      const given = { t: this.live.time, q: this.q, v: this.v, u: this.u, p: this.live.parameters };
      this.program(...this.table.inputs.map((name) => given[name]), this.values, this.entriesQ, this.entriesV);
    }

    length(q0) {
      const sizes = [this.table.lengths.map((i) => Math.abs(this.live.parameters[i])), q0.filter((_, i) => this.table.straight[i]).map(Math.abs)];
      for (const found of sizes) {
        const known = Array.from(found).filter((size) => size > 0).sort((a, b) => a - b);
        if (known.length) return known[known.length >> 1];
      }
      return 1;
    }

    scaleOfPositions(q0, length) {
      const scale = q0.map((_, i) => (this.table.straight[i] ? length : this.table.quaternions[i] ? 0.5 : 1));
      for (const alike of this.table.others) {
        const largest = Math.max(...alike.map((i) => Math.abs(q0[i])));
        for (const i of alike) scale[i] = largest || 1;
      }
      return scale;
    }

    // A state from wishes; `near` are references for coordinates and velocities instead of the defaults. {x} or {why}.
    solve(wishes, near) {
      const table = this.table;
      const sorted = { coordinates: {}, velocities: {}, positions: {}, rates: {}, states: {} };
      for (const [name, value] of Object.entries(wishes)) {
        const place = Object.hasOwn(table.homes, name) ? table.homes[name] : undefined;
        if (place === undefined) return { why: `a start of ${this.live.manifest.name} cannot name ${name}` };
        if (typeof value !== "number" || !Number.isFinite(value)) return { why: `${name}: a finite number is wanted` };
        if (place === "outputs") sorted[table.moving[table.places[name]] ? "rates" : "positions"][name] = value;
        else sorted[place][name] = value;
      }
      const q0 = near ? near.q : Float64Array.from(table.q0);
      const v0 = near ? near.v : Float64Array.from(table.v0);
      const length = this.length(Array.from(q0));
      this.v.set(v0);
      const positions = new Level(this, "position", q0, this.scaleOfPositions(Array.from(q0), length), sorted.coordinates, sorted.positions);
      const zq = positions.solve();
      if (zq === null) return { why: `there is no such position: ${positions.worst()}` };
      const q = Float64Array.from(positions.unknowns(zq));
      this.q.set(q);
      if (!table.v.length) return { x: this.state(q, v0, sorted.states), q, v: v0 };
      const speeds = table.v.map((_, i) => (table.speeds[i] ? length : 1));
      let level = new Level(this, "velocity", v0, speeds, sorted.velocities, sorted.rates);
      let zv = level.solve();
      if (zv === null) return { why: `there is no such motion: ${level.worst()}` };
      const hidden = this.hidden(level, q, zv);
      if (hidden) {
        level = new Level(this, "velocity", v0, speeds, sorted.velocities, sorted.rates).withHidden(hidden);
        zv = level.solve();
        if (zv === null) return { why: `there is no such motion: ${level.worst()}` };
      }
      if (!near) zv = calmed(level, zv, new Set(this.live.manifest.runtime.independent));
      const v = Float64Array.from(level.unknowns(zv));
      return { x: this.state(q, v, sorted.states), q, v };
    }

    // Rows that tie dependent velocities to independent ones where the constraints do not: the report knows them.
    hidden(level, q, z) {
      const { independent, velocities } = this.live.manifest.runtime;
      const n = velocities.length;
      const dependent = n - independent.length;
      if (!dependent || this.table.constraints.velocity.length >= dependent) return null;
      const full = (speeds) => {
        const x = this.state(q, speeds, {});
        this.live.tell(this.live.time, x, this.u);
        return Float64Array.from(this.live.told.v);
      };
      const offset = full(new Float64Array(n));
      const matrix = new Float64Array(n * n);
      for (let j = 0; j < n; j++) {
        const unit = new Float64Array(n);
        unit[j] = 1;
        const column = full(unit);
        for (let i = 0; i < n; i++) matrix[i * n + j] = (i === j ? 1 : 0) - (column[i] - offset[i]);
      }
      return home.algebra.finite(matrix) ? { matrix, offset } : null;
    }

    state(q, v, states) {
      const { independent, extra } = this.live.manifest.runtime;
      const x = new Float64Array(this.live.manifest.states.length);
      x.set(q);
      independent.forEach((i, k) => {
        x[q.length + k] = v[i];
      });
      const first = q.length + independent.length;
      extra.forEach((value, k) => {
        const name = this.live.manifest.states[first + k].name;
        x[first + k] = name in states ? states[name] : value;
      });
      return x;
    }
  }

  // By row: column, number of the entry, column, …
  function places([rows, columns], count) {
    const found = Array.from({ length: count }, () => null);
    rows.forEach((row, k) => {
      (found[row] = found[row] || []).push(columns[k], k);
    });
    return found;
  }

  home.Starts = Starts;
})();
