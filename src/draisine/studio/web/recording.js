// A run recorded step by step, and its text: the trajectory file (JSON header, then CSV) that draisine reads and checks.
(function () {
  "use strict";
  const home = globalThis.Draisine;
  const MOST_NUMBERS = 4e6; // of the text: some 70 MB
  const MOST_CHARACTERS = 3e8; // of a text to read
  const FIRST = 1024; // rows for which there is room at once
  const FORMAT = 2;
  const MARK = "draisine-crc32:"; // as in results/checksum.py
  const BLANK = "00000000";

  class Recorder {
    constructor(live) {
      const { manifest } = live;
      const runtime = manifest.runtime;
      this.live = live;
      this.on = false;
      this.states = manifest.states.length;
      this.modes = live.p.length - live.parameters.length; // of contacts, behind the parameters
      this.width = 1 + this.states + manifest.inputs.length + this.modes;
      this.rows = 0;
      this.cuts = []; // rows before which the state was changed from outside
      this.table = new Float64Array(0);
      this.channels = channels(manifest);
      this.most = Math.floor(MOST_NUMBERS / (1 + this.channels.length));
      this.independent = runtime.independent.map((k) => runtime.velocities[k]);
    }

    get full() {
      return this.rows >= this.most;
    }

    record(on) {
      if (on === this.on) return;
      if (on) {
        this.on = true;
        this.restart();
      } else {
        this.note(); // where it ends
        this.on = false;
      }
    }

    restart() {
      if (!this.on) return;
      this.rows = 0;
      this.cuts = [];
      if (!this.table.length) this.table = new Float64Array(FIRST * this.width);
    }

    // The state and the inputs of the step that follows.
    note() {
      if (!this.on || this.full) return;
      const { live, width } = this;
      if ((this.rows + 1) * width > this.table.length) {
        const larger = new Float64Array(2 * this.table.length);
        larger.set(this.table);
        this.table = larger;
      }
      const at = this.rows * width;
      this.table[at] = live.time;
      this.table.set(live.state, at + 1);
      this.table.set(live.inputs, at + 1 + this.states);
      this.table.set(live.p.subarray(live.parameters.length), at + width - this.modes);
      this.rows += 1;
    }

    // The next state is not a step of the equations.
    cut() {
      if (this.on) this.cuts.push(this.rows);
    }

    text() {
      const { live } = this;
      const open = this.on && !this.full;
      if (open) this.note();
      const rows = this.rows;
      const lines = head(this, rows);
      if (rows) for (let k = 0; k < rows; k++) lines.push(this._line(k));
      if (open) this.rows -= 1; // the present state is noted again with the next step
      return sealed(lines.join("\n") + "\n");
    }

    _line(k) {
      const { live, width, table, states } = this;
      const at = k * width;
      const x = table.subarray(at + 1, at + 1 + states);
      const u = table.subarray(at + 1 + states, at + width - this.modes);
      const modes = live.p.slice(live.parameters.length);
      live.p.set(table.subarray(at + width - this.modes, at + width), live.parameters.length);
      const reported = live.report(table[at], x, u);
      live.p.set(modes, live.parameters.length);
      const fields = [table[at]];
      for (const { from, k: place } of this.channels) fields.push(pick(from, place, x, u, reported));
      return fields.join(",");
    }

    get recorded() {
      const { rows, table, width } = this;
      return { rows, seconds: rows ? table[(rows - 1) * width] - table[0] : 0, full: this.full };
    }
  }

  function pick(from, place, x, u, reported) {
    if (from === "x") return x[place];
    if (from === "u") return u[place];
    if (from === "total") return reported.energy[0] + reported.energy[1];
    return reported[from][place];
  }

  // Columns of the file: coordinates, all velocities, further states, inputs, outputs, energies.
  function channels(manifest) {
    const { coordinates, velocities, velocity_units, independent, slots } = manifest.runtime;
    const found = [];
    const add = (entry, group, from, k) => {
      if (found.every((other) => other.name !== entry.name)) found.push({ ...described(entry), group, from, k });
    };
    manifest.states.slice(0, coordinates).forEach((state, k) => add(state, "coordinates", "x", k));
    velocities.forEach((name, k) => add({ name, unit: velocity_units[k] }, "velocities", "v", k));
    const first = coordinates + independent.length;
    manifest.states.slice(first).forEach((state, k) => add(state, "extra_states", "x", first + k));
    manifest.inputs.forEach((input, k) => add(input, "inputs", "u", k));
    manifest.outputs.slice(0, slots.report.outputs || 0).forEach((output, k) => add(output, "outputs", "outputs", k));
    if (slots.report.energy) {
      add({ name: "kinetic_energy", unit: "J" }, "energy", "energy", 0);
      add({ name: "potential_energy", unit: "J" }, "energy", "energy", 1);
      add({ name: "total_energy", unit: "J" }, "energy", "total", 0);
    }
    return found;
  }

  function described({ name, unit, about }) {
    return { name, ...(unit ? { unit } : {}), ...(about ? { about } : {}) };
  }

  function head(recorder, rows) {
    const { live } = recorder;
    const bounds = [0, ...recorder.cuts.filter((cut) => cut > 0 && cut < rows), rows];
    const segments = bounds.slice(1).map((stop, k) => ({ mode: "motion", independent: recorder.independent, start: bounds[k], stop }));
    const parameters = {};
    live.manifest.parameters.forEach((p, k) => {
      parameters[p.name] = live.parameters[k];
    });
    const fell = live.status === "fallen";
    const entries = {
      draisine: FORMAT,
      checksum: MARK + BLANK,
      model: live.manifest.name,
      status: { kind: fell ? "EVENT" : "FINISHED", message: fell ? live.why : "recorded in the studio", warnings: live.warning ? [live.warning] : [] },
      events: [],
      segments,
      statistics: { evaluations: live.contacts ? live.contacts.record.evaluations : 4 * Math.max(rows - 1, 0), accepted: Math.max(rows - 1, 0), rejected: 0, steps: Math.max(rows - 1, 0) },
      seconds: {},
      parameters,
      channels: recorder.channels.map(({ from, k, ...column }) => column),
      scene: { studio: { method: live.contacts ? "DOP853" : "RK4", step: live.h, projected: Boolean(live.programs.project) } },
    };
    const lines = Object.entries(entries).map(([key, value]) => `# ${key}: ${JSON.stringify(value)}`);
    lines.push(["time", ...recorder.channels.map((channel) => channel.name)].join(","));
    return lines;
  }

  // CRC-32 of the UTF-8 bytes of a text, as eight hexadecimal digits.
  function checksum(text) {
    let crc = 0xffffffff;
    for (const byte of new TextEncoder().encode(text)) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
    }
    return ((crc ^ 0xffffffff) >>> 0).toString(16).padStart(8, "0");
  }

  function sealed(text) {
    return text.replace(MARK + BLANK, MARK + checksum(text));
  }

  function intact(text) {
    const lines = text.replace(/^\ufeff/, "").replace(/\r\n/g, "\n");
    const marks = lines.match(/draisine-crc32:[0-9a-f]{8}/g) || [];
    return marks.length === 1 && marks[0] === MARK + checksum(lines.replace(marks[0], MARK + BLANK));
  }

  // Contents of a recorded text for playback, checked as untrusted data; throws an Error with the reason.
  function readRide(live, text) {
    if (typeof text !== "string" || text.length > MOST_CHARACTERS) throw new Error("a ride is a text of at most 300 MB");
    const lines = text.split("\n");
    const said = {};
    let row = 0;
    for (; row < lines.length && lines[row].startsWith("#"); row++) {
      const colon = lines[row].indexOf(":");
      if (colon < 0) throw new Error("a line of its head is not '# key: value'");
      try {
        said[lines[row].slice(1, colon).trim()] = JSON.parse(lines[row].slice(colon + 1));
      } catch {
        throw new Error(`its ${lines[row].slice(1, Math.min(colon, 40)).trim()} is not JSON`);
      }
    }
    const manifest = live.manifest;
    if (said.draisine !== FORMAT) throw new Error(`it is no trajectory file of format ${FORMAT}`);
    if (!intact(text)) throw new Error("its checksum does not fit: it was damaged or changed after it was written");
    if (said.model !== manifest.name) throw new Error(`it is a ride of ${String(said.model).slice(0, 60)}, not of ${manifest.name}`);
    const names = (lines[row] || "").split(",");
    const place = (name) => {
      const k = names.indexOf(name);
      if (k < 0) throw new Error(`it has no column ${name}`);
      return k;
    };
    const wanted = [place("time"), ...manifest.states.map((s) => place(s.name)), ...manifest.inputs.map((u) => place(u.name))];
    const ride = { parameters: checked(live, said.parameters), time: [], states: [], inputs: [] };
    for (row++; row < lines.length && lines[row] !== ""; row++) {
      const fields = lines[row].split(",");
      if (fields.length !== names.length) throw new Error(`line ${row + 1} has ${fields.length} numbers, not ${names.length}`);
      const numbers = wanted.map((k) => (fields[k].trim() === "" ? NaN : Number(fields[k])));
      if (!numbers.every(Number.isFinite)) throw new Error(`line ${row + 1} has something that is no number`);
      if (ride.time.length && numbers[0] < ride.time[ride.time.length - 1]) throw new Error(`time turns back in line ${row + 1}`);
      ride.time.push(numbers[0]);
      ride.states.push(numbers.slice(1, 1 + manifest.states.length));
      ride.inputs.push(numbers.slice(1 + manifest.states.length));
    }
    if (!ride.time.length) throw new Error("it has no samples");
    return ride;
  }

  function checked(live, parameters) {
    if (typeof parameters !== "object" || parameters === null || Array.isArray(parameters)) throw new Error("its parameters are missing");
    const found = {};
    for (const { name } of live.manifest.parameters) {
      const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
      if (typeof value !== "number" || !Number.isFinite(value)) throw new Error(`its parameter ${name} is no number`);
      found[name] = value;
    }
    return found;
  }

  home.Recorder = Recorder;
  home.readRide = readRide;
})();
