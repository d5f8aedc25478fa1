// Recorded runs from files: trajectory files (.csv) of this page and of draisine. Files are untrusted: sizes limited, every number checked.
(() => {
  "use strict";
  const { notify, refuse } = DraisineStudio;
  const $ = (id) => document.getElementById(id);
  const LARGEST = 96e6; // bytes
  const LONGEST_HEAD = 4e6; // characters of one line of the head
  const MOST = 400000; // instants

  /** Iterator over the lines of a text. */
  function* lines(text) {
    for (let from = 0; from < text.length;) {
      const end = text.indexOf("\n", from), to = end < 0 ? text.length : end;
      yield text.slice(from, text[to - 1] === "\r" ? to - 1 : to);
      from = to + 1;
    }
  }

  function headLine(line, head) {
    const colon = line.indexOf(":");
    if (colon < 0 || line.length > LONGEST_HEAD) throw new Error("a line of its head is not “# key: value”");
    try {
      head.set(line.slice(1, colon).trim(), JSON.parse(line.slice(colon + 1)));
    } catch {
      throw new Error(`its head is damaged at “${line.slice(1, Math.min(colon, 30)).trim()}”`);
    }
  }

  /** Header and requested columns of a trajectory file. */
  function parsed(text, wanted) {
    const head = new Map(), times = [], rows = [];
    let places = null, number = 0, count = 0;
    for (const line of lines(text)) {
      number++;
      if (places === null && line.startsWith("#")) headLine(line, head);
      else if (places === null) {
        if (!head.has("draisine") || !line.startsWith("time,")) throw new Error("it is not a trajectory file of draisine (.csv)");
        const names = line.split(",");
        count = names.length;
        places = wanted.map((name) => names.indexOf(name));
        const missing = places.indexOf(-1);
        if (missing >= 0) throw new Error(`it has no column “${wanted[missing]}”, which says where the model is`);
      } else if (line !== "") {
        const fields = line.split(",");
        if (fields.length !== count) throw new Error(`line ${number} has ${fields.length} numbers, expected ${count}`);
        const values = [Number(fields[0]), ...places.map((k) => (fields[k].trim() === "" ? NaN : Number(fields[k])))];
        if (!values.every(Number.isFinite)) throw new Error(`line ${number} has something that is no number`);
        if (times.length && !(values[0] >= times[times.length - 1])) throw new Error(`line ${number} goes back in time`);
        if (times.length >= MOST) throw new Error(`it has more than the ${MOST} instants that are shown`);
        times.push(values[0]);
        rows.push(values.slice(1));
      }
    }
    if (!times.length) throw new Error("it holds no instant of a ride");
    return { head, times, rows };
  }

  /** Playback of a recorded run on `live`. */
  class Ride {
    static async read(file, live, manifest) {
      if (file.size > LARGEST) throw new Error(`it has ${(file.size / 1e6).toFixed(0)} MB, more than the ${LARGEST / 1e6} MB that are read`);
      const modes = (manifest.runtime.machine?.contacts ?? []).map((name) => `${name}_mode`);
      const { head, times, rows } = parsed(await file.text(), [...manifest.states.map(({ name }) => name), ...modes]);
      if (head.get("model") !== manifest.name) throw new Error(`it is a ride of “${String(head.get("model")).slice(0, 40)}”, and this is “${manifest.name}”`);
      const given = head.get("parameters");
      if (typeof given !== "object" || given === null || Array.isArray(given)) throw new Error("it does not say its parameters");
      const made = new Ride(live, times, rows, { ...given });
      const refused = live.restore(made.snapshot(0)) ?? live.restore(made.snapshot(times.length - 1)) ?? live.restore(made.snapshot(0));
      if (refused) throw new Error(refused);
      return made;
    }

    constructor(live, times, rows, parameters) {
      Object.assign(this, { live, times, rows, parameters, at: 0, time: times[0], begin: times[0], end: times[times.length - 1] });
    }

    snapshot(k) {
      const row = this.rows[k], count = this.live.state.length, modes = row.length > count ? { modes: row.slice(count) } : {};
      return { parameters: this.parameters, state: row.slice(0, count), time: this.times[k], ...modes };
    }

    seek(time) {
      this.time = Math.min(Math.max(time, this.begin), this.end);
      let low = 0, high = this.times.length - 1;
      while (low < high) { const middle = (low + high + 1) >> 1; if (this.times[middle] <= this.time + 1e-12) low = middle; else high = middle - 1; }
      this.at = low;
      this.live.restore(this.snapshot(low));
    }

    /** Advance by some seconds; false at the end. */
    forward(seconds) {
      this.seek(this.time + seconds);
      return this.time < this.end;
    }
  }

  // ------------------------------------------------------------------ the studio's rides

  /** Recording, download and playback; `shown` is the run in playback, or null. */
  class Rides {
    constructor(studio) {
      this.studio = studio;
      this.shown = null;
      this.text = null; // of the last recording
      $("download").addEventListener("click", () => this.download());
      $("open").addEventListener("click", () => $("file").click());
      $("file").addEventListener("change", () => { if ($("file").files.length) this.open($("file").files[0]); $("file").value = ""; });
      $("ride-time").addEventListener("input", () => { studio.ride(false); this.seek(Number($("ride-time").value)); });
      $("ride-close").addEventListener("click", () => { this.close(); studio.look(studio.camera); });
    }

    get recording() { return $("record").getAttribute("aria-pressed") === "true"; }

    record(on = !this.recording) {
      const { live } = this.studio;
      if (on) this.close();
      live.record(on);
      this.text = on ? null : live.recording();
      $("record").setAttribute("aria-pressed", String(on));
      $("download").disabled = !this.text;
      $("recorded").textContent = on ? "recording …" : this.text ? `${(this.text.length / 1e6).toFixed(1)} MB are ready to be downloaded` : "";
      if (!this.text) return;
      $("rides").open = true;
      notify("The ride is kept: download it in the panel “rides”.", { passing: true });
    }

    end() { if (this.recording) this.record(false); }

    download() {
      const url = URL.createObjectURL(new Blob([this.text], { type: "text/csv" })), { manifest } = this.studio;
      Object.assign(document.createElement("a"), { href: url, download: `${manifest.name}-ride${manifest.ride_suffix}` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    }

    async open(file) {
      const { studio } = this;
      try {
        this.shown = await Ride.read(file, studio.another(), studio.manifest);
      } catch (problem) {
        refuse(`${file.name} is not shown: ${problem.message}.`);
        return;
      }
      this.end();
      $("player").hidden = false;
      $("ride-name").textContent = file.name;
      $("ride-time").min = this.shown.begin;
      $("ride-time").max = this.shown.end;
      studio.samples = [];
      this.seek(this.shown.begin);
      studio.theatre?.rival(null);
      studio.look(studio.camera);
      studio.ride(true);
    }

    seek(time) {
      this.shown.seek(time);
      this.studio.theatre?.wipe();
    }

    /** Advance playback by some seconds of the page. */
    forward(seconds) {
      if (this.studio.riding && !this.shown.forward(seconds)) this.studio.ride(false);
      $("ride-time").value = this.shown.time;
      $("ride-clock").textContent = `${this.shown.time.toFixed(2)} / ${this.shown.end.toFixed(2)} s`;
    }

    close() {
      if (!this.shown) return;
      const { studio } = this;
      this.shown = null;
      studio.samples = [];
      $("player").hidden = true;
      studio.theatre?.wipe();
      studio.theatre?.rival(studio.rival);
      studio.showStatus();
    }
  }

  DraisineStudio.Rides = Rides;
})();
