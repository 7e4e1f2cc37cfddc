// Helper functions for the document.

/** @param {string} selector @param {ParentNode} [inside] @returns {HTMLElement | null} */
export function one(selector, inside = document) { return inside.querySelector(selector); }

/** @param {string} selector @param {ParentNode} [inside] @returns {HTMLElement[]} */
export function all(selector, inside = document) { return Array.from(inside.querySelectorAll(selector)); }

/** An element with text, never HTML. @param {string} tag @param {string} [text] @param {string} [className] */
export function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** Shows a message for a moment. @param {string} text */
export function toast(text) {
  const said = element("div", text, "toast");
  said.setAttribute("role", "status");
  document.body.append(said);
  setTimeout(() => said.remove(), 1800);
}

/** @param {string} text @param {string} what */
export async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without permission for the clipboard, use the older method.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(`${what} copied`);
}

/** Whether key presses currently enter text. @param {EventTarget | null} target */
export function isTyping(target) {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/** Whether a key is meant for the page: it is no text, none of the browser's keys, and no dialog is open. @param {KeyboardEvent} event */
export function isForPage(event) {
  return !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target) && !one("dialog[open]");
}
