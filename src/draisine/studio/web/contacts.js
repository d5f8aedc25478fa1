// Contacts that stick, slip and open in a live model (`machine.js`): modes of starts, and pushes.
(function () {
  "use strict";
  const home = globalThis.Draisine;
  const OPEN = 0;
  const PUSH = 0.1; // s: of a push, which takes forces that friction may not have

  class Contacts extends home.Machine {
    constructor(live) {
      const { machine } = live.manifest.runtime;
      super(machine, live.programs, live.p, live.inputs);
      this.live = live;
      this.usual = Float64Array.from(machine.start); // modes of the default start
      this.pushed = { place: -1, amount: 0, until: -Infinity, added: 0 };
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

    begin(x, time) {
      this.pushed.until = -Infinity;
      return super.begin(x, time, this.live.h);
    }

    // A step to a time, into `to`; null, or why there is none.
    step(time, to) {
      const why = this.advance(time);
      to.set(this.state);
      return why;
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
})();
