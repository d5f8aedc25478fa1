// 3D stage of films and the studio: solids, ground, tracks, force arrows, cameras, light and dark theme.
// Positions in meters, z up, quaternions scalar first; data by `draisine.view.film.page`.
(() => {
  "use strict";
  const T = THREE;
  const FORCE = "#c2185b", CORD = "#777c82", HINGE = "#888888", AXES = ["#d55e00", "#009e73", "#0072b2"];

  function bytes(text) {
    const raw = atob(text);
    const found = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
    return found.buffer;
  }
  const floats = (text) => new Float32Array(bytes(text));
  const whole = (text) => new Uint32Array(bytes(text));

  // ------------------------------------------------------------------ parts

  function geometry(mesh) {
    const found = new T.BufferGeometry();
    found.setAttribute("position", new T.BufferAttribute(floats(mesh.vertices), 3));
    found.setIndex(new T.BufferAttribute(whole(mesh.triangles), 1));
    found.computeVertexNormals();
    return found;
  }

  function line(ends, color) {
    const made = new T.Line(
      new T.BufferGeometry().setFromPoints(ends.map((p) => new T.Vector3(...p))),
      new T.LineBasicMaterial({ color: color, depthTest: false, transparent: true }));
    made.renderOrder = 6;
    return made;
  }

  function quartered(radius) {
    const shape = new T.SphereGeometry(radius, 16, 12).toNonIndexed();
    const at = shape.attributes.position, colors = new Float32Array(3 * at.count);
    for (let i = 0; i < at.count; i += 3) {
      const middle = (get) => get(i) + get(i + 1) + get(i + 2);
      const dark = middle((j) => at.getX(j)) * middle((j) => at.getY(j)) * middle((j) => at.getZ(j)) > 0 ? 0.05 : 1;
      colors.fill(dark, 3 * i, 3 * i + 9);
    }
    shape.setAttribute("color", new T.BufferAttribute(colors, 3));
    const mark = new T.Mesh(shape, new T.MeshBasicMaterial({ vertexColors: true, depthTest: false }));
    mark.renderOrder = 5;
    return mark;
  }

  function coil() {
    const turns = 9, length = 50, points = []; // length in thicknesses, so that the wire stays round when it is stretched to size
    for (let i = 0; i <= turns * 12; i++) {
      const s = i / (turns * 12), angle = 2 * Math.PI * turns * s;
      const inner = s < 0.06 || s > 0.94 ? 0 : 1;
      points.push(new T.Vector3(inner * Math.cos(angle) * 3, inner * Math.sin(angle) * 3, length * (s - 0.5)));
    }
    return new T.TubeGeometry(new T.CatmullRomCurve3(points), turns * 16, 0.5, 5).scale(1, 1, 1 / length);
  }

  /** A growing track: a strip on the ground and a line visible from any distance. When full, its older half is dropped. */
  class Ribbon {
    constructor(size, color, opacity, capacity) {
      this.half = 0.008 * size;
      this.lift = 0.003 * size;
      this.capacity = Math.max(capacity, 2);
      this.count = 0;
      this.left = [0, 1];
      this.points = new Float32Array(3 * this.capacity);
      this.strip = new T.BufferGeometry();
      this.strip.setAttribute("position", new T.BufferAttribute(new Float32Array(6 * this.capacity), 3));
      const index = new Uint32Array(6 * (this.capacity - 1));
      for (let i = 0; i + 1 < this.capacity; i++) index.set([2 * i, 2 * i + 1, 2 * i + 2, 2 * i + 1, 2 * i + 3, 2 * i + 2], 6 * i);
      this.strip.setIndex(new T.BufferAttribute(index, 1));
      this.thread = new T.BufferGeometry();
      this.thread.setAttribute("position", new T.BufferAttribute(new Float32Array(3 * this.capacity), 3));
      const paint = new T.MeshBasicMaterial({ color: color, transparent: true, opacity, side: T.DoubleSide, depthWrite: false });
      this.made = new T.Mesh(this.strip, paint);
      const thread = new T.Line(this.thread, new T.LineBasicMaterial({ color: color, transparent: true, opacity }));
      this.made.add(thread);
      for (const part of [this.made, thread]) Object.assign(part, { frustumCulled: false, renderOrder: 1 });
      this.upTo(0);
    }

    append(x, y, z) {
      if (this.count === this.capacity) this.forget();
      this.points.set([x, y, z], 3 * this.count++);
      if (this.count > 1) this.widen(this.count - 2);
      this.widen(this.count - 1);
      this.upTo(this.count);
      for (const shape of [this.strip, this.thread]) shape.attributes.position.needsUpdate = true;
    }

    widen(i) {
      const { points, half, lift } = this, a = Math.max(i - 1, 0), b = Math.min(i + 1, this.count - 1);
      const dx = points[3 * b] - points[3 * a], dy = points[3 * b + 1] - points[3 * a + 1], long = Math.hypot(dx, dy);
      if (long > 1e-9) this.left = [-dy / long, dx / long];
      const at = points.subarray(3 * i, 3 * i + 3), strip = this.strip.attributes.position.array;
      for (const [side, sign] of [[0, half], [1, -half]]) {
        strip.set([at[0] + sign * this.left[0], at[1] + sign * this.left[1], at[2] + lift], 6 * i + 3 * side);
      }
      this.thread.attributes.position.array.set([at[0], at[1], at[2] + lift], 3 * i);
    }

    forget() {
      const gone = this.capacity >> 1;
      this.points.copyWithin(0, 3 * gone);
      this.strip.attributes.position.array.copyWithin(0, 6 * gone);
      this.thread.attributes.position.array.copyWithin(0, 3 * gone);
      this.count -= gone;
    }

    clear() { this.count = 0; this.upTo(0); }

    upTo(count) {
      this.strip.setDrawRange(0, 6 * Math.max(count - 1, 0));
      this.thread.setDrawRange(0, count);
    }
  }

  class Arrow {
    constructor(size, color, ghost) {
      const paint = new T.MeshStandardMaterial({ color: color, transparent: ghost, opacity: ghost ? 0.4 : 1, roughness: 0.5 });
      this.size = size;
      this.made = new T.Group();
      this.shaft = new T.Mesh(new T.CylinderGeometry(0.011 * size, 0.011 * size, 1, 12).rotateX(Math.PI / 2).translate(0, 0, 0.5), paint);
      this.head = new T.Mesh(new T.ConeGeometry(0.03 * size, 0.085 * size, 16).rotateX(Math.PI / 2).translate(0, 0, -0.0425 * size), paint);
      this.made.add(this.shaft, this.head);
      this.from = new T.Vector3();
      this.to = new T.Vector3();
    }

    point(at, vector, scale, wanted) {
      this.from.fromArray(at);
      this.to.fromArray(vector).multiplyScalar(scale);
      const long = this.to.length(), shown = wanted && Number.isFinite(long) && long > 0.02 * this.size;
      this.made.visible = shown;
      if (!shown) return;
      this.made.position.copy(this.from);
      this.made.lookAt(this.to.add(this.from));
      this.shaft.scale.set(1, 1, Math.max(long - 0.08 * this.size, 1e-6));
      this.head.position.set(0, 0, long);
    }
  }

  /** A closed contact, in the color of its mode. */
  class Dot {
    constructor(size, ghost) {
      this.paint = new T.MeshStandardMaterial({ transparent: ghost, opacity: ghost ? 0.4 : 1, roughness: 0.5 });
      this.made = new T.Mesh(new T.SphereGeometry(0.04 * size, 20, 14), this.paint);
    }

    mark(at, color) {
      this.made.visible = Boolean(color) && at.every(Number.isFinite);
      if (!this.made.visible) return;
      this.made.position.fromArray(at);
      this.paint.color.set(color);
    }
  }

  // ------------------------------------------------------------------ actors

  /** A mechanism on the stage: its solids, or a transparent ghost in one color. */
  class Actor {
    constructor(size, cast, { ghost = false, color = "#888888" } = {}) {
      Object.assign(this, { size, cast, ghost, color });
      this.group = new T.Group();
      this.bodies = cast.bodies.map(() => { const o = new T.Group(); this.group.add(o); return o; });
      this.layers = { masses: [], axes: [], tracks: [] };
      this.from = new T.Vector3();
      this.to = new T.Vector3();
      this.solids = cast.meshes.map((mesh) => {
        const solid = new T.Mesh(geometry(mesh), this.paint(mesh.color));
        solid.castShadow = !ghost;
        this.bodies[mesh.body].add(solid);
        return solid;
      });
      for (const center of cast.centers) {
        const mark = quartered(0.028 * size);
        mark.position.fromArray(center.at);
        this.put("masses", center.body, mark);
      }
      for (const axis of cast.axes) this.put("axes", axis.body, line(axis.ends, HINGE));
      cast.bodies.forEach((name, i) => {
        if (name === "ground") return;
        AXES.forEach((color, k) => this.put("axes", i, line([[0, 0, 0], [0, 1, 2].map((j) => (j === k ? 0.18 * size : 0))], color)));
      });
      this.cords = cast.cords.map((cord) => this.cord(cord));
    }

    paint(color) {
      return this.ghost
        ? new T.MeshStandardMaterial({ color: this.color, transparent: true, opacity: 0.3, roughness: 0.8, depthWrite: false })
        : new T.MeshStandardMaterial({ color: color, roughness: 0.55, metalness: 0.08, side: T.DoubleSide });
    }

    put(layer, body, part) {
      this.bodies[body].add(part);
      this.layers[layer].push(part);
    }

    cord(cord) {
      const shape = cord.spring ? coil() : new T.CylinderGeometry(1, 1, 1, 8).rotateX(Math.PI / 2);
      const color = this.ghost ? this.color : CORD, opacity = this.ghost ? 0.3 : 1;
      const made = new T.Mesh(shape, new T.MeshStandardMaterial({ color: color, transparent: this.ghost, opacity, roughness: 0.6 }));
      made.castShadow = !this.ghost;
      this.group.add(made);
      return { ...cord, made };
    }

    track(color, capacity) {
      const track = new Ribbon(this.size, this.ghost ? this.color : color, this.ghost ? 0.35 : 0.95, capacity);
      this.group.add(track.made);
      this.layers.tracks.push(track.made);
      return track;
    }

    arrow() {
      const arrow = new Arrow(this.size, this.ghost ? this.color : FORCE, this.ghost);
      this.group.add(arrow.made);
      return arrow;
    }

    dot() {
      const dot = new Dot(this.size, this.ghost);
      this.group.add(dot.made);
      return dot;
    }

    show(layers) {
      for (const [name, parts] of Object.entries(this.layers)) for (const part of parts) part.visible = layers[name];
    }

    /** Set the pose of the i-th body: position `at[0..2]`, quaternion `turn[0..3]`. */
    place(i, at, turn) {
      const body = this.bodies[i];
      body.position.fromArray(at);
      body.quaternion.set(turn[1], turn[2], turn[3], turn[0]).normalize();
      body.updateMatrix();
    }

    /** Stretch cords from body to body; after all bodies are placed. */
    stretch() {
      const { from, to } = this, thick = 0.006 * this.size;
      for (const cord of this.cords) {
        from.fromArray(cord.ends[0].at).applyMatrix4(this.bodies[cord.ends[0].body].matrix);
        to.fromArray(cord.ends[1].at).applyMatrix4(this.bodies[cord.ends[1].body].matrix);
        const long = from.distanceTo(to);
        cord.made.visible = long > 1e-6;
        cord.made.position.copy(from).lerp(to, 0.5);
        cord.made.lookAt(to);
        cord.made.scale.set(thick, thick, long);
      }
    }
  }

  // ------------------------------------------------------------------ ground

  function heightOver({ x, y, heights }) {
    // bilinear over the grid of heights
    const cell = (v, at) => { let k = 0; while (k + 2 < v.length && v[k + 1] <= at) k++; return [k, (at - v[k]) / (v[k + 1] - v[k])]; };
    return (px, py) => {
      const [i, s] = cell(x, px), [j, u] = cell(y, py), h = (a, b) => heights[(i + a) * y.length + j + b];
      return (1 - s) * ((1 - u) * h(0, 0) + u * h(0, 1)) + s * ((1 - u) * h(1, 0) + u * h(1, 1));
    };
  }

  class Ground {
    constructor(size, data) {
      const { x, y, heights, step } = data;
      this.step = step;
      this.height = heightOver(data);
      this.isPlane = x.length === 2 && y.length === 2;
      const nx = x.length, ny = y.length, vertices = new Float32Array(3 * nx * ny), index = [];
      for (let i = 0; i < nx; i++) for (let j = 0; j < ny; j++) {
        vertices.set([x[i], y[j], heights[i * ny + j]], 3 * (i * ny + j));
        if (i + 1 < nx && j + 1 < ny) {
          const a = i * ny + j, b = (i + 1) * ny + j;
          index.push(a, b, a + 1, b, b + 1, a + 1);
        }
      }
      const shape = new T.BufferGeometry();
      shape.setAttribute("position", new T.BufferAttribute(vertices, 3));
      shape.setIndex(index);
      shape.computeVertexNormals();
      const below = { polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 2 }; // what lies on it is seen
      this.floor = new T.Mesh(shape, new T.MeshLambertMaterial({ side: T.DoubleSide, ...below }));
      this.floor.receiveShadow = true;
      this.grid = new T.LineSegments(this.rules(x[0], x[nx - 1], y[0], y[ny - 1], 0.0015 * size), new T.LineBasicMaterial());
      this.group = new T.Group();
      this.group.add(this.floor, this.grid);
    }

    rules(x0, x1, y0, y1, lift) {
      const { step, height } = this, points = [];
      const rule = (from, to, at) => { for (let k = Math.ceil(from / step); k * step <= to + 1e-9; k++) at(k * step); };
      const parts = this.isPlane ? 48 : 160; // long lines lose their depth
      const polyline = (f) => {
        for (let k = 0; k < parts; k++) for (const s of [k / parts, (k + 1) / parts]) {
          const [px, py] = f(s);
          points.push(px, py, height(px, py) + lift);
        }
      };
      rule(x0, x1, (v) => polyline((s) => [v, y0 + s * (y1 - y0)]));
      rule(y0, y1, (v) => polyline((s) => [x0 + s * (x1 - x0), v]));
      const lines = new T.BufferGeometry();
      lines.setAttribute("position", new T.BufferAttribute(new Float32Array(points), 3));
      return lines;
    }

    /** An infinite plane: it follows below in whole grid steps. */
    follow(x, y) {
      if (!this.isPlane) return;
      const dx = Math.round(x / this.step) * this.step, dy = Math.round(y / this.step) * this.step;
      this.group.position.set(dx, dy, this.height(dx, dy) - this.height(0, 0));
    }
  }

  // ------------------------------------------------------------------ stage

  /** The sky from the horizon to the zenith, around the camera; its colors are those of the theme. */
  function sky() {
    const shape = new T.SphereGeometry(1, 24, 24).rotateX(Math.PI / 2);
    shape.setAttribute("color", new T.BufferAttribute(new Float32Array(3 * shape.attributes.position.count), 3));
    const dome = new T.Mesh(shape, new T.MeshBasicMaterial({ vertexColors: true, side: T.DoubleSide, fog: false, depthWrite: false, depthTest: false }));
    Object.assign(dome, { frustumCulled: false, renderOrder: -1 });
    return dome;
  }

  function tint(dome, horizon, zenith) {
    const { position, color } = dome.geometry.attributes, low = new T.Color(horizon), high = new T.Color(zenith), mixed = new T.Color();
    for (let i = 0; i < position.count; i++) {
      mixed.copy(low).lerp(high, Math.min(1, Math.max(0, 1.8 * position.getZ(i)) ** 0.8)); // the color of the horizon at and below it
      color.setXYZ(i, mixed.r, mixed.g, mixed.b);
    }
    color.needsUpdate = true;
  }

  /** Whether rendering is in software: then without antialiasing and with coarse shadows. */
  function drawsBySoftware() {
    const gl = document.createElement("canvas").getContext("webgl2"), info = gl?.getExtension("WEBGL_debug_renderer_info");
    const name = info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : "";
    gl?.getExtension("WEBGL_lose_context")?.loseContext();
    return /swiftshader|llvmpipe|software/i.test(name);
  }

  class Stage {
    /**
     * `size`: reach of the mechanism; `span`: of its whole way; `ground`: heights over a grid; `changed`: called when it must be drawn;
     * `near`: of the usual distance; `high`: sizes above it, from the top; `behind`: where the camera that follows stands.
     */
    constructor(canvas, { size, span, ground, changed, near = 1, high = 0, behind = [-1, -0.12, 0.38] }) {
      Object.assign(this, { canvas, size, span, near, high, behind, camera: "orbit", course: 0 });
      this.plain = drawsBySoftware();
      this.renderer = new T.WebGLRenderer({ canvas, antialias: !this.plain, preserveDrawingBuffer: true });
      this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
      this.renderer.shadowMap.enabled = true;
      this.renderer.shadowMap.type = T.PCFSoftShadowMap;
      this.scene = new T.Scene();
      this.eye = new T.PerspectiveCamera(35, 1, size * 0.02, size * 400);
      this.eye.up.set(0, 0, 1);
      this.controls = new T.OrbitControls(this.eye, canvas);
      this.controls.addEventListener("change", changed);
      this.target = new T.Vector3();
      this.light();
      this.ground = new Ground(size, ground);
      this.reach = Math.min(Math.abs(ground.x.at(-1) - ground.x[0]), Math.abs(ground.y.at(-1) - ground.y[0])) / 2; // ground around its middle
      this.sky = sky();
      this.scene.add(this.ground.group, this.sky);
    }

    light() {
      const { size } = this, sun = new T.DirectionalLight(0xffffff, 2.1), reach = 2.2 * size;
      this.scene.add(new T.HemisphereLight(0xffffff, 0x9a948a, 1.7));
      sun.castShadow = true;
      sun.shadow.mapSize.setScalar(this.plain ? 1024 : 2048);
      Object.assign(sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1 * size, far: 12 * size });
      sun.shadow.normalBias = 0.004 * size;
      this.scene.add(sun, sun.target);
      this.sun = sun;
    }

    actor(cast, look) {
      const made = new Actor(this.size, cast, look);
      this.scene.add(made.group);
      return made;
    }

    /** Colors by `css(name)`: the sky, the ground, the lines on it. */
    paint(css) {
      this.renderer.setClearColor(css("--sky"));
      this.scene.fog = new T.Fog(css("--sky"), 1, 2);
      tint(this.sky, css("--sky"), css("--zenith"));
      this.ground.floor.material.color.set(css("--ground"));
      this.ground.grid.material.color.set(css("--grid"));
    }

    fit(width, height) {
      this.renderer.setSize(width, height, false);
      this.eye.aspect = width / Math.max(height, 1);
      this.eye.updateProjectionMatrix();
    }

    /**
     * Look at the mechanism, whose middle is at `center` and which goes along `course`; `goal`: what is looked at, if it is not the
     * middle that is followed; `fresh`: from the camera's usual place, not from where somebody turned it.
     */
    aim({ center, course, goal = null, fresh = false }) {
      const { eye, controls, target, size } = this, up = new T.Vector3(0, 0, 1);
      const lifted = new T.Vector3(...center).add(new T.Vector3(0, 0, 0.1 * size));
      this.sun.target.position.copy(lifted);
      this.sun.position.copy(lifted).add(new T.Vector3(-1.6, -2.2, 4.5).multiplyScalar(1.2 * size));
      const along = goal === null || this.camera === "follow";
      if (fresh) this.from(along ? lifted : new T.Vector3(...goal), along, course);
      else if (along) {
        eye.position.sub(target);
        if (this.camera === "follow") eye.position.applyAxisAngle(up, course - this.course);
        eye.position.add(lifted);
        controls.target.add(lifted).sub(target);
      }
      target.copy(lifted);
      this.course = course;
      controls.update();
    }

    from(goal, along, course) {
      const { eye, size } = this, narrow = Math.max(1, 1.25 / eye.aspect), all = Math.max(this.span, 1.25 * size);
      const top = this.high * size || Math.min(2.3 * all, 14 * size);
      const far = this.near * narrow * { orbit: along ? 4.6 * size : 2.3 * all, follow: 5.2 * size, top }[this.camera];
      const way = { orbit: [0.62, -1, 0.42], follow: this.behind, top: [0, -1e-3, 1] }[this.camera];
      const out = new T.Vector3(...way).normalize();
      if (this.camera === "follow") out.applyAxisAngle(new T.Vector3(0, 0, 1), course);
      this.controls.target.copy(goal);
      eye.position.copy(goal).addScaledVector(out, far);
      this.controls.enableRotate = this.camera !== "top";
      eye.far = Math.max(400 * size, 6 * far);
      eye.updateProjectionMatrix();
    }

    /** Air between the mechanism, which is always clear, and the edge of the ground, which is hidden. */
    haze() {
      const { eye, controls, reach, scene, size, span } = this, far = eye.position.distanceTo(controls.target);
      const edge = far + 0.85 * reach;
      scene.fog.far = edge;
      scene.fog.near = Math.min(far + 2 * size + span, 0.5 * (far + edge));
    }

    render() {
      this.haze();
      this.sky.position.copy(this.eye.position);
      this.sky.scale.setScalar(0.5 * this.eye.far);
      this.renderer.render(this.scene, this.eye);
    }
  }

  globalThis.DraisineStage = { Stage, floats, coil };
})();
