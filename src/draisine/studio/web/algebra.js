// Linear algebra of a few dozen unknowns: the shortest solution of rows, some of which may repeat others.
(function () {
  "use strict";
  const home = globalThis.Draisine = globalThis.Draisine || {};

  const RANK = 1e-10; // a row of length one of which less is new repeats the others

  // A z = b for the shortest z. A is given by rows (m × n, dense). Rows are made orthonormal one after the other, that first of
  // which most is new (Gram and Schmidt, twice); rows that repeat others are left out, as least squares would for rows that agree.
  class Rows {
    constructor(m, n) {
      this.m = m;
      this.n = n;
      this.matrix = new Float64Array(m * n);
      this.basis = new Float64Array(m * n);
      this.lower = new Float64Array(m * m);
      this.length = new Float64Array(m);
      this.order = new Int32Array(m);
      this.rank = 0;
      this.found = new Float64Array(m);
      this.left = new Float64Array(m);
    }

    // Prepare what `solve` and `along` use; call after `matrix` has changed.
    factor() {
      const { m, n, matrix, basis, lower, length, order, left } = this;
      lower.fill(0);
      for (let i = 0; i < m; i++) {
        let sum = 0;
        for (let j = 0; j < n; j++) sum += matrix[i * n + j] * matrix[i * n + j];
        length[i] = sum > 0 ? Math.sqrt(sum) : 1;
        left[i] = sum > 0 ? 1 : 0;
        order[i] = i;
        for (let j = 0; j < n; j++) basis[i * n + j] = matrix[i * n + j] / length[i];
      }
      this.rank = 0;
      for (let k = 0; k < m; k++) {
        let best = k;
        for (let i = k + 1; i < m; i++) if (left[order[i]] > left[order[best]]) best = i;
        const swapped = order[k];
        order[k] = order[best];
        order[best] = swapped;
        const row = order[k];
        for (let pass = 0; pass < 2; pass++) {
          for (let i = 0; i < k; i++) {
            const other = order[i];
            let share = 0;
            for (let j = 0; j < n; j++) share += basis[row * n + j] * basis[other * n + j];
            lower[row * m + other] += share;
            for (let j = 0; j < n; j++) basis[row * n + j] -= share * basis[other * n + j];
          }
        }
        let rest = 0;
        for (let j = 0; j < n; j++) rest += basis[row * n + j] * basis[row * n + j];
        rest = Math.sqrt(rest);
        if (!(rest > RANK)) return;
        lower[row * m + row] = rest;
        for (let j = 0; j < n; j++) basis[row * n + j] /= rest;
        this.rank = k + 1;
        for (let i = k + 1; i < m; i++) {
          const other = order[i];
          let square = 0;
          let share = 0;
          for (let j = 0; j < n; j++) share += basis[other * n + j] * basis[row * n + j];
          square = left[other] * left[other] - share * share;
          left[other] = square > 0 ? this._rest(other, k + 1) : 0;
        }
      }
    }

    // What is new of a row beyond the first k of the basis; its share is taken off later, so that it is computed afresh here.
    _rest(row, k) {
      const { n, basis, order } = this;
      let square = 0;
      for (let j = 0; j < n; j++) square += basis[row * n + j] * basis[row * n + j];
      for (let i = 0; i < k; i++) {
        const other = order[i];
        let share = 0;
        for (let j = 0; j < n; j++) share += basis[row * n + j] * basis[other * n + j];
        square -= share * share;
      }
      return square > 0 ? Math.sqrt(square) : 0;
    }

    // z: the shortest solution of A z = b.
    solve(b, z) {
      const { m, n, basis, lower, length, order, found, rank } = this;
      z.fill(0);
      for (let k = 0; k < rank; k++) {
        const row = order[k];
        let value = b[row] / length[row];
        for (let i = 0; i < k; i++) value -= lower[row * m + order[i]] * found[order[i]];
        value /= lower[row * m + row];
        found[row] = value;
        for (let j = 0; j < n; j++) z[j] += value * basis[row * n + j];
      }
    }

    // Take from a direction what the rows do not allow.
    along(direction) {
      const { n, basis, order, rank } = this;
      for (let k = 0; k < rank; k++) {
        const row = order[k];
        let share = 0;
        for (let j = 0; j < n; j++) share += basis[row * n + j] * direction[j];
        for (let j = 0; j < n; j++) direction[j] -= share * basis[row * n + j];
      }
    }
  }

  function norm(vector) {
    let sum = 0;
    for (let i = 0; i < vector.length; i++) sum += vector[i] * vector[i];
    return Math.sqrt(sum);
  }

  function finite(vector) {
    for (let i = 0; i < vector.length; i++) if (!Number.isFinite(vector[i])) return false;
    return true;
  }

  home.algebra = { Rows, norm, finite };
})();
