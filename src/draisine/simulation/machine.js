// The stepping loop of draisine with contacts that stick, slip and open, translated from Python: its memory, made of the data of
// a run there, and calls of it. A mode is one integer for each contact: 0 open, 1 slips, 2 sticks.
(function () {
  "use strict";
  const home = Draisine;
  const ENTRIES = 11; // numbers of a mode among the parameters: closed, sticks, …
  const OPEN = 0, SLIP = 1, STICK = 2;
  const MOST_STEPS = 20000; // of one call
  const OUTCOMES = ["", "no motion of rigid bodies satisfies the laws of its contacts", "rigid bodies have several motions there", "the masses do not determine the accelerations"];
  const UNDECIDED = "the modes of its contacts were not found";

  // A record from data: numbers, arrays by shape with values where they are not zero, and other records.
  function record({ kind, numbers, arrays, records }) {
    const finite = (value) => (value === null ? Infinity : value);
    const made = home.machine.records[kind]();
    for (const name in numbers) made[name] = finite(numbers[name]);
    for (const [name, [shape, values]] of Object.entries(arrays)) {
      const [rows, columns] = shape;
      const row = (k, size) => (values ? Float64Array.from(values.slice(k * size, (k + 1) * size), finite) : new Float64Array(size));
      made[name] = columns === undefined ? row(0, rows) : Array.from({ length: rows }, (_, k) => row(k, columns));
    }
    for (const name in records) made[name] = record(records[name]);
    return made;
  }

  // A program for the loop, whose time is an array; at most thirteen results, since a rest of arguments would be allocated.
  function kernel(program) {
    return (t, x, u, p, a, b, c, d, e, f, g, h, i, j, k, l, m) => program(t[0], x, u, p, a, b, c, d, e, f, g, h, i, j, k, l, m);
  }

  class Machine {
    // `p` has the parameters, then the modes; `u` the inputs. Both are read as they are whenever a run begins.
    constructor(data, programs, p, u) {
      this.names = data.contacts;
      this.all = p;
      this.inputs = u;
      this.given = Float64Array.from(u); // inputs of the last step
      this.first = p.length - ENTRIES * this.names.length;
      const s = (this.record = record(data.record));
      for (const [field, name] of Object.entries(data.kernels)) {
        const [place, own] = field.includes(".") ? [s.modes, field.split(".")[1]] : [s, field];
        if (place[own] && programs[name]) place[own] = kernel(programs[name]);
      }
      s.u = u;
      s.parameters = s.modes.all_parameters = p;
      s.modes.mode = p.subarray(this.first);
      s.hoisted = new Float64Array(0);
    }

    get time() {
      return this.record.t;
    }

    get state() {
      return this.record.x.subarray(0, this.record.states);
    }

    get modes() {
      return this.names.map((_, i) => this.mode(i));
    }

    mode(i) {
      const k = this.first + ENTRIES * i;
      return this.all[k] === 0 ? OPEN : this.all[k + 1] !== 0 ? STICK : SLIP;
    }

    set modes(wanted) {
      const { modes } = this.record;
      modes.mode.fill(0);
      wanted.forEach((mode, i) => {
        modes.mode[ENTRIES * i] = mode === OPEN && modes.normal[i] >= 0 ? 0 : 1;
        modes.mode[ENTRIES * i + 1] = mode === STICK ? 1 : 0;
      });
    }

    // Begin a run at a state; the modes follow from it, and from those that are set. null, or the reason for a refusal. The first
    // step is not longer than h.
    begin(x, time, h = 1) {
      const { record: s, all } = this;
      const c = s.modes;
      c.usual_parameters.set(all);
      Object.assign(s, { parameters: all, dynamics: c.all_dynamics, project: c.all_project });
      c.margin_kernel = c.all_margins;
      s.x.fill(0);
      s.x.set(x);
      s.t = time;
      Object.assign(s, { phase: home.machine.FRESH, h: 0, accepted: 0, rejected: 0, step_count: 0, sample_count: 0, switches_here: 0 });
      Object.assign(c, { change_count: 0, usual: 0, first_step: 0 });
      this.given.set(this.inputs);
      return this._run(time + h, 0);
    }

    // Steps to a time, with the present inputs; null, or why there are none.
    advance(time) {
      this._take();
      return this._run(time, MOST_STEPS);
    }

    // One step at most, towards a time.
    _once(time) {
      this._take();
      const why = this._run(time, 1);
      return this.time === time || this.paused ? null : why;
    }

    _take() {
      if (this.inputs.some((value, k) => value !== this.given[k])) this.record.phase = home.machine.CHANGED;
      this.given.set(this.inputs);
    }

    // Up to a time, by at most `budget` steps; without steps a run begins only.
    _run(time, budget) {
      const { record: s } = this;
      const { advance, REACHED, PAUSED, FULL } = home.machine;
      Object.assign(s, { end: time, budget });
      s.max_steps = s.accepted + s.rejected + MOST_STEPS;
      for (;;) {
        const reason = advance(s);
        this.paused = reason === PAUSED;
        if (reason === REACHED || !budget) return reason === REACHED || reason === PAUSED ? null : this._why(reason);
        if (reason === FULL) this._forget();
        else return this._why(reason);
      }
    }

    _why(reason) {
      const { CONTACT_UNSOLVED, PAUSED, TOO_MANY_STEPS } = home.machine;
      if (reason === CONTACT_UNSOLVED) return OUTCOMES[this.record.modes.outcome] ?? UNDECIDED;
      if (reason === PAUSED || reason === TOO_MANY_STEPS) return "its contacts change too fast to be followed";
      return "the motion has no continuation that could be computed";
    }

    // Records of steps, and of all changes but the last, are not kept.
    _forget() {
      const { record: s } = this;
      const c = s.modes;
      s.step_count = s.switch_count = 0;
      if (c.change_count + 2 <= c.change_room) return;
      for (const name of ["change_time", "change_lost", "change_sample", "change_step"]) c[name][0] = c[name][c.change_count - 1];
      for (const name of ["change_mode", "change_entries", "change_impulse"]) c[name][0].set(c[name][c.change_count - 1]);
      c.change_count = Math.min(1, c.change_count);
    }

    // The derivative in the present modes.
    field(time, x, to) {
      const { record: s } = this;
      s.time[0] = time;
      s.point.set(x);
      home.machine.evaluate(s, time, 1);
      to.set(s.k[1].subarray(0, to.length));
    }
  }

  home.Machine = Machine;
  home.MODES = ["open", "slips", "sticks"];
})();
