// Dark or light: the system's choice until the user chooses.
import { one } from "./dom.js";

const themeKey = "fbleprof-theme";

/** @returns {string | null} */
function storedTheme() {
  try { return localStorage.getItem(themeKey); } catch { return null; }
}

export function startTheme() {
  const stored = storedTheme();
  if (stored === "dark" || stored === "light") document.documentElement.dataset.theme = stored;
  const button = one("#theme");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const isDark = getComputedStyle(document.documentElement).colorScheme === "dark";
    document.documentElement.dataset.theme = isDark ? "light" : "dark";
    try { localStorage.setItem(themeKey, isDark ? "light" : "dark"); } catch { /* only for this page */ }
    window.dispatchEvent(new Event("themechange"));
  });
}
