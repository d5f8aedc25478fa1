// Notices over the scene: refusals with the reason, and confirmations.
(() => {
  "use strict";
  const place = document.getElementById("notices");
  const SHORT = 5000; // ms

  /** A refusal stays until it is closed; other notices until the run continues, or for a moment if they are `passing`. */
  function notify(text, { refusal = false, passing = false } = {}) {
    const box = document.createElement("div"), words = document.createElement("span"), gone = document.createElement("button");
    box.className = refusal ? "refusal" : "";
    words.textContent = text;
    gone.type = "button";
    gone.textContent = "×";
    gone.setAttribute("aria-label", "close the notice");
    gone.addEventListener("click", () => box.remove());
    box.append(words, gone);
    place.replaceChildren(box);
    if (passing) setTimeout(() => box.remove(), SHORT);
  }

  const refuse = (text) => notify(text, { refusal: true });

  function hush() { for (const box of place.querySelectorAll("div:not(.refusal)")) box.remove(); }

  globalThis.DraisineStudio = { notify, refuse, hush };
})();
