// Dark or light: as the system says, until the person chooses.

import { byId } from "./dom.js";

const KEY = "rankloop theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function apply() {
  const theme = localStorage.getItem(KEY) ?? (dark.matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

export function startTheme() {
  dark.addEventListener("change", apply);
  byId("theme").addEventListener("click", () => {
    localStorage.setItem(KEY, document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    apply();
  });
  apply();
}
