// A live model: its state is integrated by the classical Runge–Kutta method with a fixed step and projected onto the position
// constraints after each step. Nothing is allocated while it runs.
(function () {
  "use strict";
  const home = globalThis.Draisine;
  const { finite } = home;
  const { turn, bladeForce } = home.looks;

  const LONGEST = 3600; // s that one call may advance
  const TURNED = (100 * Math.PI) / 180; // a handlebar turned farther strikes the frame
  const LOOSE = 1e-2; // a residual, in meters or radians, that one step cannot have caused
  const LOST = 1e4; // times the limit of the condition: there the velocities say nothing any more

  class Live {
    constructor(manifest, programs) {
      const runtime = manifest.runtime;
      const n = manifest.states.length;
      this.manifest = manifest;
      this.programs = programs;
      this.h = runtime.step;
      this.inputs = new Float64Array(manifest.inputs.length);
      const count = manifest.parameters.length;
      this.p = new Float64Array(count + (runtime.machine ? runtime.machine.start.length : 0)); // with the modes of contacts behind
      this.parameters = this.p.subarray(0, count);
      this.parameters.set(manifest.parameters.map((p) => p.default));
      this.state = new Float64Array(n);
      this.time = 0;
      this.status = "ok";
      this.why = ""; // what a status means, in words
      this._owed = 0; // s not yet stepped
      this.jumps = null; // or an array, into which samples on both sides of jumps are put, for charts
      for (const k of ["_k1", "_k2", "_k3", "_k4"]) this[k] = new Float64Array(n); // slopes of a step
      this._x = new Float64Array(n);
      this._new = new Float64Array(n);
      this._error = new Float64Array(1);
      this._condition = new Float64Array(1);
      this._values = new Float64Array(runtime.events.length);
      this._signs = new Float64Array(runtime.events.length);
      this._input = new Map(manifest.inputs.map((input, k) => [input.name, k]));
      this._reported = {};
      for (const name of ["v", "multipliers", "outputs", "energy"]) this._reported[name] = new Float64Array(runtime.slots.report[name] || 0);
      this._reportSlots = Object.keys(runtime.slots.report).map((name) => this._reported[name]);
      this._outputs = new Float64Array(manifest.outputs.length);
      this._matrices = new Float64Array(runtime.slots.poses ? runtime.slots.poses.poses : 0);
      this._poses = new Float64Array(7 * manifest.bodies.length);
      this._forces = manifest.forces.map((force) => ({ name: force.name, at: [0, 0, 0], force: [0, 0, 0] }));
      this.warning = ""; // that a motion is not integrated as it should be
      this._switches = runtime.switches.length ? new home.Switches(this) : null;
      this.contacts = runtime.machine ? new home.Contacts(this) : null;
      this.sense = new home.Sense(this);
      this.starts = new home.Starts(this);
      this._recorder = new home.Recorder(this);
      const why = this.reset(manifest.start);
      if (why) throw new Error(why);
    }

    // ------------------------------------------------------------ start

    // Restart from targets by name; null, or the reason for a refusal.
    reset(targets) {
      const before = this._kept();
      this.time = 0;
      const found = this._start(targets || {});
      if (!found.why) found.why = this._settle(found.x);
      if (found.why) return this._undo(before, found.why);
      this._begin();
      return null;
    }

    // What a refused change puts back.
    _kept() {
      return { p: Float64Array.from(this.p), time: this.time };
    }

    _undo({ p, time }, why) {
      this.p.set(p);
      this.time = time;
      if (this.contacts) this.contacts.begin(this.state, time);
      return why;
    }

    // Targets with the first modes of contacts that allow them.
    _start(targets) {
      if (!this.contacts) return this.starts.solve(targets, null);
      let first = null;
      for (const modes of this.contacts.candidates()) {
        this.contacts.modes = modes;
        const found = this.starts.solve(targets, null);
        if (!found.why) return found;
        first = first || found;
      }
      return first;
    }

    _begin() {
      this._lawBefore = undefined;
      this.jumps?.splice(0);
      this.status = "ok";
      this.why = "";
      this.warning = "";
      this._owed = 0;
      this._zero = this.time;
      this._count = 0;
      if (this.programs.events) {
        this.programs.events(this.time, this.state, this.inputs, this.p, this._values);
        for (let i = 0; i < this._values.length; i++) this._signs[i] = Math.sign(this._values[i]);
      }
      this._recorder.restart();
    }

    // Accept a state if the equations are finite there; null, or the reason for a refusal.
    _settle(x) {
      if (finite(x)) this._field(this.time, x, this._k1);
      if (!finite(x) || !finite(this._k1)) return "the equations have no finite value there";
      const why = this.contacts ? this.contacts.begin(x, this.time) : null;
      if (!why) this.state.set(this.contacts ? this.contacts.record.x.subarray(0, x.length) : x);
      return why;
    }

    // The state derivative in the present modes of contacts.
    _field(time, x, to) {
      if (this.contacts) this.contacts.field(time, x, to);
      else this.programs.dynamics(time, x, this.inputs, this.p, to);
    }

    // ------------------------------------------------------------ stepping

    // Steps of `h` for the elapsed time; "ok", "fallen" or "not finite".
    advance(seconds, inputs) {
      if (!(seconds >= 0 && seconds <= LONGEST)) throw new RangeError(`advance: seconds must be from 0 to ${LONGEST}, got ${seconds}`);
      this._take(inputs);
      if (this.status !== "ok") return this.status;
      this._owed += seconds;
      while (this._owed >= this.h * (1 - 1e-9)) {
        this._owed -= this.h;
        if (this.contacts) this.contacts.press();
        this._recorder.note();
        const before = this.jumps && this._begun();
        this._step();
        if (before) this._jumped(before);
        if (this.status !== "ok") {
          this._owed = 0;
          return this.status;
        }
      }
      return this.status;
    }

    // ------------------------------------------------------------ jumps

    // What charts show of now.
    sample() {
      const outputs = this.outputs().slice(), { energy } = this._reported;
      const [kinetic, potential] = energy.length ? energy : [NaN, NaN];
      return { time: this.time, outputs, state: this.state.slice(), energy: { kinetic, potential, total: kinetic + potential } };
    }

    // Inputs, branches of switches, modes of contacts and the last impact: quantities jump where these change.
    _law() {
      const { contacts, inputs, _switches } = this;
      if (!contacts) return [...inputs, ...(_switches?.branches ?? []), _switches?.sliding ?? -1];
      const { change_count, change_time } = contacts.record.modes;
      return [...inputs, ...contacts.modes, change_count ? change_time[change_count - 1] : -1];
    }

    // The beginning of a step; into `jumps` where another law holds from here on.
    _begun() {
      const law = this._law(), other = this._lawBefore !== undefined && law.some((v, k) => v !== this._lawBefore[k]);
      const sample = other || this.contacts || this._switches ? this.sample() : null;
      if (other) this.jumps.push(sample);
      return { law, sample };
    }

    // Both ends of a step within which the law changed.
    _jumped({ law, sample }) {
      const first = this._lawBefore === undefined; // which decides on the branches of the start
      this._lawBefore = this._law();
      if (sample && !first && this.status === "ok" && law.some((v, k) => v !== this._lawBefore[k])) this.jumps.push(sample, this.sample());
    }

    _take(inputs) {
      this.inputs.fill(0);
      if (this.contacts) this.contacts.release();
      for (const name in inputs) {
        const place = this._input.get(name);
        const value = inputs[name];
        if (place === undefined) throw new RangeError(`${this.manifest.name} has no input ${name}`);
        if (!Number.isFinite(value)) throw new RangeError(`input ${name}: a finite number is wanted`);
        this.inputs[place] = value;
      }
    }

    // The classical Runge–Kutta method for a step of h; `to` is none of the arrays given.
    _stages(field, time, from, h, to) {
      const { inputs, p: parameters, _k1: k1, _k2: k2, _k3: k3, _k4: k4 } = this;
      const n = from.length;
      field(time, from, inputs, parameters, k1);
      for (let i = 0; i < n; i++) to[i] = from[i] + 0.5 * h * k1[i];
      field(time + 0.5 * h, to, inputs, parameters, k2);
      for (let i = 0; i < n; i++) to[i] = from[i] + 0.5 * h * k2[i];
      field(time + 0.5 * h, to, inputs, parameters, k3);
      for (let i = 0; i < n; i++) to[i] = from[i] + h * k3[i];
      field(time + h, to, inputs, parameters, k4);
      for (let i = 0; i < n; i++) to[i] = from[i] + h * (k1[i] / 6 + k2[i] / 3 + k3[i] / 3 + k4[i] / 6);
    }

    _step() {
      const { state, inputs, h, time, programs, _x } = this;
      if (this.contacts) {
        const why = this.contacts.step(this._zero + (this._count + 1) * h, _x);
        if (why) {
          this._end("not finite", `${why}: the state before is kept`);
          return;
        }
      } else if (this._switches) this._switches.step(_x);
      else this._stages(programs.dynamics, time, state, h, _x);
      let reached = _x;
      if (programs.project && !this.contacts) {
        programs.project(time + h, _x, inputs, this.p, this._new, this._error);
        reached = this._new;
        if (this._error[0] > LOOSE) {
          this._end("fallen", "its constraints can no longer be met");
          return;
        }
      }
      if (!finite(reached)) {
        this._end("not finite", "the motion has no finite continuation: the state before is kept");
        return;
      }
      this.state.set(reached);
      this._count += 1;
      this.time = this._zero + this._count * h;
      this._switches?.keep();
      this._watch();
    }

    // Whether it has fallen: by the model's events, by its lean, or at a singular position.
    _watch() {
      const { programs, time, state, inputs, p: parameters, manifest } = this;
      const runtime = manifest.runtime;
      if (programs.events) {
        programs.events(time, state, inputs, parameters, this._values);
        for (let i = 0; i < this._values.length; i++) {
          const sign = Math.sign(this._values[i]);
          if (runtime.events[i].stop && sign !== 0 && this._signs[i] !== 0 && sign !== this._signs[i]) {
            this._end("fallen", runtime.events[i].description);
          }
          if (sign !== 0) this._signs[i] = sign;
        }
      }
      if (programs.monitor) {
        programs.monitor(time, state, inputs, parameters, this._condition);
        if (!(this._condition[0] <= LOST * runtime.condition_limit)) this._end("fallen", "the position is singular: its velocities are lost");
      }
      for (let i = 0; i < runtime.turned.length; i++) {
        if (!(Math.abs(state[runtime.turned[i]]) <= TURNED)) this._end("fallen", "steer passed 100°");
      }
      if (runtime.fall) {
        if (!(Math.abs(this.report(time, state, inputs).outputs[runtime.fall.lean]) <= runtime.fall.most)) this._end("fallen", "lean passed 80°");
      }
    }

    _end(status, why) {
      if (this.status !== "ok") return;
      this.status = status;
      this.why = why;
    }

    // ------------------------------------------------------------ outputs

    // Values of the report, of now unless a state is given; the next call overwrites them.
    report(time = this.time, state = this.state, inputs = this.inputs) {
      this.programs.report(time, state, inputs, this.p, ...this._reportSlots);
      return this._reported;
    }

    // Named outputs in the order of the manifest, energies at the end.
    outputs() {
      const { outputs, energy } = this.report();
      this._outputs.set(outputs);
      if (energy.length) {
        const k = outputs.length;
        this._outputs[k] = energy[0];
        this._outputs[k + 1] = energy[1];
        this._outputs[k + 2] = energy[0] + energy[1];
      }
      return this._outputs;
    }

    energy() {
      const { energy } = this.report();
      if (!energy.length) return { kinetic: NaN, potential: NaN, total: NaN };
      return { kinetic: energy[0], potential: energy[1], total: energy[0] + energy[1] };
    }

    // x y z qw qx qy qz of each body.
    poses() {
      if (!this.programs.poses) return this._poses;
      this.programs.poses(this.time, this.state, this.p, this._matrices);
      for (let b = 0; b < this.manifest.bodies.length; b++) turn(this._matrices, 12 * b, this._poses, 7 * b);
      return this._poses;
    }

    // Forces of the ground, for arrows.
    forces() {
      const o = this.report().outputs;
      this.manifest.forces.forEach((entry, k) => {
        const { at, force } = this._forces[k];
        if (entry.at) {
          for (let i = 0; i < 3; i++) {
            at[i] = o[entry.at[i]];
            force[i] = o[entry.force[i]];
          }
        } else {
          this.poses();
          bladeForce(entry, this._matrices, o, at, force);
        }
      });
      return this._forces;
    }

    // ------------------------------------------------------------ parameters

    setParameter(name, value) {
      return this.setParameters({ [name]: value });
    }

    // {low, high}: admissible range of a parameter with the others constant.
    limits(name) {
      return this.sense.limits(name);
    }

    // All or nothing; null, or the reason for a refusal. The state stays on the constraints, lean and speed are kept.
    setParameters(values) {
      if (this._recorder.on) return "a recorded ride has one set of parameters: end the recording first";
      const wanted = Float64Array.from(this.parameters);
      for (const [name, value] of Object.entries(values)) {
        const why = this.sense.refused(name, value);
        if (why) return why;
        wanted[this.sense.place.get(name)] = value;
      }
      const why = this.sense.senseless(wanted);
      if (why) return why;
      const before = this._kept();
      const { q, v, targets } = this._motion();
      this.parameters.set(wanted);
      let found = this.starts.solve(targets, { q, v });
      if (found.why) found = this.starts.solve({}, { q, v });
      if (!found.why) this._carry(found.x);
      if (!found.why) found.why = this._settle(found.x);
      if (found.why) return this._undo(before, found.why);
      if (this.status !== "fallen") this._begin();
      return null;
    }

    // Auxiliary states, such as work done, are kept.
    _carry(x) {
      const { coordinates, independent } = this.manifest.runtime;
      const first = coordinates + independent.length;
      x.set(this.state.subarray(first), first);
    }

    // Coordinates and all velocities, and by name the quantities kept while parameters change.
    _motion() {
      const { coordinates, kept } = this.manifest.runtime;
      const table = this.starts.table;
      const { v: velocities, outputs } = this.report();
      const q = this.state.slice(0, coordinates);
      const v = velocities.slice();
      const targets = {};
      for (const name of kept) {
        if (table.homes[name] === "coordinates") targets[name] = q[table.q.indexOf(name)];
        else if (table.homes[name] === "velocities") targets[name] = v[table.v.indexOf(name)];
        else targets[name] = outputs[this.manifest.outputs.findIndex((output) => output.name === name)];
      }
      return { q, v, targets };
    }

    // An impulse `amount` of the input: the change of velocities consistent with the constraints.
    push(amount) {
      const push = this.manifest.push;
      if (!push || this.status !== "ok") return;
      if (!Number.isFinite(amount)) throw new RangeError("push: a finite number is wanted");
      const first = this.manifest.runtime.coordinates;
      const count = this.manifest.runtime.independent.length;
      this._x.set(this.state);
      if (push.input !== undefined && this.contacts) {
        this.contacts.push(this._input.get(push.input), amount); // friction bounds the forces of contacts
        return;
      }
      if (push.input !== undefined) {
        const { _k1: still, _k2: pushed } = this;
        const place = this._input.get(push.input);
        const kept = this.inputs[place];
        this._field(this.time, this.state, still);
        this.inputs[place] = kept + 1;
        this._field(this.time, this.state, pushed);
        this.inputs[place] = kept;
        for (let i = first; i < first + count; i++) this._x[i] += amount * (pushed[i] - still[i]);
      } else {
        const place = this.manifest.states.findIndex((state) => state.name === push.state);
        this._x[place] += amount;
      }
      const pushed = Float64Array.from(this._x);
      this._recorder.note();
      if (this._settle(pushed)) this._end("not finite", "the push leads nowhere");
      else {
        this._recorder.cut();
        this.jumps?.push(this.sample());
      }
    }

    // ------------------------------------------------------------ snapshots and recording

    snapshot() {
      const parameters = {};
      this.manifest.parameters.forEach((p, k) => {
        if (this.parameters[k] !== p.default) parameters[p.name] = this.parameters[k];
      });
      const modes = this.contacts ? { modes: this.contacts.modes } : {};
      return { parameters, state: Array.from(this.state), time: this.time, ...modes };
    }

    // null, or the reason for a refusal; a snapshot is checked, and nothing changes unless all of it is valid.
    restore(snapshot) {
      const why = this.sense.malformed(snapshot);
      if (why) return why;
      const wanted = Float64Array.from(this.manifest.parameters.map((p) => p.default));
      for (const [name, value] of Object.entries(snapshot.parameters)) wanted[this.sense.place.get(name)] = value;
      const senseless = this.sense.senseless(wanted);
      if (senseless) return senseless;
      const before = this._kept();
      this.parameters.set(wanted);
      if (snapshot.modes) this.contacts.modes = snapshot.modes;
      this.time = snapshot.time;
      const x = Float64Array.from(snapshot.state);
      if (!this._closed(x) || this._settle(x)) return this._undo(before, "the state is not one that the model can be in");
      this._begin();
      return null;
    }

    // Project a state onto the constraints; false if it is far off.
    _closed(x) {
      if (!this.programs.project) return true;
      for (let round = 0; round < 8; round++) {
        this.programs.project(this.time, x, this.inputs, this.p, this._new, this._error);
        if (!finite(this._new) || !(this._error[0] < 0.1)) return false;
        if (this._error[0] <= 1e-12) return true;
        x.set(this._new);
      }
      return this._error[0] <= 1e-9;
    }

    record(on) {
      this._recorder.record(Boolean(on));
    }

    // A trajectory file as text.
    recording() {
      return this._recorder.text();
    }

    get recorded() {
      return this._recorder.recorded;
    }

    readRide(text) {
      return home.readRide(this, text);
    }

    // ------------------------------------------------------------ linear stability

    // Eigenvalues of straight running at speeds: {re, im}, one array each per speed, largest real part first.
    spectrum(parameters, speeds) {
      return this._spectrum().over(parameters, speeds);
    }

    // Speeds at which a mode gains or loses stability: [{name, speed}], in order.
    critical(parameters) {
      return this._spectrum().critical(parameters);
    }

    _spectrum() {
      if (!this.manifest.linear) throw new Error(`${this.manifest.name} has no straight running whose eigenvalues could be computed`);
      this._linear = this._linear || new home.Spectrum(this);
      return this._linear;
    }
  }

  home.Live = Live;
})();
