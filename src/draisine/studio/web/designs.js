// One or two designs: which parameters the sliders set, and the second model for comparison.
(() => {
  "use strict";
  const { Parameters, differences, refuse, words } = DraisineStudio;
  const $ = (id) => document.getElementById(id);

  class Designs {
    constructor(studio) {
      const { manifest } = studio;
      this.studio = studio;
      this.chosen = "a";
      this.usual = Object.fromEntries(manifest.parameters.map((p) => [p.name, p.default]));
      const change = (name, value) => this.change(name, value);
      this.rows = new Parameters(manifest, $("parameters"), { change, count: $("edited"), search: $("search") });
      $("design").hidden = !manifest.parameters.length;
      this.listen(manifest.presets ?? []);
    }

    listen(presets) {
      const { live } = this.studio;
      for (const button of document.querySelectorAll("[data-design]")) button.addEventListener("click", () => this.choose(button.dataset.design));
      $("defaults").addEventListener("click", () => this.setAll(this.edited, this.usual));
      $("compare").addEventListener("change", () => this.compare($("compare").checked));
      $("copy-a").addEventListener("click", () => this.setAll(this.rival, this.of(live)));
      $("swap").addEventListener("click", () => {
        const a = this.of(live), b = this.of(this.rival);
        if (!this.setAll(live, b)) this.setAll(this.rival, a);
      });
      $("presets-row").hidden = !presets.length;
      const option = (title, i) => Object.assign(document.createElement("option"), { textContent: title, value: i });
      $("presets").append(...["your own", ...presets.map(({ title }) => title)].map(option));
      $("presets").addEventListener("change", () => {
        const preset = presets[Number($("presets").value) - 1];
        if (preset) this.setAll(this.rival, { ...this.usual, ...preset.parameters });
      });
    }

    get rival() { return this.studio.rival; }
    get edited() { return this.chosen === "b" && this.rival ? this.rival : this.studio.live; }

    /** Parameters of a live model by name. */
    of(one) { return Object.fromEntries(this.studio.manifest.parameters.map((p, i) => [p.name, one.parameters[i]])); }

    change(name, value) {
      const refused = this.edited.setParameter(name, value);
      if (refused) refuse(`${words(name)} stays: ${refused}`); else this.changed();
      return refused;
    }

    setAll(one, values) {
      const refused = one.setParameters(values);
      if (refused) refuse(refused);
      this.rows.show(this.edited.parameters);
      this.changed();
      return refused;
    }

    changed() {
      this.studio.board.stability.change(performance.now());
      differences(this.studio.manifest, this.studio.live.parameters, this.rival?.parameters);
      this.studio.wake();
    }

    choose(design) {
      this.chosen = design;
      for (const button of document.querySelectorAll("[data-design]")) button.setAttribute("aria-pressed", String(button.dataset.design === design));
      $("design").classList.toggle("design-b", design === "b");
      this.rows.show(this.edited.parameters);
    }

    compare(on, values = this.of(this.studio.live)) {
      const { studio } = this;
      $("compare").checked = on;
      $("rival").hidden = $("which").hidden = !on;
      $("presets").value = "0";
      studio.rival = on ? studio.another() : null;
      const refused = on ? studio.rival.setParameters(values) ?? studio.rival.reset(studio.start) : null;
      if (refused) refuse(`B cannot ride: ${refused}`);
      studio.theatre?.rival(studio.rival);
      this.choose(on ? "b" : "a");
      this.changed();
      return refused;
    }
  }

  DraisineStudio.Designs = Designs;
})();
