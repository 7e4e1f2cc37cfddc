// The field that finds functions: typing suggests names; Enter lists all matches.
import { element, one } from "./dom.js";

export function startSearch() {
  const form = /** @type {HTMLFormElement | null} */ (one("form.find"));
  const input = /** @type {HTMLInputElement | null} */ (form && one("input[name=q]", form));
  if (!form || !input) return;
  const list = element("ul", "", "suggest");
  list.id = "suggest";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "functions");
  list.hidden = true;
  form.append(list);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-expanded", "false");
  input.setAttribute("aria-controls", "suggest");
  let at = -1, asked = 0;

  const close = () => {
    list.hidden = true;
    at = -1;
    input.setAttribute("aria-expanded", "false");
  };
  /** @param {string} id */
  const open = (id) => { location.href = `/block/${id}${stateSuffix(form)}`; };
  const choose = () => Array.from(list.children).forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));

  input.addEventListener("input", async () => {
    const mine = ++asked;
    if (input.value.length < 2) return close();
    const url = new URL("/find", location.href);
    new FormData(form).forEach((value, name) => url.searchParams.append(name, String(value)));
    url.searchParams.set("format", "json");
    const answer = await fetch(url).then((response) => response.ok ? response.json() : null, () => null);
    if (mine !== asked || !answer) return;
    list.replaceChildren();
    for (const row of answer.rows.slice(0, 12)) {
      const item = element("li", row.name);
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.title = row.whole;
      item.dataset.id = row.id;
      item.addEventListener("mousedown", () => open(row.id));
      list.append(item);
    }
    at = -1;
    list.hidden = !answer.rows.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
  });
  input.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const items = /** @type {HTMLElement[]} */ (Array.from(list.children));
    if (event.key === "ArrowDown") at = Math.min(items.length - 1, at + 1);
    else if (event.key === "ArrowUp") at = Math.max(-1, at - 1);
    else if (event.key === "Escape") return close();
    else if (event.key === "Enter" && at >= 0) open(items[at].dataset.id ?? "");
    else return;
    event.preventDefault();
    choose();
  });
  input.addEventListener("blur", () => setTimeout(close, 150));
}

/** The lists and the metric of a form, for another page's address. @param {HTMLFormElement} form */
function stateSuffix(form) {
  const state = new URLSearchParams();
  new FormData(form).forEach((value, name) => { if (name !== "q") state.append(name, String(value)); });
  return state.size ? `?${state}` : "";
}
