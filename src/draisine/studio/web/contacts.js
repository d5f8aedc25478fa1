// Contacts that stick, slip and open: the stepping loop of Python with its changes of modes, translated to JavaScript
// (`draisine.simulation.stepper`). Here it gets its memory, made of the data of a run in Python, and is called step by step.
(function () {
  "use strict";
  const home = globalThis.Draisine;
  const ENTRIES = 8; // numbers of a mode among the parameters: closed, sticks, …
  const OPEN = 0, SLIP = 1, STICK = 2;
  const PUSH = 0.1; // s: of a push, which takes forces that friction may not have
  const MOST_STEPS = 20000; // of one step of the page
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

  class Contacts {
    constructor(live) {
      const { manifest, programs } = live;
      const { machine, coordinates } = manifest.runtime;
      this.live = live;
      this.names = machine.contacts;
      this.first = manifest.parameters.length;
      this.coordinates = coordinates;
      this.usual = Float64Array.from(machine.start); // modes of the default start
      const s = (this.record = record(machine.record));
      for (const [field, name] of Object.entries(machine.kernels)) {
        const [place, own] = field.includes(".") ? [s.modes, field.split(".")[1]] : [s, field];
        if (place[own] && programs[name]) place[own] = kernel(programs[name]);
      }
      this.all = live.p;
      s.u = live.inputs;
      s.parameters = s.modes.all_parameters = live.p;
      s.modes.mode = live.p.subarray(this.first);
      s.hoisted = new Float64Array(0);
      this.given = Float64Array.from(live.inputs); // inputs of the last step
      this.pushed = { place: -1, amount: 0, until: -Infinity, added: 0 };
    }

    // Modes as one integer for each contact.
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

    // Combinations of modes for a start: the usual ones, then with as few contacts that slip or are open instead as possible.
    *candidates() {
      const { normal } = this.record.modes;
      this.record.modes.mode.set(this.usual);
      const first = this.modes.map((mode, i) => (normal[i] < 0 ? OPEN : mode));
      const closed = first.map((_, i) => i).filter((i) => first[i] !== OPEN);
      const every = [first.slice()];
      for (const i of closed) for (const modes of every.slice()) for (let m = first[i] - 1; m >= OPEN; m--) every.push(modes.map((old, k) => (k === i ? m : old)));
      const cost = (modes) => modes.reduce((sum, mode, i) => sum + (mode === OPEN && first[i] !== OPEN ? 100 : first[i] - mode), 0);
      yield* every.sort((a, b) => cost(a) - cost(b)).slice(0, 64);
    }

    // Begin a run at a state; the modes follow from it, and from those that are set. null, or the reason for a refusal.
    begin(x, time) {
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
      this.given.set(this.live.inputs);
      this.pushed.until = -Infinity;
      return this._run(time + this.live.h, 0);
    }

    // A step to a time, into `to`; null, or why there is none.
    step(time, to) {
      const { record: s, live } = this;
      if (live.inputs.some((value, k) => value !== this.given[k])) s.phase = home.machine.CHANGED;
      this.given.set(live.inputs);
      const why = this._run(time);
      to.set(s.x.subarray(0, to.length));
      return why;
    }

    // Up to a time, by at most `budget` steps; without steps a run begins only.
    _run(time, budget = MOST_STEPS) {
      const { record: s } = this;
      const { advance, REACHED, PAUSED, FULL } = home.machine;
      Object.assign(s, { end: time, budget });
      s.max_steps = s.accepted + s.rejected + MOST_STEPS;
      for (;;) {
        const reason = advance(s);
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
      for (const name of ["change_mode", "change_direction", "change_impulse"]) c[name][0].set(c[name][c.change_count - 1]);
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

    push(place, amount) {
      this.release();
      this.pushed = { place, amount, until: this.live.time + PUSH, added: 0 };
    }

    // Before a step: the force of a push is added to its input, or has ended.
    press() {
      const { live, pushed } = this;
      const force = live.time < pushed.until - 1e-9 ? pushed.amount / PUSH : 0;
      if (pushed.place >= 0) live.inputs[pushed.place] += force - pushed.added;
      pushed.added = force;
    }

    // Inputs are given anew, without it.
    release() {
      this.pushed.added = 0;
    }
  }

  home.Contacts = Contacts;
  home.MODES = ["open", "slips", "sticks"];
})();
