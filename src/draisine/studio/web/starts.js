// Consistent starts: targets by name, the rest solved closest to its default. The solver is translated from Python
// (`draisine.simulation.initial`); here it gets its memory and is called for positions first, then for velocities.
(function () {
  "use strict";
  const home = globalThis.Draisine;
  const { run, FIND, FIND_FAR, EVALUATE, REST, FULFILLED, SHAPES } = home.solver;

  const TRUSTED = 1e3; // times the limit of the condition: beyond, the report's velocities are not used

  function finite(vector) {
    for (let i = 0; i < vector.length; i++) if (!Number.isFinite(vector[i])) return false;
    return true;
  }

  // The arrays of a record: vectors, and matrices as lists of their rows.
  function room(record, sizes) {
    const made = {};
    for (const [name, shape] of Object.entries(SHAPES[record])) {
      const [first, second] = Array.from(shape, (letter) => sizes[letter]);
      made[name] = second === undefined ? new Float64Array(first) : Array.from({ length: first }, () => new Float64Array(second));
    }
    return made;
  }

  // Position or velocity level: constraints and targets in unknowns, some of which are fixed.
  class Stage {
    constructor(starts, kind, reference, scale, held, aims, hidden) {
      const { table, motion } = starts;
      const moving = kind === "velocity";
      const names = moving ? table.v : table.q;
      const [rows, columns] = moving ? table.by_v : table.by_q;
      const constraints = table.constraints[kind];
      const take = [...constraints, ...Object.keys(aims).map((name) => table.places[name])];
      const order = new Map(take.map((value, row) => [value, row]));
      const source = rows.map((_, k) => k).filter((k) => order.has(rows[k]));
      const free = names.map((_, i) => i).filter((i) => !Object.hasOwn(held, names[i]));
      const rest = moving && free.length <= table.rest.most ? starts.rest([...Object.keys(held), ...Object.keys(aims)], free) : [];
      const entries = rest.flatMap(({ value }, i) => rows.map((row, k) => [k, i, columns[k], row]).filter((one) => one[3] === value));
      const linear = hidden ? hidden.offset.length : 0;
      const ground = moving ? { count: 0, points: [], turns: [] } : table.assemblies;
      const sizes = { n: names.length, f: free.length, m: take.length + linear, l: linear, g: rest.length ? free.length : 0 };
      Object.assign(sizes, { a: ground.points.length, b: ground.turns.length, r: rest.length, h: entries.length });
      this.names = names;
      this.labels = [...constraints.map((row) => table.names[row]), ...Object.keys(aims)];
      this.count = constraints.length;
      const s = (this.system = {
        ...room("System", sizes),
        current: room("Point", sizes),
        trial: room("Point", sizes),
        factors: { ...room("Factors", sizes), valid: 0, rank: 0 },
        unknowns: sizes.n,
        free: sizes.f,
        rows: sizes.m,
        linear,
        entries: source.length,
        rest: rest.length,
        groups: Math.max(0, ...rest.map((one) => one.group)),
        length: starts.size,
        assemblies: ground.count,
        homogeneous: moving ? 1 : 0,
        motion,
        argument: moving ? motion.v : motion.q,
        derivatives: moving ? motion.by_v : motion.by_q,
        columns: free,
        take,
        source,
        row: source.map((k) => order.get(rows[k])),
        column: source.map((k) => columns[k]),
      });
      s.reference.set(reference);
      s.default.set(reference);
      s.scale.set(scale);
      s.max_step.set(moving ? names.map(() => Infinity) : table.leaps.map((leap) => (leap === null ? Infinity : leap)));
      for (const key of ["group", "free", "value", "meters"]) s[`rest_${key}`].set(rest.map((one) => one[key]));
      ["rest_source", "rest_row", "rest_column"].forEach((name, k) => s[name].set(entries.map((one) => one[k])));
      s.prescribed.set(names.map((name) => (Object.hasOwn(held, name) ? 1 : 0)));
      names.forEach((name, i) => s.prescribed[i] && (s.reference[i] = held[name]));
      s.target.set([...constraints.map(() => 0), ...Object.values(aims), ...(hidden ? hidden.offset : [])]);
      s.targeted.fill(1, constraints.length, take.length);
      s.period.set(take.map((value) => table.periods[value]));
      ["point_x", "point_y", "point_assembly"].forEach((name, k) => s[name].set(ground.points.map((one) => one[k])));
      ["turn", "turn_kind", "turn_assembly"].forEach((name, k) => s[name].set(ground.turns.map((one) => one[k])));
      if (hidden) hidden.matrix.forEach((row, i) => s.matrix[i].set(row));
    }

    // Whether there is a solution; `base` makes the stage without targets.
    find(base) {
      const { system } = this;
      if (!run({ what: FIND, system })) run({ what: FIND_FAR, system, other: base().system, thorough: 1 });
      return system.current.relative_residual <= FULFILLED;
    }

    putToRest() {
      run({ what: REST, system: this.system });
    }

    // Number of independent rows at given unknowns.
    rankAt(y) {
      const { system } = this;
      system.columns.forEach((i, k) => (system.current.z[k] = (y[i] - system.reference[i]) / system.scale[i]));
      run({ what: EVALUATE, system });
      return system.factors.rank;
    }

    get unknowns() {
      return Float64Array.from(this.system.current.y);
    }

    worst() {
      const { residual, weight } = this.system.current;
      let row = 0;
      for (let r = 1; r < residual.length; r++) {
        if (!(Math.abs(residual[r]) / weight[r] <= Math.abs(residual[row]) / weight[row])) row = r;
      }
      const left = residual[row];
      return `${this.labels[row] || "a dependent velocity"} misses by ${Number.isFinite(left) ? left.toPrecision(3) : left}`;
    }
  }

  class Starts {
    constructor(live) {
      const { manifest, programs } = live;
      const table = manifest.runtime.starts;
      const sizes = manifest.runtime.slots.starts;
      this.live = live;
      this.table = table;
      this.u = new Float64Array(manifest.inputs.length); // starts are solved without inputs
      this.motion = {
        kernel: (t, q, v, u, p, ...results) => programs.starts(t[0], q, v, u, p, ...results),
        t: new Float64Array(1),
        q: Float64Array.from(table.q0),
        v: Float64Array.from(table.v0),
        u: this.u,
        p: live.p,
        values: new Float64Array(sizes.values),
        by_q: new Float64Array(sizes.by_q),
        by_v: new Float64Array(sizes.by_v),
      };
    }

    // Rows that are set to rest for given names, as in `rest_groups`; of velocities only those that are free.
    rest(given, free) {
      const { rest, places, v, by_v } = this.table;
      const used = new Set(given.map((name) => v.indexOf(name)).filter((i) => i >= 0));
      for (const name of given) by_v[0].forEach((row, k) => row === places[name] && used.add(by_v[1][k]));
      const row = (group, value, meters, own = -1) => ({ group, free: own, value, meters });
      const found = rest.slips.filter(([name, , spin]) => !given.includes(name) && !used.has(spin)).map((one) => row(1, one[1], 1));
      const speed = rest.speeds.find(([name]) => given.includes(name));
      const first = rest.first + 6 * (speed ? speed[1] : 0);
      if (rest.bodies.length) found.push(row(3, first + 3, 0), row(4, first + 4, 0), row(4, first + 5, 0));
      if (rest.bodies.length) found.push(...(speed ? [0, 1, 2] : [1, 2]).map((k) => row(4, first + k, 1)));
      rest.velocities.forEach((group, i) => free.includes(i) && found.push(row(group, -1, 0, free.indexOf(i))));
      return found.sort((a, b) => a.group - b.group);
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

    // A state from targets; `near` are references for coordinates and velocities instead of the defaults. {x} or {why}.
    solve(targets, near) {
      const { table, motion } = this;
      const sorted = { coordinates: {}, velocities: {}, positions: {}, rates: {}, states: {} };
      for (const [name, value] of Object.entries(targets)) {
        const place = Object.hasOwn(table.homes, name) ? table.homes[name] : undefined;
        if (place === undefined) return { why: `a start of ${this.live.manifest.name} cannot name ${name}` };
        if (typeof value !== "number" || !Number.isFinite(value)) return { why: `${name}: a finite number is wanted` };
        if (place === "outputs") sorted[table.moving[table.places[name]] ? "rates" : "positions"][name] = value;
        else sorted[place][name] = value;
      }
      const q0 = Array.from(near ? near.q : table.q0);
      const v0 = Array.from(near ? near.v : table.v0);
      const length = (this.size = this.length(q0));
      const scale = this.scaleOfPositions(q0, length);
      motion.t[0] = this.live.time;
      motion.v.set(v0);
      const positions = new Stage(this, "position", q0, scale, sorted.coordinates, sorted.positions);
      if (!positions.find(() => new Stage(this, "position", q0, scale, {}, {}))) {
        return { why: `there is no such position: ${positions.worst()}` };
      }
      const q = positions.unknowns;
      motion.q.set(q);
      if (!table.v.length) return { x: this.state(q, v0, sorted.states), q, v: v0 };
      const speeds = table.v.map((_, i) => (table.speeds[i] ? length : 1));
      const made = (hidden) => new Stage(this, "velocity", v0, speeds, sorted.velocities, sorted.rates, hidden);
      const bare = (hidden) => new Stage(this, "velocity", v0, speeds, {}, {}, hidden);
      let stage = made();
      if (!stage.find(bare)) return { why: `there is no such motion: ${stage.worst()}` };
      const hidden = this.hidden(stage, bare, q);
      if (hidden) {
        stage = made(hidden);
        if (!stage.find(() => bare(hidden))) return { why: `there is no such motion: ${stage.worst()}` };
      }
      if (!near) stage.putToRest();
      return { x: this.state(q, stage.unknowns, sorted.states), q, v: stage.unknowns };
    }

    // Rows that relate dependent velocities to independent ones beyond the constraints, from the report.
    hidden(stage, bare, q) {
      const { independent, velocities, condition_limit } = this.live.manifest.runtime;
      const { system } = stage;
      const n = velocities.length;
      const dependent = n - independent.length;
      const decided = () => (system.factors.rank === system.rows ? stage.count : bare().rankAt(stage.unknowns));
      if (!dependent || decided() >= dependent) return null;
      const { time, p: parameters, programs } = this.live;
      const condition = new Float64Array(1);
      if (programs.monitor) programs.monitor(time, this.state(q, stage.unknowns, {}), this.u, parameters, condition);
      if (!(condition[0] <= TRUSTED * condition_limit)) return null; // the independent velocities say nothing about the others
      const full = (speeds) => Array.from(this.live.report(time, this.state(q, speeds, {}), this.u).v);
      const offset = full(new Float64Array(n));
      const columns = offset.map((_, j) => full(offset.map((_, i) => (i === j ? 1 : 0))));
      const matrix = offset.map((_, i) => columns.map((column, j) => (i === j ? 1 : 0) - (column[i] - offset[i])));
      return matrix.every(finite) ? { matrix, offset } : null;
    }

    state(q, v, states) {
      const { independent, extra } = this.live.manifest.runtime;
      const x = new Float64Array(this.live.manifest.states.length);
      x.set(q);
      independent.forEach((i, k) => (x[q.length + k] = v[i]));
      const first = q.length + independent.length;
      extra.forEach((value, k) => {
        const name = this.live.manifest.states[first + k].name;
        x[first + k] = name in states ? states[name] : value;
      });
      return x;
    }
  }

  home.Starts = Starts;
  home.finite = finite;
})();
