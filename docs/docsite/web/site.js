// Theme, contents on small screens, copy buttons, films on demand, search. A classic script: pages open from the disk as well.
(function () {
  "use strict";
  const up = document.currentScript.dataset.up;
  const root = document.documentElement;
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => Array.from(document.querySelectorAll(selector));

  one("button.theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("draisine-theme", root.dataset.theme); } catch (closed) { /* a private window keeps nothing */ }
  });

  const menu = one("button.menu");
  menu.addEventListener("click", () => {
    const open = document.body.classList.toggle("open");
    menu.setAttribute("aria-expanded", String(open));
  });
  const current = one("nav.contents a[aria-current]");
  if (current) current.scrollIntoView({ block: "nearest" });

  for (const block of all("div.code > .highlight")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      const text = block.querySelector("pre").textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "copied";
      } catch (refused) {
        const range = document.createRange();
        range.selectNodeContents(block.querySelector("pre"));
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        button.textContent = "selected";
      }
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
    block.append(button);
  }

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

  const here = all("aside.here a");
  if (here.length && "IntersectionObserver" in window) {
    const headings = here.map((a) => document.getElementById(decodeURIComponent(a.hash.slice(1)))).filter(Boolean);
    const mark = () => {
      let last = headings[0];
      for (const heading of headings) if (heading.getBoundingClientRect().top < 140) last = heading;
      for (const a of here) a.classList.toggle("now", decodeURIComponent(a.hash.slice(1)) === last.id);
    };
    document.addEventListener("scroll", () => requestAnimationFrame(mark), { passive: true });
    mark();
  }

  // ---------------------------------------------------------------- search

  const input = one(".search input");
  const found = one("#found");
  let index = null;
  let chosen = -1;

  function load() {
    if (index !== null || one("script[data-index]")) return;
    const script = document.createElement("script");
    script.src = up + "static/search.js";
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
    else if (event.key === "Escape") { input.value = ""; show(); input.blur(); }
  });
  one(".search").addEventListener("submit", (event) => {
    event.preventDefault();
    const options = found.querySelectorAll("a");
    if (options.length) location.href = options[Math.max(0, chosen)].href;
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) { event.preventDefault(); input.focus(); }
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) found.hidden = true;
  });
})();
