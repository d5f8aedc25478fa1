// Before anything is drawn: the theme somebody chose, else the system's.
(function () {
  var kept = null;
  try { kept = localStorage.getItem("draisine-theme"); } catch (closed) { kept = null; }
  var dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = kept === "light" || kept === "dark" ? kept : dark ? "dark" : "light";
})();
