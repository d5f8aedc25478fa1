// Controls: keyboard, touch pad, mouse, gamepad and sliders as values of the model's inputs.
(() => {
  "use strict";
  const LAG = 0.07; // s: a key is not a hammer
  const DEAD = 0.12; // of a stick's way
  const ACROSS = /steer|twist|yaw/, ALONG = /pedal|drive|thrust|throttle|motor|engine/, BRAKE = /brake|lever/;
  const SHARES = { across: 0.15, along: 0.6 }, HARD = 0.6; // of the limits that an arrow key means: steering is light; with shift
  const TYPED = new Set(["number", "search", "text"]);
  const named = ({ key }) => (key.length === 1 ? key.toLowerCase() : key);

  /** Inputs of the left/right and up/down arrows; `sign`: of the input for right, or up. */
  function axes(inputs) {
    const hands = inputs.filter(({ name }) => name !== "push"), free = hands.length ? hands : inputs;
    const across = free.find(({ name }) => ACROSS.test(name)) ?? free.find(({ name }) => !ALONG.test(name));
    const along = free.find(({ name }) => ALONG.test(name)) ?? free.find((input) => input !== across);
    const steers = across && ACROSS.test(across.name);
    return {
      across: across && { ...across, sign: steers ? -1 : 1, share: steers ? SHARES.across : SHARES.along }, // steering is positive to the left
      along: along && { ...along, sign: 1, share: SHARES.along },
    };
  }

  /** Inputs of the brake's key: the rear ones, and all of them. Levers are friction, which holds a wheel, before torques, which turn it back. */
  function brakes(inputs) {
    const known = inputs.filter(({ name }) => BRAKE.test(name)), levers = known.filter(({ name }) => /lever/.test(name));
    const all = levers.length ? levers : known, rear = all.filter(({ name }) => /rear/.test(name));
    return { rear: rear.length ? rear : all, all };
  }

  class Controls {
    /** `acts`: what single keys do, by key. */
    constructor(manifest, { pad, knob, acts }) {
      this.inputs = manifest.inputs;
      this.axes = axes(manifest.inputs);
      this.brakes = brakes(manifest.inputs);
      this.held = Object.fromEntries(manifest.inputs.map(({ name }) => [name, 0])); // by sliders
      this.keys = new Set();
      this.pad = { x: 0, y: 0, on: false };
      this.now = { x: 0, y: 0, rear: 0, all: 0 };
      this.pressed = [];
      Object.assign(this, { knob, acts, hard: false });
      this.listen(pad);
    }

    listen(pad) {
      window.addEventListener("keydown", (event) => this.down(event));
      window.addEventListener("keyup", (event) => { this.keys.delete(named(event)); this.hard = event.shiftKey; });
      window.addEventListener("blur", () => this.keys.clear());
      const drag = (event) => {
        const box = pad.getBoundingClientRect();
        this.pad.x = Math.min(Math.max(2 * (event.clientX - box.left) / box.width - 1, -1), 1);
        this.pad.y = Math.min(Math.max(1 - 2 * (event.clientY - box.top) / box.height, -1), 1);
      };
      pad.addEventListener("pointerdown", (event) => {
        pad.setPointerCapture(event.pointerId);
        this.pad.on = true;
        drag(event);
        event.preventDefault();
        pad.focus();
      });
      pad.addEventListener("pointermove", (event) => { if (this.pad.on) drag(event); });
      const leave = () => { this.pad = { x: 0, y: 0, on: false }; };
      for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) pad.addEventListener(end, leave);
    }

    /** A button is a key as long as it is held. */
    holds(button, key) {
      button.addEventListener("pointerdown", (event) => {
        button.setPointerCapture(event.pointerId);
        this.keys.add(key);
        this.hard = event.shiftKey;
      });
      for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) button.addEventListener(end, () => this.keys.delete(key));
    }

    down(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const { target } = event, tag = target.tagName, key = named(event);
      if (tag === "SELECT" || (tag === "INPUT" && TYPED.has(target.type))) return;
      if (key.startsWith("Arrow") || (key === "b" && this.brakes.all.length)) {
        if (key !== "b" && tag === "INPUT" && target.type === "range") return;
        this.keys.add(key);
        this.hard = event.shiftKey;
        event.preventDefault();
        return;
      }
      if (key === " " && (["BUTTON", "SUMMARY"].includes(tag) || target.type === "checkbox")) return;
      const act = this.acts[key];
      if (!act || event.repeat) return;
      act();
      event.preventDefault();
    }

    /** Sticks and buttons of the first gamepad. */
    gamepad() {
      const found = navigator.getGamepads ? [...navigator.getGamepads()].find((g) => g && g.connected) : null;
      if (!found) return { x: 0, y: 0 };
      const bent = (v) => (Math.abs(v) < DEAD ? 0 : Math.sign(v) * (Math.abs(v) - DEAD) / (1 - DEAD));
      found.buttons.forEach((button, i) => {
        if (button.pressed && !this.pressed[i]) this.acts[{ 0: " ", 3: "r", 9: "p", 8: "c" }[i]]?.();
        this.pressed[i] = button.pressed;
      });
      const pull = (found.buttons[7]?.value ?? 0) - (found.buttons[6]?.value ?? 0);
      return { x: bent(found.axes[0] ?? 0), y: bent(-(found.axes[1] ?? 0)) || pull };
    }

    /** Current inputs, `passed` seconds after the last call. */
    values(passed) {
      const on = (key, axis) => (this.keys.has(key) ? (this.hard ? HARD : this.axes[axis]?.share ?? 0) : 0), stick = this.gamepad();
      const clamp = (v) => Math.min(Math.max(v, -1), 1), fine = (v) => v * Math.abs(v); // little for little, all for all
      const goal = {
        x: clamp(on("ArrowRight", "across") - on("ArrowLeft", "across") + fine(this.pad.x) + fine(stick.x)),
        y: clamp(on("ArrowUp", "along") - on("ArrowDown", "along") + fine(this.pad.y) + fine(stick.y)),
        rear: this.keys.has("b") && !this.hard ? 1 : 0,
        all: this.keys.has("b") && this.hard ? 1 : 0,
      };
      const share = 1 - Math.exp(-passed / LAG);
      for (const k of Object.keys(goal)) {
        this.now[k] += share * (goal[k] - this.now[k]);
        if (goal[k] === 0 && Math.abs(this.now[k]) < 1e-3) this.now[k] = 0;
      }
      const found = { ...this.held };
      for (const [axis, k] of [["across", "x"], ["along", "y"]]) {
        const input = this.axes[axis];
        if (!input) continue;
        const way = input.sign * this.now[k];
        found[input.name] += way >= 0 ? way * input.high : way * -input.low;
      }
      for (const which of ["rear", "all"]) for (const { name, high } of this.brakes[which]) found[name] += this.now[which] * high;
      for (const { name, low, high } of this.inputs) found[name] = Math.min(Math.max(found[name], low), high);
      const shown = (v) => 0.42 * Math.sign(v) * Math.sqrt(Math.abs(v)), { clientWidth, clientHeight } = this.knob.parentNode;
      this.knob.style.transform = `translate(${(shown(this.now.x) * clientWidth).toFixed(1)}px, ${(-shown(this.now.y) * clientHeight).toFixed(1)}px)`;
      return found;
    }
  }

  DraisineStudio.Controls = Controls;
})();
