// Eigenvalues of small real matrices: balancing, reduction to Hessenberg form, Francis's double-shift QR (Golub & Van Loan,
// Matrix Computations, sections 7.4 and 7.5).
(function () {
  "use strict";
  const home = globalThis.Draisine;
  const EPSILON = 2.220446049250313e-16;
  const ROUNDS = 60; // of QR for one eigenvalue or pair

  class Eigenvalues {
    constructor(n) {
      this.n = n;
      this.h = new Float64Array(n * n); // by rows
      this.w = new Float64Array(n); // a Householder vector
      this.re = new Float64Array(n);
      this.im = new Float64Array(n);
    }

    // Of a matrix given by columns; `re` and `im` get the parts. False where it has entries that are not finite.
    of(a) {
      const { n, h } = this;
      for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) h[i * n + j] = a[j * n + i];
      this.re.fill(NaN);
      this.im.fill(NaN);
      for (let k = 0; k < n * n; k++) if (!Number.isFinite(h[k])) return false;
      this._balance();
      this._hessenberg();
      return this._francis();
    }

    // Balancing: scale rows and columns by powers of two to similar size.
    _balance() {
      const { n, h } = this;
      for (let again = true, round = 0; again && round < 100; round++) {
        again = false;
        for (let i = 0; i < n; i++) {
          let column = 0;
          let row = 0;
          for (let j = 0; j < n; j++) {
            if (j === i) continue;
            column += Math.abs(h[j * n + i]);
            row += Math.abs(h[i * n + j]);
          }
          if (column === 0 || row === 0) continue;
          const sum = column + row;
          let factor = 1;
          while (column < row / 2) { factor *= 2; column *= 4; }
          while (column >= row * 2) { factor /= 2; column /= 4; }
          if ((column + row) / factor >= 0.95 * sum) continue;
          again = true;
          for (let j = 0; j < n; j++) h[i * n + j] /= factor;
          for (let j = 0; j < n; j++) h[j * n + i] *= factor;
        }
      }
    }

    // Zeros below the first subdiagonal, by reflections from both sides.
    _hessenberg() {
      const { n, h, w } = this;
      for (let k = 0; k < n - 2; k++) {
        let size = 0;
        for (let i = k + 1; i < n; i++) size = Math.max(size, Math.abs(h[i * n + k]));
        let below = 0;
        for (let i = k + 2; i < n; i++) below = Math.max(below, Math.abs(h[i * n + k]));
        if (below === 0) continue;
        let square = 0;
        for (let i = k + 1; i < n; i++) {
          w[i] = h[i * n + k] / size;
          square += w[i] * w[i];
        }
        const root = w[k + 1] > 0 ? -Math.sqrt(square) : Math.sqrt(square);
        const half = square - w[k + 1] * root;
        w[k + 1] -= root;
        for (let j = k; j < n; j++) {
          let sum = 0;
          for (let i = k + 1; i < n; i++) sum += w[i] * h[i * n + j];
          sum /= half;
          for (let i = k + 1; i < n; i++) h[i * n + j] -= sum * w[i];
        }
        for (let i = 0; i < n; i++) {
          let sum = 0;
          for (let j = k + 1; j < n; j++) sum += w[j] * h[i * n + j];
          sum /= half;
          for (let j = k + 1; j < n; j++) h[i * n + j] -= sum * w[j];
        }
        h[(k + 1) * n + k] = root * size;
        for (let i = k + 2; i < n; i++) h[i * n + k] = 0;
      }
    }

    _francis() {
      const { n, h, re, im } = this;
      let norm = 0;
      for (let k = 0; k < n * n; k++) norm += Math.abs(h[k]);
      let last = n - 1;
      let rounds = 0;
      while (last >= 0) {
        let first = last;
        for (; first > 0; first--) {
          let size = Math.abs(h[(first - 1) * n + first - 1]) + Math.abs(h[first * n + first]);
          if (size === 0) size = norm;
          if (Math.abs(h[first * n + first - 1]) <= EPSILON * size) {
            h[first * n + first - 1] = 0;
            break;
          }
        }
        if (first === last) {
          re[last] = h[last * n + last];
          im[last] = 0;
          last--;
          rounds = 0;
        } else if (first === last - 1) {
          this._pair(last - 1);
          last -= 2;
          rounds = 0;
        } else {
          if (rounds++ >= ROUNDS) return false;
          this._sweep(first, last, rounds % 11 === 10);
        }
      }
      return true;
    }

    // Both eigenvalues of the block of two at k.
    _pair(k) {
      const { n, h, re, im } = this;
      const a = h[k * n + k], b = h[k * n + k + 1], c = h[(k + 1) * n + k], d = h[(k + 1) * n + k + 1];
      const half = (a - d) / 2;
      const under = half * half + b * c;
      if (under >= 0) {
        const z = half + (half >= 0 ? Math.sqrt(under) : -Math.sqrt(under));
        re[k] = d + z;
        re[k + 1] = z !== 0 ? d - (b * c) / z : d;
        im[k] = im[k + 1] = 0;
      } else {
        re[k] = re[k + 1] = d + half;
        im[k] = Math.sqrt(-under);
        im[k + 1] = -im[k];
      }
    }

    // One double step on the rows and columns first … last; an exceptional shift if the usual ones do not converge.
    _sweep(first, last, exceptional) {
      const { n, h } = this;
      let sum = h[(last - 1) * n + last - 1] + h[last * n + last];
      let product = h[(last - 1) * n + last - 1] * h[last * n + last] - h[(last - 1) * n + last] * h[last * n + last - 1];
      if (exceptional) {
        const size = Math.abs(h[last * n + last - 1]) + Math.abs(h[(last - 1) * n + last - 2]);
        sum = 1.5 * size;
        product = size * size;
      }
      const h00 = h[first * n + first], h01 = h[first * n + first + 1];
      const h10 = h[(first + 1) * n + first], h11 = h[(first + 1) * n + first + 1];
      let x = h00 * h00 + h01 * h10 - sum * h00 + product;
      let y = h10 * (h00 + h11 - sum);
      let z = h10 * h[(first + 2) * n + first + 1];
      for (let k = first; k < last; k++) {
        const three = k < last - 1;
        const size = Math.abs(x) + Math.abs(y) + (three ? Math.abs(z) : 0);
        if (size > 0) {
          x /= size;
          y /= size;
          z = three ? z / size : 0;
          const length = Math.sqrt(x * x + y * y + z * z);
          const root = x > 0 ? -length : length;
          const v0 = x - root, v1 = y, v2 = z;
          const half = -root * v0;
          if (half !== 0) {
            const from = Math.max(first, k - 1);
            for (let j = from; j < n; j++) {
              const s = (v0 * h[k * n + j] + v1 * h[(k + 1) * n + j] + (three ? v2 * h[(k + 2) * n + j] : 0)) / half;
              h[k * n + j] -= s * v0;
              h[(k + 1) * n + j] -= s * v1;
              if (three) h[(k + 2) * n + j] -= s * v2;
            }
            const until = Math.min(last, k + 3);
            for (let i = 0; i <= until; i++) {
              const s = (v0 * h[i * n + k] + v1 * h[i * n + k + 1] + (three ? v2 * h[i * n + k + 2] : 0)) / half;
              h[i * n + k] -= s * v0;
              h[i * n + k + 1] -= s * v1;
              if (three) h[i * n + k + 2] -= s * v2;
            }
          }
        }
        if (k > first) {
          h[(k + 1) * n + k - 1] = 0;
          if (three) h[(k + 2) * n + k - 1] = 0;
        }
        x = h[(k + 1) * n + k];
        y = k + 2 <= last ? h[(k + 2) * n + k] : 0;
        z = k + 3 <= last ? h[(k + 3) * n + k] : 0;
      }
    }
  }

  home.Eigenvalues = Eigenvalues;
})();
