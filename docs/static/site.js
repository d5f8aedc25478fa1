// Films on demand, figures in full size, and the search. A classic script: pages open from the disk as well.
//
// The search is ours: from the disk a browser lets no page read another, so that Sphinx's own has no excerpts there; and it finds
// pages, where this one finds sections and names, by parts of words. The index is one script (`extensions/search_index.py`).
(function () {
  "use strict";
  const up = document.documentElement.dataset.content_root;
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => Array.from(document.querySelectorAll(selector));

  for (const image of all(".figures img")) image.addEventListener("click", () => { location.href = image.src; });

  for (const poster of all("a.film")) {
    poster.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const frame = document.createElement("iframe");
      frame.src = poster.getAttribute("href");
      frame.title = poster.getAttribute("aria-label");
      frame.className = "film";
      frame.allowFullscreen = true;
      poster.replaceWith(frame);
    });
  }

  // ---------------------------------------------------------------- search

  const dialog = one("#pst-search-dialog");
  if (!dialog) return;
  const input = dialog.querySelector("input[type=search]");
  const found = document.createElement("div");
  found.id = "found";
  found.hidden = true;
  found.setAttribute("role", "listbox");
  dialog.append(found);
  let index = null;
  let chosen = -1;

  function load() {
    if (index !== null || one("script[data-index]")) return;
    const script = document.createElement("script");
    script.src = up + "_static/search_index.js";
    script.dataset.index = "";
    script.addEventListener("load", () => {
      index = window.draisineIndex.map(([page, title, url, text]) => ({ page, title, url, text, low: text.toLowerCase() }));
      show();
    });
    document.head.append(script);
  }

  function score(entry, words) {
    const title = entry.title.toLowerCase();
    const page = entry.page.toLowerCase();
    let sum = 0;
    for (const word of words) {
      let best = 0;
      if (title === word) best = 60;
      else if (title.startsWith(word)) best = 30;
      else if (title.includes(word)) best = 18;
      else if (page.includes(word)) best = 8;
      const at = entry.low.indexOf(word);
      if (at >= 0) best += 3 + Math.min(4, entry.low.split(word).length - 1);
      if (best === 0) return 0;
      sum += best;
    }
    return sum - Math.min(2, entry.text.length / 4000);
  }

  function excerpt(entry, words) {
    const at = Math.max(0, entry.low.indexOf(words[0]) - 40);
    const piece = (at > 0 ? "… " : "") + entry.text.slice(at, at + 150) + " …";
    const line = document.createElement("span");
    const pattern = new RegExp("(" + words.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "gi");
    for (const part of piece.split(pattern)) {
      if (words.includes(part.toLowerCase())) {
        const strong = document.createElement("mark");
        strong.textContent = part;
        line.append(strong);
      } else line.append(part);
    }
    return line;
  }

  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.replaceChildren();
    chosen = -1;
    found.hidden = !words.length || index === null;
    if (found.hidden) return;
    const ranked = index.map((entry) => [score(entry, words), entry]).filter(([s]) => s > 0).sort((a, b) => b[0] - a[0]).slice(0, 12);
    for (const [, entry] of ranked) {
      const a = document.createElement("a");
      a.href = up + entry.url;
      a.setAttribute("role", "option");
      const head = document.createElement("b");
      head.textContent = entry.title;
      const page = document.createElement("i");
      page.textContent = entry.page === entry.title ? "" : entry.page;
      a.append(head, page, excerpt(entry, words));
      found.append(a);
    }
    if (!ranked.length) {
      const none = document.createElement("p");
      none.textContent = "nothing found";
      found.append(none);
    }
  }

  function choose(step) {
    const options = Array.from(found.querySelectorAll("a"));
    if (!options.length) return;
    chosen = (chosen + step + options.length) % options.length;
    options.forEach((a, i) => a.classList.toggle("chosen", i === chosen));
    options[chosen].scrollIntoView({ block: "nearest" });
  }

  input.addEventListener("focus", load);
  input.addEventListener("input", () => { load(); show(); });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { event.preventDefault(); choose(1); }
    else if (event.key === "ArrowUp") { event.preventDefault(); choose(-1); }
  });
  dialog.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const options = found.querySelectorAll("a");
    if (options.length) location.href = options[Math.max(0, chosen)].href;
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      one(".search-button__button").click();
    }
  });
})();
