// Plays a film: poses of bodies at even instants, in which nothing is computed but their interpolation.
// The data, by `draisine.view.film.page`: numbers as little-endian base64, positions in metres, quaternions scalar first.
(() => {
  "use strict";

  const $ = (id) => document.getElementById(id);
  const film = JSON.parse($("data").textContent);
  const root = document.documentElement;

  function bytes(text) {
    const raw = atob(text);
    const found = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
    return found.buffer;
  }
  const floats = (text) => new Float32Array(bytes(text));
  const whole = (text) => new Uint32Array(bytes(text));
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  for (const run of film.runs) {
    run.poses = floats(run.poses);
    run.tracks = run.tracks.map((t) => ({ ...t, points: floats(t.points) }));
    run.forces = run.forces.map((f) => ({ ...f, at: floats(f.at), vector: floats(f.vector) }));
    run.charts = run.charts.map((c) => floats(c));
    run.centre = floats(run.centre);
    run.end = run.start + run.step * (run.count - 1);
  }
  const main = film.runs[0];
  const begin = Math.min(...film.runs.map((r) => Math.min(r.start, r.end)));
  const end = Math.max(...film.runs.map((r) => Math.max(r.start, r.end)));

  // ------------------------------------------------------------------ state

  const state = {
    time: main.start, playing: false, speed: 1, camera: "orbit",
    layers: { tracks: true, forces: false, masses: false, axes: false, ghosts: true },
  };
  let dirty = true;

  function place(run, time) {
    // the instant before, and the share of the way to the next
    const at = Math.min(Math.max((time - run.start) / run.step, 0), run.count - 1);
    const k = Math.min(Math.floor(at), Math.max(run.count - 2, 0));
    return { k, share: run.count > 1 ? at - k : 0 };
  }
  function between(values, width, { k, share }, offset, size, out) {
    const a = k * width + offset, b = Math.min(a + width, values.length - width + offset);
    for (let i = 0; i < size; i++) out[i] = values[a + i] + share * (values[b + i] - values[a + i]);
    return out;
  }

  // ------------------------------------------------------------------ the stage

  const size = film.size;
  let stage = null;
  try {
    stage = setUp();
  } catch (problem) {
    $("trouble").textContent = "The view needs WebGL, which this browser does not offer here (" + problem.message + "). The charts work without.";
    $("trouble").hidden = false;
  }

  function setUp() {
    const T = THREE;
    const renderer = new T.WebGLRenderer({ canvas: $("view"), antialias: true, preserveDrawingBuffer: true });
    renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    renderer.shadowMap.enabled = true;
    renderer.shadowMap.type = T.PCFSoftShadowMap;
    const scene = new T.Scene();
    const camera = new T.PerspectiveCamera(35, 1, size * 0.02, size * 400);
    camera.up.set(0, 0, 1);
    const controls = new T.OrbitControls(camera, $("view"));
    controls.addEventListener("change", () => { dirty = true; });
    scene.add(new T.HemisphereLight(0xffffff, 0x9a948a, 1.7));
    const sun = new T.DirectionalLight(0xffffff, 2.1);
    sun.castShadow = true;
    sun.shadow.mapSize.set(2048, 2048);
    const reach = 2.2 * size;
    Object.assign(sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1 * size, far: 12 * size });
    sun.shadow.normalBias = 0.004 * size;
    scene.add(sun, sun.target);
    const made = { renderer, scene, camera, controls, sun, actors: film.runs.map((run, i) => actor(T, scene, run, i)) };
    made.ground = ground(T, scene);
    made.target = new T.Vector3();
    made.course = 0;
    return made;
  }

  function geometry(T, mesh) {
    const found = new T.BufferGeometry();
    found.setAttribute("position", new T.BufferAttribute(floats(mesh.vertices), 3));
    found.setIndex(new T.BufferAttribute(whole(mesh.triangles), 1));
    found.computeVertexNormals();
    return found;
  }

  function actor(T, scene, run, rank) {
    const cast = film.casts[run.cast];
    const ghost = rank > 0;
    const group = new T.Group();
    scene.add(group);
    const bodies = cast.bodies.map(() => { const o = new T.Group(); group.add(o); return o; });
    const layers = { masses: [], axes: [], tracks: [], forces: [] };
    for (const mesh of cast.meshes) {
      const paint = ghost
        ? new T.MeshStandardMaterial({ color: run.colour, transparent: true, opacity: 0.3, roughness: 0.8, depthWrite: false })
        : new T.MeshStandardMaterial({ color: mesh.colour, roughness: 0.55, metalness: 0.08, side: T.DoubleSide });
      const solid = new T.Mesh(geometry(T, mesh), paint);
      solid.castShadow = !ghost;
      bodies[mesh.body].add(solid);
    }
    for (const centre of cast.centres) {
      const mark = quartered(T, 0.028 * size);
      mark.position.fromArray(centre.at);
      bodies[centre.body].add(mark);
      layers.masses.push(mark);
    }
    for (const axis of cast.axes) {
      const line = new T.Line(
        new T.BufferGeometry().setFromPoints(axis.ends.map((p) => new T.Vector3(...p))),
        new T.LineBasicMaterial({ color: "#888888", depthTest: false, transparent: true }));
      line.renderOrder = 6;
      bodies[axis.body].add(line);
      layers.axes.push(line);
    }
    bodies.forEach((body, i) => {
      if (cast.bodies[i] === "ground") return;
      for (const [k, colour] of ["#d55e00", "#009e73", "#0072b2"].entries()) {
        const tip = [0, 0, 0];
        tip[k] = 0.18 * size;
        const line = new T.Line(
          new T.BufferGeometry().setFromPoints([new T.Vector3(), new T.Vector3(...tip)]),
          new T.LineBasicMaterial({ color: colour, depthTest: false, transparent: true }));
        line.renderOrder = 6;
        body.add(line);
        layers.axes.push(line);
      }
    });
    const cords = cast.cords.map((cord) => {
      const made = new T.Mesh(cord.spring ? coil(T) : new T.CylinderGeometry(1, 1, 1, 8).rotateX(Math.PI / 2),
        new T.MeshStandardMaterial({ color: ghost ? run.colour : "#777c82", transparent: ghost, opacity: ghost ? 0.3 : 1, roughness: 0.6 }));
      made.castShadow = !ghost;
      group.add(made);
      return { ...cord, made };
    });
    const tracks = run.tracks.map((track) => {
      const made = ribbon(T, track.points, ghost ? run.colour : track.colour, ghost ? 0.35 : 0.95);
      group.add(made);
      layers.tracks.push(made);
      return made;
    });
    const forces = run.forces.map((force) => {
      const made = arrow(T, ghost ? run.colour : "#c2185b", ghost);
      group.add(made);
      layers.forces.push(made);
      return { ...force, made };
    });
    return { run, group, bodies, cords, tracks, forces, layers, ghost };
  }

  function quartered(T, radius) {
    const shape = new T.SphereGeometry(radius, 16, 12).toNonIndexed();
    const at = shape.attributes.position, colours = new Float32Array(3 * at.count);
    for (let i = 0; i < at.count; i += 3) {
      const middle = (get) => get(i) + get(i + 1) + get(i + 2);
      const dark = middle((j) => at.getX(j)) * middle((j) => at.getY(j)) * middle((j) => at.getZ(j)) > 0 ? 0.05 : 1;
      colours.fill(dark, 3 * i, 3 * i + 9);
    }
    shape.setAttribute("color", new T.BufferAttribute(colours, 3));
    const mark = new T.Mesh(shape, new T.MeshBasicMaterial({ vertexColors: true, depthTest: false }));
    mark.renderOrder = 5;
    return mark;
  }

  function coil(T) {
    const turns = 9, points = [];
    for (let i = 0; i <= turns * 12; i++) {
      const s = i / (turns * 12), angle = 2 * Math.PI * turns * s;
      const inner = s < 0.06 || s > 0.94 ? 0 : 1;
      points.push(new T.Vector3(inner * Math.cos(angle) * 3, inner * Math.sin(angle) * 3, s - 0.5));
    }
    return new T.TubeGeometry(new T.CatmullRomCurve3(points), turns * 16, 0.5, 5);
  }

  function ribbon(T, points, colour, opacity) {
    // a strip on the ground, of which the part behind the vehicle is drawn
    const count = points.length / 3, half = 0.008 * size, lift = 0.003 * size;
    const vertices = new Float32Array(6 * count), index = new Uint32Array(6 * Math.max(count - 1, 0));
    let left = [0, 1];
    for (let i = 0; i < count; i++) {
      const a = Math.max(i - 1, 0), b = Math.min(i + 1, count - 1);
      const dx = points[3 * b] - points[3 * a], dy = points[3 * b + 1] - points[3 * a + 1], long = Math.hypot(dx, dy);
      if (long > 1e-9) left = [-dy / long, dx / long];
      for (const [side, sign] of [[0, 1], [1, -1]]) {
        vertices[6 * i + 3 * side] = points[3 * i] + sign * half * left[0];
        vertices[6 * i + 3 * side + 1] = points[3 * i + 1] + sign * half * left[1];
        vertices[6 * i + 3 * side + 2] = points[3 * i + 2] + lift;
      }
      if (i + 1 < count) index.set([2 * i, 2 * i + 1, 2 * i + 2, 2 * i + 1, 2 * i + 3, 2 * i + 2], 6 * i);
    }
    const shape = new T.BufferGeometry();
    shape.setAttribute("position", new T.BufferAttribute(vertices, 3));
    shape.setIndex(new T.BufferAttribute(index, 1));
    const made = new T.Mesh(shape, new T.MeshBasicMaterial({ color: colour, transparent: true, opacity, side: T.DoubleSide, depthWrite: false }));
    // and a line, which is seen from any distance
    const thread = new T.Line(new T.BufferGeometry(), new T.LineBasicMaterial({ color: colour, transparent: true, opacity }));
    thread.geometry.setAttribute("position", new T.BufferAttribute(points.map((v, i) => (i % 3 === 2 ? v + lift : v)), 3));
    made.add(thread);
    for (const part of [made, thread]) Object.assign(part, { frustumCulled: false, renderOrder: 1 });
    made.upTo = (count) => { shape.setDrawRange(0, 6 * (count - 1)); thread.geometry.setDrawRange(0, count); };
    return made;
  }

  function arrow(T, colour, ghost) {
    const paint = new T.MeshStandardMaterial({ color: colour, transparent: ghost, opacity: ghost ? 0.4 : 1, roughness: 0.5 });
    const group = new T.Group();
    group.shaft = new T.Mesh(new T.CylinderGeometry(0.011 * size, 0.011 * size, 1, 12).rotateX(Math.PI / 2).translate(0, 0, 0.5), paint);
    group.head = new T.Mesh(new T.ConeGeometry(0.03 * size, 0.085 * size, 16).rotateX(Math.PI / 2).translate(0, 0, -0.0425 * size), paint);
    group.add(group.shaft, group.head);
    return group;
  }

  function ground(T, scene) {
    const { x, y, heights, step } = film.ground;
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
    const floor = new T.Mesh(shape, new T.MeshLambertMaterial({ side: T.DoubleSide, polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 2 }));
    floor.receiveShadow = true;
    const height = (px, py) => {
      // bilinear over the grid of heights
      const cell = (v, at) => { let k = 0; while (k + 2 < v.length && v[k + 1] <= at) k++; return [k, (at - v[k]) / (v[k + 1] - v[k])]; };
      const [i, s] = cell(x, px), [j, u] = cell(y, py), h = (a, b) => heights[(i + a) * ny + j + b];
      return (1 - s) * ((1 - u) * h(0, 0) + u * h(0, 1)) + s * ((1 - u) * h(1, 0) + u * h(1, 1));
    };
    const points = [];
    const rule = (from, to, at) => {
      const places = []; for (let v = Math.ceil(from / step) * step; v <= to + 1e-9; v += step) places.push(v);
      places.forEach(at);
    };
    const x0 = x[0], x1 = x[nx - 1], y0 = y[0], y1 = y[ny - 1];
    const parts = nx > 2 || ny > 2 ? 160 : 48; // long lines lose their depth
    const polyline = (f) => { for (let k = 0; k < parts; k++) for (const s of [k / parts, (k + 1) / parts]) { const [px, py] = f(s); points.push(px, py, height(px, py) + 0.0015 * size); } };
    rule(x0, x1, (v) => polyline((s) => [v, y0 + s * (y1 - y0)]));
    rule(y0, y1, (v) => polyline((s) => [x0 + s * (x1 - x0), v]));
    const lines = new T.BufferGeometry();
    lines.setAttribute("position", new T.BufferAttribute(new Float32Array(points), 3));
    const grid = new T.LineSegments(lines, new T.LineBasicMaterial());
    scene.add(floor, grid);
    return { floor, grid };
  }

  function paintTheme() {
    if (!stage) return;
    stage.renderer.setClearColor(css("--sky"));
    stage.scene.fog = new THREE.Fog(css("--sky"), 14 * size + film.span, 40 * size + 5 * film.span);
    stage.ground.floor.material.color.set(css("--ground"));
    stage.ground.grid.material.color.set(css("--grid"));
    dirty = true;
  }

  // ------------------------------------------------------------------ moving it

  const position = [0, 0, 0], turn = [0, 0, 0, 0];
  function pose(actor) {
    const { run, bodies } = actor, at = place(run, state.time), width = 7 * bodies.length;
    bodies.forEach((body, i) => {
      between(run.poses, width, at, 7 * i, 3, position);
      between(run.poses, width, at, 7 * i + 3, 4, turn);
      body.position.fromArray(position);
      body.quaternion.set(turn[1], turn[2], turn[3], turn[0]).normalize();
      body.updateMatrix();
    });
    actor.tracks.forEach((track) => track.upTo(Math.min(at.k + (at.share > 0 ? 2 : 1), run.count)));
    const from = new THREE.Vector3(), to = new THREE.Vector3();
    for (const cord of actor.cords) {
      from.fromArray(cord.ends[0].at).applyMatrix4(bodies[cord.ends[0].body].matrix);
      to.fromArray(cord.ends[1].at).applyMatrix4(bodies[cord.ends[1].body].matrix);
      const long = from.distanceTo(to), thick = 0.006 * size;
      cord.made.visible = long > 1e-6;
      cord.made.position.copy(from).lerp(to, 0.5);
      cord.made.lookAt(to);
      cord.made.scale.set(thick, thick, long);
    }
    for (const force of actor.forces) {
      from.fromArray(between(force.at, 3, at, 0, 3, position));
      to.fromArray(between(force.vector, 3, at, 0, 3, position)).multiplyScalar(film.force_scale);
      const long = to.length(), shown = state.layers.forces && Number.isFinite(long) && long > 0.02 * size;
      force.made.visible = shown;
      if (!shown) continue;
      force.made.position.copy(from);
      force.made.lookAt(to.clone().add(from));
      force.made.shaft.scale.set(1, 1, Math.max(long - 0.08 * size, 1e-6));
      force.made.head.position.set(0, 0, long);
    }
  }

  const centreAt = (time) => new THREE.Vector3().fromArray(between(main.centre, 3, place(main, time), 0, 3, position)).add(new THREE.Vector3(0, 0, 0.1 * size));

  function heading(otherwise) {
    // of the way it goes around now; where it stands, as before
    const way = centreAt(state.time + 0.4).sub(centreAt(state.time - 0.4));
    return Math.hypot(way.x, way.y) > 0.02 * size ? Math.atan2(way.y, way.x) : otherwise;
  }

  function aim(fresh) {
    const { camera, controls, sun, target } = stage;
    const centre = centreAt(state.time), up = new THREE.Vector3(0, 0, 1);
    sun.target.position.copy(centre);
    sun.position.copy(centre).add(new THREE.Vector3(-1.6, -2.2, 4.5).multiplyScalar(1.2 * size));
    const along = state.camera === "follow" || film.travels;
    const goal = along ? centre : new THREE.Vector3(...film.middle);
    const course = heading(stage.course);
    if (fresh) {
      const narrow = Math.max(1, 1.25 / camera.aspect), whole = Math.max(film.span, 1.25 * size);
      const far = narrow * { orbit: along ? 4.6 * size : 2.3 * whole, follow: 5.2 * size, top: Math.min(2.3 * whole, 14 * size) }[state.camera];
      const way = { orbit: [0.62, -1, 0.42], follow: [-1, -0.12, 0.38], top: [0, -1e-3, 1] }[state.camera];
      const out = new THREE.Vector3(...way).normalize();
      if (state.camera === "follow") out.applyAxisAngle(up, course);
      controls.target.copy(goal);
      camera.position.copy(goal).addScaledVector(out, far);
      controls.enableRotate = state.camera !== "top";
      camera.far = Math.max(400 * size, 6 * far);
      camera.updateProjectionMatrix();
    } else if (along) {
      camera.position.sub(target);
      if (state.camera === "follow") camera.position.applyAxisAngle(up, course - stage.course);
      camera.position.add(centre);
      controls.target.add(centre).sub(target);
    }
    target.copy(centre);
    stage.course = course;
    controls.update();
  }

  function show() {
    if (!stage) return;
    for (const actor of stage.actors) {
      actor.group.visible = !actor.ghost || state.layers.ghosts;
      for (const layer of ["masses", "axes", "tracks"]) for (const part of actor.layers[layer]) part.visible = state.layers[layer];
      pose(actor);
    }
    aim(false);
    stage.renderer.render(stage.scene, stage.camera);
  }

  // ------------------------------------------------------------------ charts

  const panels = film.charts.map((chart, i) => {
    const figure = document.createElement("figure"), caption = document.createElement("figcaption");
    const name = document.createElement("span"), value = document.createElement("span"), canvas = document.createElement("canvas");
    name.textContent = chart.label;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", chart.label + " against time");
    caption.append(name, value);
    figure.append(caption, canvas);
    $("charts").append(figure);
    const all = film.runs.flatMap((run) => Array.from(run.charts[i] ?? []).filter(Number.isFinite));
    let low = all.reduce((a, b) => Math.min(a, b), Infinity), high = all.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!(high >= low)) [low, high] = [-1, 1];
    const flat = Math.max(1e-9, 1e-6 * Math.max(Math.abs(low), Math.abs(high)));
    const margin = high - low > flat ? 0.07 * (high - low) : Math.max(0.05 * Math.abs(high), flat);
    const panel = { chart, i, canvas, value, low: low - margin, high: high + margin };
    const seek = (event) => { if (event.buttons) { const box = canvas.getBoundingClientRect(); go(begin + (event.clientX - box.left - 46) / (box.width - 54) * (end - begin)); } };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); seek(event); });
    canvas.addEventListener("pointermove", seek);
    return panel;
  });

  function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((s) => s * power >= raw) * power;
    const found = [];
    for (let v = Math.ceil(low / step) * step; v <= high + 1e-9 * step; v += step) found.push(Math.abs(v) < 1e-9 * step ? 0 : v);
    return found;
  }
  const short = (v) => { const text = Number(v.toPrecision(4)); return (Math.abs(text) >= 1e5 || (text && Math.abs(text) < 1e-3) ? text.toExponential(1) : String(text)).replace("-", "−"); };

  function draw(panel) {
    const { canvas, low, high } = panel, ratio = window.devicePixelRatio || 1;
    const w = canvas.clientWidth, h = canvas.clientHeight;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, w, h);
    const px = (t) => 46 + (t - begin) / (end - begin || 1) * (w - 54), py = (v) => h - 18 - (v - low) / (high - low) * (h - 24);
    pen.font = "11px system-ui, sans-serif";
    pen.lineWidth = 1;
    pen.fillStyle = css("--faint");
    pen.strokeStyle = css("--line");
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const v of ticks(low, high, 4)) { pen.beginPath(); pen.moveTo(46, py(v)); pen.lineTo(w - 8, py(v)); pen.stroke(); pen.fillText(short(v), 41, py(v)); }
    pen.textAlign = "center";
    for (const t of ticks(begin, end, 5)) pen.fillText(short(t), Math.min(px(t), w - 14), h - 7);
    for (const [rank, run] of [...film.runs.entries()].reverse()) {
      const values = run.charts[panel.i];
      if (!values || (rank > 0 && !state.layers.ghosts)) continue;
      pen.strokeStyle = rank ? run.colour : css("--accent");
      pen.globalAlpha = rank ? 0.75 : 1;
      pen.lineWidth = rank ? 1.2 : 1.8;
      pen.beginPath();
      let down = false;
      const every = Math.max(1, Math.floor(values.length / (3 * w)));
      for (let k = 0; k < values.length; k += every) {
        if (!Number.isFinite(values[k])) { down = false; continue; }
        const x = px(run.start + k * run.step), y = py(values[k]);
        if (down) pen.lineTo(x, y); else pen.moveTo(x, y);
        down = true;
      }
      pen.stroke();
      pen.globalAlpha = 1;
    }
    pen.strokeStyle = css("--ink");
    pen.lineWidth = 1;
    pen.beginPath(); pen.moveTo(px(state.time), 4); pen.lineTo(px(state.time), h - 18); pen.stroke();
    const now = main.charts[panel.i] ? between(main.charts[panel.i], 1, place(main, state.time), 0, 1, [0])[0] : NaN;
    panel.value.textContent = Number.isFinite(now) ? short(now) + (panel.chart.unit ? " " + panel.chart.unit : "") : "–";
    if (Number.isFinite(now)) { pen.fillStyle = css("--accent"); pen.beginPath(); pen.arc(px(state.time), py(now), 3.5, 0, 7); pen.fill(); }
  }

  // ------------------------------------------------------------------ controls

  const slider = $("time");
  slider.min = begin; slider.max = end;

  function go(time) {
    state.time = Math.min(Math.max(time, begin), end);
    slider.value = state.time;
    dirty = true;
  }
  function play(on) {
    if (on && state.time >= end - 1e-9) go(begin);
    state.playing = on;
    $("play").textContent = on ? "❚❚" : "▶";
    $("play").setAttribute("aria-label", on ? "pause" : "play");
  }
  function look(camera) {
    state.camera = camera;
    for (const button of document.querySelectorAll("button[data-camera]")) button.setAttribute("aria-pressed", String(button.dataset.camera === camera));
    if (stage) aim(true);
    dirty = true;
  }
  function layer(name, on) {
    state.layers[name] = on;
    document.querySelector(`[data-layer="${name}"]`).checked = on;
    dirty = true;
  }
  function speed(choice) {
    const options = Array.from($("speed").options), k = Math.min(Math.max(choice, 0), options.length - 1);
    $("speed").selectedIndex = k;
    state.speed = Number(options[k].value);
  }
  function theme(name) {
    root.dataset.theme = name;
    paintTheme();
  }

  slider.addEventListener("input", () => { play(false); go(Number(slider.value)); });
  $("play").addEventListener("click", () => play(!state.playing));
  $("speed").addEventListener("change", () => speed($("speed").selectedIndex));
  $("theme").addEventListener("click", () => theme(root.dataset.theme === "dark" ? "light" : "dark"));
  for (const button of document.querySelectorAll("button[data-camera]")) button.addEventListener("click", () => look(button.dataset.camera));
  for (const box of document.querySelectorAll("[data-layer]")) {
    box.addEventListener("change", () => layer(box.dataset.layer, box.checked));
    const empty = { tracks: () => !film.runs.some((r) => r.tracks.length), forces: () => !film.runs.some((r) => r.forces.length), ghosts: () => film.runs.length < 2 };
    if (empty[box.dataset.layer]?.()) box.closest("label").hidden = true;
  }
  const cameras = { 1: "orbit", 2: "follow", 3: "top" }, keys = { t: "tracks", f: "forces", m: "masses", x: "axes", g: "ghosts" };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const step = event.shiftKey ? 1 : 1 / 30;
    if (key === " ") { if (["BUTTON", "SUMMARY"].includes(event.target.tagName) || event.target.type === "checkbox") return; play(!state.playing); }
    else if (key === "ArrowLeft") { play(false); go(state.time - step); }
    else if (key === "ArrowRight") { play(false); go(state.time + step); }
    else if (key === "Home") go(begin);
    else if (key === "End") go(end);
    else if (cameras[key]) look(cameras[key]);
    else if (keys[key]) layer(keys[key], !state.layers[keys[key]]);
    else if (key === "+" || key === "=") speed($("speed").selectedIndex + 1);
    else if (key === "-") speed($("speed").selectedIndex - 1);
    else if (key === "d") theme(root.dataset.theme === "dark" ? "light" : "dark");
    else return;
    event.preventDefault();
  });

  for (const run of film.runs) {
    if (film.runs.length < 2) break;
    const item = document.createElement("li");
    item.textContent = run.label;
    item.style.setProperty("--mark", run === main ? "var(--accent)" : run.colour);
    $("legend").append(item);
  }

  function fit() {
    if (stage) {
      const box = $("stage").getBoundingClientRect();
      stage.renderer.setSize(box.width, box.height, false);
      stage.camera.aspect = box.width / Math.max(box.height, 1);
      stage.camera.updateProjectionMatrix();
    }
    dirty = true;
  }
  new ResizeObserver(fit).observe($("stage"));

  const decimals = end - begin < 1 ? 4 : 2;
  let last = null;
  function tick(now) {
    const passed = last === null ? 0 : Math.min((now - last) / 1000, 0.1);
    last = now;
    if (state.playing) {
      const next = state.time + passed * state.speed;
      if (next >= end) { go(end); play(false); } else go(next);
    }
    if (dirty) {
      dirty = false;
      $("clock").textContent = `${state.time.toFixed(decimals)} / ${end.toFixed(decimals)} s`;
      show();
      panels.forEach(draw);
      root.dataset.time = state.time;
      root.dataset.camera = state.camera;
    }
    requestAnimationFrame(tick);
  }

  theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  fit();
  look(state.camera);
  go(main.start);
  for (const name of film.layers) layer(name, true);
  play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  requestAnimationFrame(tick);
  root.dataset.ready = "true";
})();
