// Validity checks: parameters within limits and of physical bodies, valid snapshots. Results are null, or the reason for a refusal.
(function () {
  "use strict";
  const home = globalThis.Draisine;

  class Sense {
    constructor(live) {
      const { slots } = live.manifest.runtime;
      this.live = live;
      this.place = new Map(live.manifest.parameters.map((parameter, k) => [parameter.name, k]));
      this.amounts = new Float64Array(slots.amounts ? slots.amounts.amounts : 0);
      this.moments = new home.Eigenvalues(3);
    }

    refused(name, value) {
      const place = this.place.get(name);
      if (place === undefined) return `${this.live.manifest.name} has no parameter ${name}`;
      if (typeof value !== "number" || !Number.isFinite(value)) return `${name}: a finite number is wanted`;
      const { low, high, unit } = this.live.manifest.parameters[place];
      const slack = 1e-9 * (Math.abs(low) + Math.abs(high));
      if (value < low - slack || value > high + slack) return `${name} must lie from ${short(low)} to ${short(high)} ${unit}, not at ${short(value)}`;
      return null;
    }

    // Masses, radii and moments of inertia that no rigid body has.
    senseless(parameters) {
      const table = this.live.manifest.runtime.amounts;
      if (!table || !this.live.programs.amounts) return null;
      const found = this.amounts;
      this.live.programs.amounts(parameters, found);
      for (const { what, at } of table.positive) if (!(found[at] > 0)) return `${what} would be ${short(found[at])}; it must be positive`;
      for (const { body, at } of table.tensors) {
        const [small, middle, large] = principal(this.moments, at.map((k) => found[k]));
        const slack = 1e-9 * Math.max(Math.abs(small), Math.abs(large));
        if (!(small >= -slack)) return `a principal moment of inertia of ${body} would be negative (${short(small)})`;
        if (!(large <= small + middle + slack)) {
          return `${body} would break the triangle inequality: its principal moments of inertia would be ${[small, middle, large].map(short).join(", ")}`;
        }
      }
      return null;
    }

    // {low, high}: admissible range of a parameter with the others constant.
    limits(name) {
      const place = this.place.get(name);
      if (place === undefined) throw new RangeError(`${this.live.manifest.name} has no parameter ${name}`);
      const { low, high } = this.live.manifest.parameters[place];
      const trial = Float64Array.from(this.live.parameters);
      const reach = (end) => {
        let good = this.live.parameters[place];
        let bad = end;
        trial[place] = end;
        if (this.senseless(trial) === null) return end;
        for (let k = 0; k < 40; k++) {
          trial[place] = 0.5 * (good + bad);
          if (this.senseless(trial) === null) good = trial[place]; else bad = trial[place];
        }
        return good;
      };
      return { low: reach(low), high: reach(high) };
    }

    // A state from a link or a file.
    malformed(snapshot) {
      if (typeof snapshot !== "object" || snapshot === null || Array.isArray(snapshot)) return "a state to restore is an object";
      const { parameters, state, time, modes } = snapshot;
      if (typeof parameters !== "object" || parameters === null || Array.isArray(parameters)) return "its parameters are missing";
      const names = Object.keys(parameters);
      if (names.length > this.live.manifest.parameters.length) return "it has more parameters than the model";
      for (const name of names) {
        const why = this.refused(name, parameters[name]);
        if (why) return why;
      }
      if (!Array.isArray(state) || state.length !== this.live.state.length) return `its state must have ${this.live.state.length} numbers`;
      if (!state.every((value) => typeof value === "number" && Number.isFinite(value) && Math.abs(value) < 1e9)) return "its state has values that are not finite numbers";
      const contacts = this.live.contacts?.names.length ?? 0;
      if (modes !== undefined && !(Array.isArray(modes) && modes.length === contacts && modes.every((mode) => [0, 1, 2].includes(mode)))) {
        return `its modes must be ${contacts} numbers of contacts: 0 open, 1 slips, 2 sticks`;
      }
      if (typeof time !== "number" || !(time >= 0 && time < 1e9)) return "its time is no time";
      return null;
    }
  }

  // Principal moments of a tensor of inertia, smallest first.
  function principal(solver, [xx, yy, zz, xy, yz, zx]) {
    solver.of([xx, xy, zx, xy, yy, yz, zx, yz, zz]);
    return Array.from(solver.re).sort((one, other) => one - other);
  }

  function short(value) {
    return Number.isFinite(value) ? String(Number(value.toPrecision(6))) : String(value);
  }

  home.Sense = Sense;
})();
