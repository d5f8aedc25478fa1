// The live model on the stage: solids at the poses of the runtime, growing tracks, force arrows, a following camera.
(() => {
  "use strict";
  const { Stage, floats } = DraisineStage;
  const TRACKS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
  const GHOST = "#d04a9b";
  const FAR = 44; // of the size: how far the ground is drawn, which is where the air hides it
  const LONGEST = 4000; // points of a track
  const LAG = 0.35; // s: of the camera that follows
  const STILL = [1, 0, 0, 0], HERE = [0, 0, 0];

  function middle(poses, count) {
    const sum = [0, 0, 0];
    for (let i = 0; i < count; i++) for (let k = 0; k < 3; k++) sum[k] += poses[7 * i + k] / count;
    return sum;
  }

  /** The ground plane to the horizon; curved ground as given. */
  function wide(ground, size) {
    const { x, y, heights } = ground;
    if (x.length > 2 || y.length > 2) return ground;
    const far = Math.ceil(FAR * size / ground.step) * ground.step;
    const along = (heights[2] - heights[0]) / (x[1] - x[0]), across = (heights[1] - heights[0]) / (y[1] - y[0]);
    const level = heights[0] - along * x[0] - across * y[0], ends = [-far, far];
    return { ...ground, x: ends, y: ends, heights: ends.flatMap((a) => ends.map((b) => level + along * a + across * b)) };
  }

  class Player {
    constructor(theatre, live, look) {
      const { manifest, stage } = theatre;
      this.live = live;
      this.manifest = manifest;
      this.actor = stage.actor(manifest.solids, look);
      this.places = manifest.solids.bodies.map((name) => manifest.bodies.indexOf(name));
      this.morphs = theatre.morphs;
      this.given = this.actor.solids.map((solid) => solid.geometry.attributes.position.array.slice());
      this.bent = new Float64Array(this.morphs.length); // by how much of each parameter
      this.arrows = new Map();
      this.tracks = new Map();
      this.dots = (manifest.runtime.machine?.places ?? []).map((place) => (place ? this.actor.dot() : null));
    }

    move(layers, scale) {
      const { live, actor } = this, poses = live.poses();
      this.places.forEach((from, i) => {
        if (from < 0) actor.place(i, HERE, STILL);
        else actor.place(i, poses.subarray(7 * from, 7 * from + 3), poses.subarray(7 * from + 3, 7 * from + 7));
      });
      this.bend();
      actor.stretch();
      actor.show(layers);
      const forces = live.forces();
      forces.forEach(({ name, at, force }, k) => {
        if (!this.arrows.has(name)) this.arrows.set(name, actor.arrow());
        this.arrows.get(name).point(at, force, scale, layers.forces);
        if (this.rolls(name)) this.leave(name, at, k);
      });
      this.mark();
      return { poses, forces };
    }

    /** Whether a contact leaves a track: not where it is open, and no point that only lands. */
    rolls(name) {
      const { machine } = this.manifest.runtime, place = machine?.contacts.indexOf(name) ?? -1;
      return place < 0 || (this.live.contacts.mode(place) > 0 && (machine.stands[place] || !machine.stands.some(Boolean)));
    }

    /** Closed contacts in the colors of their modes. */
    mark() {
      if (!this.dots.length) return;
      const { live, dots } = this, { places, colors } = this.manifest.runtime.machine, { outputs } = live.report();
      dots.forEach((dot, i) => dot?.mark(places[i].map((k) => outputs[k]), colors[live.contacts.mode(i)]));
    }

    /** Shapes for the current parameters. */
    bend() {
      const { live, actor, morphs, bent } = this;
      const off = morphs.map(({ place, usual }) => live.parameters[place] - usual);
      if (off.every((d, k) => d === bent[k])) return;
      const touched = new Set(morphs.filter((_, k) => off[k] !== bent[k]).flatMap(({ meshes }) => [...meshes.keys()]));
      bent.set(off);
      for (const i of touched) {
        const { geometry } = actor.solids[i], at = geometry.attributes.position.array;
        at.set(this.given[i]);
        morphs.forEach(({ meshes }, k) => {
          const slope = off[k] ? meshes.get(i) : null;
          if (slope) for (let j = 0; j < at.length; j++) at[j] += off[k] * slope[j];
        });
        geometry.attributes.position.needsUpdate = true;
        geometry.computeVertexNormals();
        geometry.computeBoundingSphere();
      }
      actor.cast.centers.forEach(({ at }, i) => {
        const moved = (j) => morphs.reduce((sum, { centers }, k) => sum + (centers ? off[k] * centers[i][j] : 0), at[j]);
        actor.layers.masses[i].position.set(moved(0), moved(1), moved(2));
      });
    }

    leave(name, at, k) {
      if (!this.tracks.has(name)) this.tracks.set(name, { ribbon: this.actor.track(TRACKS[k % TRACKS.length], LONGEST), last: null });
      const track = this.tracks.get(name), { last } = track;
      if (!at.every(Number.isFinite) || (last && Math.hypot(at[0] - last[0], at[1] - last[1]) < 0.02 * this.actor.size)) return;
      track.ribbon.append(...at);
      track.last = [...at];
    }

    wipe() { for (const track of this.tracks.values()) { track.ribbon.clear(); track.last = null; } }
  }

  const VIEW = { near: 0.85, high: 9, behind: [-1, -0.34, 0.34] }; // as the stage takes it
  const HURRY = 0.04; // s: frames that take longer on average make the picture plainer
  const PLAINER = [
    (stage) => stage.renderer.setPixelRatio(1),
    (stage) => { stage.sun.castShadow = false; },
    (stage) => stage.renderer.setPixelRatio(0.6),
  ];

  class Theatre {
    constructor(canvas, manifest, live, changed) {
      const poses = live.poses();
      this.manifest = manifest;
      this.size = manifest.size;
      this.home = middle(poses, manifest.bodies.length);
      this.travels = Boolean(manifest.ground?.touched);
      const ground = manifest.ground ?? { x: [-1, 1], y: [-1, 1], heights: new Array(4).fill(this.home[2] - 1.1 * this.size), step: 0.5 * this.size };
      this.stage = new Stage(canvas, { size: this.size, span: 0, ground: wide(ground, this.size), changed, ...VIEW });
      this.layers = { tracks: true, forces: true, masses: false, axes: false };
      this.heading = manifest.outputs.findIndex(({ name }) => name === "heading");
      this.morphs = (manifest.morphs ?? []).map(({ parameter, meshes, centers }) => {
        const place = manifest.parameters.findIndex(({ name }) => name === parameter);
        return { place, usual: manifest.parameters[place].default, meshes: new Map(meshes.map(({ mesh, slope }) => [mesh, floats(slope)])), centers };
      });
      this.main = new Player(this, live, {});
      this.ghost = null;
      this.plainer = [...PLAINER];
      this.scale = this.arrowScale(live);
      this.course = 0;
      this.look("orbit", live);
    }

    arrowScale(live) {
      const sizes = live.forces().map(({ force }) => Math.hypot(...force)).filter(Number.isFinite);
      const most = Math.max(...sizes, 0);
      return most > 0 ? 0.62 * this.size / most : 0;
    }

    rival(live) {
      if (this.ghost) this.stage.scene.remove(this.ghost.actor.group);
      this.ghost = live ? new Player(this, live, { ghost: true, color: GHOST }) : null;
    }

    look(camera, live = this.main.live) {
      this.stage.camera = camera;
      this.course = this.direction(live) ?? this.course;
      this.stage.aim({ center: middle(live.poses(), this.manifest.bodies.length), course: this.course, goal: this.goal(), fresh: true });
    }

    goal() { return this.travels ? null : this.home; }
    direction(live) { return this.heading < 0 ? null : live.outputs()[this.heading]; }

    wipe() { this.main.wipe(); this.ghost?.wipe(); }

    /** Reduce the rendering quality on slow machines. */
    ease(passed) {
      this.slow = 0.96 * (this.slow ?? 0.016) + 0.04 * passed;
      if (this.slow < HURRY || !this.plainer.length) return;
      this.plainer.shift()(this.stage);
      this.slow = 0.016;
    }

    show(live, passed, fresh = false) {
      this.main.live = live;
      if (!this.scale) this.scale = this.arrowScale(live);
      const { poses } = this.main.move(this.layers, this.scale);
      this.ghost?.move(this.layers, this.scale);
      const wanted = this.direction(live) ?? this.course;
      const off = Math.atan2(Math.sin(wanted - this.course), Math.cos(wanted - this.course));
      if (Number.isFinite(off)) this.course += fresh ? off : (1 - Math.exp(-passed / LAG)) * off;
      const center = middle(poses, this.manifest.bodies.length);
      if (center.every(Number.isFinite)) {
        this.stage.ground.follow(center[0], center[1]);
        this.stage.aim({ center, course: this.course, goal: this.goal(), fresh: false });
      }
      this.stage.render();
    }
  }

  Object.assign(DraisineStudio, { Theatre });
})();
