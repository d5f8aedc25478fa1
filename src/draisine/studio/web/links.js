// Links to a state: names and numbers in the fragment of the address, which is not sent. Read as data, all or nothing.
(() => {
  "use strict";
  const { notify, refuse } = DraisineStudio;
  const LONGEST = 16384; // characters
  const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const quoted = (text) => `“${text.length > 40 ? text.slice(0, 40) + "…" : text}”`;

  /** Only changed parameters; the state as numbers that round-trip exactly. */
  function written({ manifest, start, snapshot, rival }) {
    const found = new URLSearchParams({ model: manifest.name });
    for (const [name, value] of Object.entries(snapshot.parameters)) found.append(`p.${name}`, String(value));
    if (rival) {
      found.append("compare", "1");
      for (const [name, value] of Object.entries(rival.parameters)) found.append(`b.${name}`, String(value));
      found.append("rival", Array.from(rival.state, String).join(","));
    }
    for (const { name, default: usual } of manifest.targets) if (name in start && start[name] !== usual) found.append(`s.${name}`, String(start[name]));
    found.append("time", String(snapshot.time));
    found.append("state", Array.from(snapshot.state, String).join(","));
    if (snapshot.modes) found.append("modes", [snapshot.modes, rival?.modes ?? []].map((modes) => modes.join("")).join("."));
    return "#" + found.toString();
  }

  /** Contents of a link as numbers by name; throws an Error with the reason. The runtime checks the values. */
  function read(hash, manifest) {
    const text = hash.replace(/^#/, "");
    if (!text) return null;
    if (text.length > LONGEST) throw new Error(`it has ${text.length} characters, more than the ${LONGEST} that are read`);
    const names = (entries) => new Set(entries.map(({ name }) => name)), parameters = names(manifest.parameters);
    const known = { p: parameters, b: parameters, s: names(manifest.targets) };
    const found = { p: {}, b: {}, s: {}, compare: false, time: 0, state: null, rival: null, modes: [] }, seen = new Set();
    for (const [key, value] of new URLSearchParams(text)) {
      if (seen.has(key)) throw new Error(`${quoted(key)} is said twice`);
      seen.add(key);
      const [, group, name] = /^([pbs])\.(.+)$/s.exec(key) ?? [];
      if (group) {
        if (!known[group].has(name)) throw new Error(`${quoted(name)} is no ${group === "s" ? "quantity to start with" : "parameter"} of ${manifest.name}`);
        found[group][name] = number(value, name);
      } else if (key === "model") {
        if (value !== manifest.name) throw new Error(`it is for the model ${quoted(value)}, and this is ${quoted(manifest.name)}`);
      } else if (key === "time") found.time = number(value, key);
      else if (key === "compare") { if (value !== "1") throw new Error(`compare is 1 or absent, not ${quoted(value)}`); found.compare = true; }
      else if (key === "modes") found.modes = digits(value, manifest);
      else if (key === "state" || key === "rival") found[key] = numbers(value, manifest);
      else throw new Error(`${quoted(key)} means nothing here`);
    }
    if ((Object.keys(found.b).length || found.rival) && !found.compare) throw new Error("it has values of B, but not compare=1");
    return found;
  }

  function numbers(text, manifest) {
    const parts = text.split(",");
    if (parts.length !== manifest.states.length) throw new Error(`its state has ${parts.length} numbers; ${manifest.name} has ${manifest.states.length}`);
    return parts.map((part, i) => number(part, manifest.states[i].name));
  }

  /** Modes of contacts, 0 to 2, of A and of B. */
  function digits(text, manifest) {
    const count = manifest.runtime.machine?.contacts.length ?? 0, parts = text.split(".");
    const right = (part, k) => /^[012]*$/.test(part) && (part.length === count || (k === 1 && !part));
    if (!count || parts.length !== 2 || !parts.every(right)) throw new Error(`its modes must be ${count} digits from 0 to 2`);
    return parts.map((part) => (part ? Array.from(part, Number) : undefined));
  }

  function number(text, name) {
    const value = Number(text);
    if (!NUMBER.test(text) || !Number.isFinite(value)) throw new Error(`${quoted(name)} must be a number, not ${quoted(text)}`);
    return value;
  }

  /** The studio's links: `copy` makes one of the current state, `follow` opens the one in the address. */
  class Links {
    constructor(studio) {
      this.studio = studio;
      this.own = null; // the one this page made, which need not be followed
      window.addEventListener("hashchange", () => this.follow());
    }

    copy() {
      const { manifest, live, rival, start } = this.studio;
      this.own = written({ manifest, start, snapshot: live.snapshot(), rival: rival?.snapshot() ?? null });
      const address = location.href.split("#")[0] + this.own;
      history.replaceState(null, "", this.own);
      const copied = navigator.clipboard?.writeText ? navigator.clipboard.writeText(address) : Promise.reject(new Error("no clipboard"));
      const says = (text) => () => notify(text, { passing: true });
      copied.then(
        says("The link is in your clipboard; it opens exactly this moment."),
        says("The address of this page is now the link; copy it from there."));
      return address;
    }

    /** True if there is a link and it was opened; an invalid one changes nothing. */
    follow() {
      if (location.hash === this.own) return false;
      const { studio } = this;
      studio.rides.end();
      try {
        const given = read(location.hash, studio.manifest);
        if (!given) return false;
        const refused = this.take(given);
        if (refused) throw new Error(refused);
      } catch (problem) {
        studio.asGiven();
        refuse(`The link was not followed, and everything is as given: ${problem.message}.`);
        return false;
      }
      studio.opened();
      studio.ride(false);
      notify("Opened from a link: exactly that moment, paused.");
      return true;
    }

    /** Null, or why not. */
    take({ p, b, s, compare, time, state, rival, modes }) {
      const { studio } = this, { live, designs, manifest } = studio, { usual } = designs;
      studio.start = { ...manifest.start, ...s };
      const put = (one, place, own) => (place ? one.restore({ parameters: designs.of(one), state: place, time, modes: own }) : null);
      const refused = live.setParameters({ ...usual, ...p }) ?? live.reset(studio.start) ?? put(live, state, modes[0])
        ?? designs.compare(compare, { ...usual, ...b });
      designs.choose("a");
      return refused ?? (compare ? put(studio.rival, rival, modes[1]) : null);
    }
  }

  DraisineStudio.Links = Links;
})();
