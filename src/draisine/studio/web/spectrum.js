// Eigenvalues of straight running over speed, from the exported linear model, and the speeds at which a mode changes its stability.
(function () {
  "use strict";
  const home = globalThis.Draisine;
  const POINTS = 160; // of the search for sign changes
  const HALVINGS = 80;
  const NEAR_ZERO = 1e-9;
  const IDLE = 1e-8; // of the largest eigenvalue

  class Spectrum {
    constructor(live) {
      this.live = live;
      this.linear = live.manifest.linear;
      this.n = this.linear.names.length;
      this.points = new Float64Array(1 + live.manifest.parameters.length);
      this.a = new Float64Array(this.n * this.n);
      this.work = new Float64Array(this.n * this.n);
      this.misfit = new Float64Array(1);
      this.eigenvalues = new home.Eigenvalues(this.n);
      this.idle = 0;
    }

    // Parameters in the order of the manifest, by name, or null for the present ones.
    take(parameters) {
      const live = this.live;
      if (parameters === null || parameters === undefined) this.points.set(live.parameters, 1);
      else if (ArrayBuffer.isView(parameters) || Array.isArray(parameters)) {
        if (parameters.length !== live.parameters.length) throw new RangeError(`${live.parameters.length} parameters are wanted`);
        this.points.set(parameters, 1);
      } else {
        this.points.set(live.parameters, 1);
        for (const [name, value] of Object.entries(parameters)) {
          const place = live.manifest.parameters.findIndex((p) => p.name === name);
          if (place < 0) throw new RangeError(`${live.manifest.name} has no parameter ${name}`);
          this.points[1 + place] = value;
        }
      }
    }

    // A at a speed; false where the closed form of straight running is not valid.
    at(speed) {
      this.points[0] = speed;
      this.live.programs.straight(this.points, this.a, this.misfit);
      return this.misfit[0] <= this.live.manifest.runtime.exact && home.finite(this.a);
    }

    over(parameters, speeds) {
      this.take(parameters);
      const re = [], im = [];
      for (const speed of speeds) {
        const good = this.at(speed) && this.eigenvalues.of(this.a);
        const order = Array.from({ length: this.n }, (_, k) => k);
        const { re: x, im: y } = this.eigenvalues;
        order.sort((i, j) => x[j] - x[i] || y[j] - y[i]);
        re.push(Float64Array.from(order, (k) => (good ? x[k] : NaN)));
        im.push(Float64Array.from(order, (k) => (good ? y[k] : NaN)));
      }
      return { re, im };
    }

    // Eigenvalues that are zero at every speed, such as that of the speed itself, are left out.
    idleAmong(speeds) {
      let fewest = this.n;
      for (const speed of speeds) {
        if (!this.at(speed) || !this.eigenvalues.of(this.a)) continue;
        const sizes = this._sizes();
        fewest = Math.min(fewest, sizes.filter((size) => size <= IDLE * sizes[this.n - 1]).length);
      }
      return fewest === this.n ? 0 : fewest;
    }

    // Indices of relevant eigenvalues: all but the idle, smallest ones.
    telling() {
      const order = Array.from({ length: this.n }, (_, k) => k);
      const { re, im } = this.eigenvalues;
      return order.sort((i, j) => Math.hypot(re[i], im[i]) - Math.hypot(re[j], im[j])).slice(this.idle);
    }

    // The sign of det A, which changes where a real eigenvalue passes through zero; of idle eigenvalues, without them.
    determinant() {
      if (this.idle === 0) return this.eliminated();
      if (!this.eigenvalues.of(this.a)) return NaN;
      const { re, im } = this.eigenvalues;
      let value = 1;
      for (const k of this.telling()) if (im[k] === 0) value *= Math.sign(re[k]);
      return value;
    }

    eliminated() {
      const { n, work, a } = this;
      work.set(a);
      let value = 1;
      for (let k = 0; k < n; k++) {
        let pivot = k;
        for (let i = k + 1; i < n; i++) if (Math.abs(work[k * n + i]) > Math.abs(work[k * n + pivot])) pivot = i;
        if (work[k * n + pivot] === 0) return 0;
        if (pivot !== k) {
          value = -value;
          for (let j = k; j < n; j++) [work[j * n + k], work[j * n + pivot]] = [work[j * n + pivot], work[j * n + k]];
        }
        value *= work[k * n + k];
        for (let i = k + 1; i < n; i++) {
          const factor = work[k * n + i] / work[k * n + k];
          for (let j = k + 1; j < n; j++) work[j * n + i] -= factor * work[j * n + k];
        }
      }
      return value;
    }

    // The product of the sums of all pairs of eigenvalues, each of length one: its sign changes where a pair passes the imaginary axis.
    growth() {
      if (!this.eigenvalues.of(this.a)) return NaN;
      const { re, im } = this.eigenvalues;
      const telling = this.telling();
      let x = 1, y = 0;
      for (let i = 0; i < telling.length; i++) {
        for (let j = 0; j < i; j++) {
          const u = re[telling[i]] + re[telling[j]], v = im[telling[i]] + im[telling[j]];
          const size = Math.hypot(u, v) || 1;
          [x, y] = [(x * u - y * v) / size, (x * v + y * u) / size];
        }
      }
      return x;
    }

    // The real part of the pair nearest to the axis; NaN without a pair.
    pair() {
      if (!this.eigenvalues.of(this.a)) return NaN;
      const { re, im } = this.eigenvalues;
      let largest = 0;
      for (let k = 0; k < this.n; k++) largest = Math.max(largest, Math.hypot(re[k], im[k]));
      let found = NaN;
      for (let k = 0; k < this.n; k++) if (im[k] > NEAR_ZERO * largest && !(Math.abs(found) <= Math.abs(re[k]))) found = re[k];
      return found;
    }

    value(kind, speed) {
      return this.at(speed) ? this[kind]() : NaN;
    }

    critical(parameters) {
      this.take(parameters);
      const two = ["lean", "steer"].every((name) => this.linear.names.includes(name));
      const names = { determinant: two ? "capsize" : "a mode crosses zero", growth: two ? "weave" : "an oscillation crosses the axis" };
      const { low, high } = this.linear;
      const found = [];
      this.idle = this.idleAmong(Array.from({ length: 9 }, (_, k) => low + ((high - low) * (k + 0.7)) / 10));
      for (const kind of ["determinant", "growth"]) {
        let before = low;
        let last = this.value(kind, low);
        for (let k = 1; k <= POINTS; k++) {
          const speed = low + ((high - low) * k) / POINTS;
          const value = this.value(kind, speed);
          if (last * value < 0) {
            const place = this.bisect(kind, before, speed, last);
            const fine = kind === "growth" ? this.refined(place, before, speed) : place;
            if (fine !== null) found.push({ name: names[kind], speed: fine });
          }
          before = speed;
          last = value;
        }
      }
      return found.sort((one, other) => one.speed - other.speed);
    }

    bisect(kind, low, high, first) {
      for (let k = 0; k < HALVINGS && high - low > 4e-16 * Math.abs(high); k++) {
        const middle = 0.5 * (low + high);
        if (this.value(kind, middle) * first > 0) low = middle; else high = middle;
      }
      return 0.5 * (low + high);
    }

    // Refined by the real part, which is more accurate than the product; null if two real eigenvalues are merely opposite.
    refined(place, low, high) {
      const here = this.value("pair", place);
      if (!(Math.abs(here) <= 1e-6 * Math.max(1, this._sizes()[this.n - 1]))) return null;
      const width = 1e-3 * (high - low);
      const a = Math.max(low, place - width), b = Math.min(high, place + width);
      const first = this.value("pair", a);
      return first * this.value("pair", b) < 0 ? this.bisect("pair", a, b, first) : place;
    }

    // Sizes of the eigenvalues, smallest first.
    _sizes() {
      const { re, im } = this.eigenvalues;
      return Array.from(re, (x, k) => Math.hypot(x, im[k])).sort((one, other) => one - other);
    }
  }

  home.Spectrum = Spectrum;
})();
