// Poses of bodies as quaternions, and forces on blades, for drawing.
(function () {
  "use strict";
  const home = globalThis.Draisine;

  // [R | r] by columns → position and unit quaternion, continuous with the previous one (Shepperd 1978).
  function turn(m, from, poses, to) {
    const r = (i, j) => m[from + 3 * j + i];
    const trace = r(0, 0) + r(1, 1) + r(2, 2);
    let best = 0;
    let most = trace;
    for (let k = 0; k < 3; k++) if (r(k, k) > most) { most = r(k, k); best = k + 1; }
    let w, x, y, z;
    if (best === 0) {
      w = 1 + trace; x = r(2, 1) - r(1, 2); y = r(0, 2) - r(2, 0); z = r(1, 0) - r(0, 1);
    } else if (best === 1) {
      w = r(2, 1) - r(1, 2); x = 1 - trace + 2 * r(0, 0); y = r(0, 1) + r(1, 0); z = r(0, 2) + r(2, 0);
    } else if (best === 2) {
      w = r(0, 2) - r(2, 0); x = r(0, 1) + r(1, 0); y = 1 - trace + 2 * r(1, 1); z = r(1, 2) + r(2, 1);
    } else {
      w = r(1, 0) - r(0, 1); x = r(0, 2) + r(2, 0); y = r(1, 2) + r(2, 1); z = 1 - trace + 2 * r(2, 2);
    }
    let size = Math.sqrt(w * w + x * x + y * y + z * z);
    if (w * poses[to + 3] + x * poses[to + 4] + y * poses[to + 5] + z * poses[to + 6] < 0) size = -size;
    poses[to] = m[from + 9];
    poses[to + 1] = m[from + 10];
    poses[to + 2] = m[from + 11];
    poses[to + 3] = w / size;
    poses[to + 4] = x / size;
    poses[to + 5] = y / size;
    poses[to + 6] = z / size;
  }

  // The force of the ground on a blade: across it, in the ground, and along the normal; `m` are poses [R | r], `o` outputs.
  function bladeForce(entry, m, o, at, force) {
    const first = 12 * entry.body;
    const along = [0, 0, 0];
    for (let i = 0; i < 3; i++) {
      at[i] = m[first + 9 + i];
      for (let j = 0; j < 3; j++) {
        at[i] += m[first + 3 * j + i] * entry.place[j];
        along[i] += m[first + 3 * j + i] * entry.along[j];
      }
    }
    const up = entry.normal;
    const left = [up[1] * along[2] - up[2] * along[1], up[2] * along[0] - up[0] * along[2], up[0] * along[1] - up[1] * along[0]];
    const size = Math.hypot(...left) || 1;
    for (let i = 0; i < 3; i++) force[i] = (o[entry.across] * left[i]) / size + (entry.up === null ? 0 : o[entry.up] * up[i]);
  }

  home.looks = { turn, bladeForce };
})();
