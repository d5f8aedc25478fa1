// Steps of equations that switch: within a step every branch is fixed, and the step is cut where the argument of a switch
// leaves the range of its branch. Where both sides of one switch lead back to it, the motion slides (Filippov).
(function () {
  "use strict";
  const home = globalThis.Draisine;
  const { finite } = home;

  const MOST_CUTS = 64; // of a step
  const AT_ONCE = 1e-6; // a switch that is crossed back within this part of a step chatters
  const HALVINGS = 52;

  class Switches {
    constructor(live) {
      const { switches } = live.manifest.runtime;
      const n = live.state.length, count = switches.length;
      this.live = live;
      this.table = switches;
      this.p = new Float64Array(live.parameters.length + count); // parameters, then branches
      this.branches = this.p.subarray(live.parameters.length);
      this.sliding = -1; // the switch on which the motion slides
      this.sides = [0, 1]; // its branches
      this.ready = false;
      this._z = new Float64Array(count);
      this._found = new Float64Array(count); // the side to which each switch leaves its branch where the step is cut
      this._rates = new Float64Array(count);
      this._crossed = new Float64Array(count); // time of the last crossing in this step
      this._ignored = new Uint8Array(count);
      for (const name of ["_from", "_at", "_f0", "_f1", "_low", "_high", "_state"]) this[name] = new Float64Array(n);
      this._inputs = new Float64Array(live.inputs.length);
      this._time = NaN;
      this.field = (t, x, u, p, xdot) => this._field(t, x, xdot);
    }

    // One step of h from the state of the model into `to`.
    step(to) {
      const { live, _from: from, field } = this;
      const { h, time, programs } = live;
      this._begin();
      from.set(live.state);
      this._crossed.fill(-Infinity);
      this._ignored.fill(0);
      let done = 0;
      for (let cuts = 0; ; cuts++) {
        const length = h - done, t = time + done;
        live._stages(field, t, from, length, to);
        if (!finite(to) || !this._leaves(t + length, to)) return;
        const share = cuts < MOST_CUTS ? this._locate(t, from, to, length) : 0;
        if (share > 0) {
          live._stages(field, t, from, share * length, to);
          from.set(to);
          done += share * length;
        }
        if (cuts === MOST_CUTS) this._warn(this._z.findIndex((side) => side !== 0));
        else if (this._cross(time + done, from)) continue;
        live._stages(programs.dynamics, time + done, from, h - done, to); // across, as the expressions are
        this.ready = false;
        return;
      }
    }

    // After a step: what it ended with, to notice changes from outside.
    keep() {
      this._time = this.live.time;
      this._state.set(this.live.state);
      this._inputs.set(this.live.inputs);
    }

    // Branches of the present state, unless the last step ended there.
    _begin() {
      const { live, p, branches, table } = this;
      const known = this.ready && this._time === live.time && same(this._state, live.state) && same(this._inputs, live.inputs);
      if (known && same(live.parameters, p)) return;
      p.set(live.parameters);
      branches.fill(0);
      this.sliding = -1;
      for (let sweep = 0; sweep <= table.length; sweep++) {
        this._arguments(live.time, live.state);
        const before = Float64Array.from(branches);
        for (let k = 0; k < table.length; k++) branches[k] = branch(table[k], this._z[k]);
        if (same(before, branches)) break;
      }
      this.ready = true;
    }

    _arguments(t, x) {
      this.live.programs.switch_arguments(t, x, this.live.inputs, this.p, this._z);
    }

    // The state derivative with fixed branches; on a surface the convex combination of both sides that is tangential to it.
    _field(t, x, xdot) {
      const { live, p, sliding } = this;
      if (sliding < 0) {
        live.programs.fixed(t, x, live.inputs, p, xdot);
        return;
      }
      const balance = this._balance(t, x), share = Number.isNaN(balance) ? 0.5 : Math.min(Math.max(balance, 0), 1);
      for (let i = 0; i < xdot.length; i++) xdot[i] = this._low[i] + share * (this._high[i] - this._low[i]);
    }

    // The part of the upper side in sliding: beyond 0 to 1 the motion leaves the surface.
    _balance(t, x) {
      const [below, above] = this._sideRates(t, x, this.sliding, this.sides);
      return below / (below - above);
    }

    _sideRates(t, x, k, sides) {
      const { live, p, branches } = this;
      const kept = branches[k];
      const found = sides.map((side, i) => {
        branches[k] = side;
        live.programs.fixed(t, x, live.inputs, p, i ? this._high : this._low);
        live.programs.switch_rates(t, x, live.inputs, p, this._rates);
        return this._rates[k];
      });
      branches[k] = kept;
      return found;
    }

    // Whether a branch does not hold at a state: notes which side each argument is on.
    _leaves(t, x) {
      this._arguments(t, x);
      let any = false;
      for (let k = 0; k < this.table.length; k++) {
        if (k === this.sliding) {
          const share = this._balance(t, x);
          this._z[k] = share < 0 ? -1 : share > 1 ? 1 : 0;
        } else {
          const one = this.table[k], z = this._z[k], branch = this.branches[k];
          this._z[k] = this._ignored[k] ? 0 : z < lowest(one, branch) ? -1 : z > highest(one, branch) ? 1 : 0;
        }
        any = any || this._z[k] !== 0;
      }
      return any;
    }

    // The part of a step after which the first branch ends, on the cubic interpolant.
    _locate(t, from, to, length) {
      const { _at: at, _f0: f0, _f1: f1 } = this;
      this._field(t, from, f0);
      this._field(t + length, to, f1);
      this._found.set(this._z);
      let inside = 0, outside = 1;
      for (let round = 0; round < HALVINGS; round++) {
        const s = (inside + outside) / 2, r = 1 - s;
        for (let i = 0; i < at.length; i++) {
          at[i] = r * r * (1 + 2 * s) * from[i] + s * s * (3 - 2 * s) * to[i] + length * s * r * (r * f0[i] - s * f1[i]);
        }
        if (this._leaves(t + s * length, at)) {
          outside = s;
          this._found.set(this._z);
        } else inside = s;
      }
      return inside;
    }

    // Change the branches that end here; false if the motion cannot be continued with fixed branches.
    _cross(t, x) {
      const { table, branches } = this;
      for (let k = 0; k < table.length; k++) {
        const side = this._found[k];
        if (!side) continue;
        if (k === this.sliding) {
          branches[k] = this.sides[side < 0 ? 0 : 1];
          this.sliding = -1;
          this._ignored[k] = 1; // its argument starts from rest on the surface
          continue;
        }
        const sides = beside(table[k], branches[k], side);
        if (t - this._crossed[k] > AT_ONCE * this.live.h) {
          this._crossed[k] = t;
          branches[k] = sides[side < 0 ? 0 : 1];
          continue;
        }
        const [below, above] = this._sideRates(t, x, k, sides);
        if (below > 0 && above < 0 && this.sliding < 0) {
          this.sliding = k;
          this.sides = sides;
        } else if (below > 0 === above > 0 && Number.isFinite(below + above)) {
          branches[k] = sides[below > 0 ? 1 : 0];
          this._ignored[k] = 1;
        } else {
          this._warn(k);
          return false;
        }
      }
      return true;
    }

    _warn(k) {
      const { live, table } = this;
      live.warning = `The motion switches back and forth at ${table[k].name}: steps of ${live.h} s go across, with errors of the order of a step.`;
    }
  }

  function same(a, b) {
    for (let k = 0; k < a.length; k++) if (a[k] !== b[k]) return false;
    return true;
  }

  // The branches below and above a limit that the argument leaves to a side.
  function beside(one, branch, side) {
    if (one.kind === "sides") return [0, 1];
    return side < 0 ? [branch - 1, branch] : [branch, branch + 1];
  }

  // The range of the argument in which a branch holds.
  function lowest(one, branch) {
    if (one.kind === "sides") return branch < 0.5 ? -Infinity : 0;
    if (one.kind === "table") return branch > 0 ? one.breaks[branch - 1] : -Infinity;
    return one.kind === "truncation" && branch <= 0 ? branch - 1 : branch;
  }

  function highest(one, branch) {
    if (one.kind === "sides") return branch > 0.5 ? Infinity : 0;
    if (one.kind === "table") return branch < one.breaks.length ? one.breaks[branch] : Infinity;
    return one.kind === "truncation" && branch < 0 ? branch : branch + 1;
  }

  // The branch at an argument.
  function branch(one, z) {
    if (one.kind === "sides") return z === 0 ? one.at_zero : z > 0 ? 1 : 0;
    if (one.kind === "table") return one.breaks.filter((limit) => limit <= z).length;
    if (one.kind === "truncation") return Math.trunc(z);
    return Math.floor(z) - (one.at_zero > 0 && z === Math.floor(z) ? 1 : 0);
  }

  home.Switches = Switches;
})();
