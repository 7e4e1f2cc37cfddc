// Makes a part of the page equal to a fresh copy of it. What is in both stays the same element, so
// that a refresh takes away neither the focus nor selected text.

// The page's script keeps these up to date itself.
const ownParts = ".flame, .toolbar", addedParts = ".flame-detail";
const ownClasses = ["current", "folded"], ownAttributes = new Set(["hidden", "open", "aria-expanded", "data-foldable", "data-started"]);

/** What a node is, whatever it says. @param {Node} node */
function identityOf(node) {
  if (!(node instanceof Element)) return node.nodeName;
  const given = ["id", "data-context", "data-id", "data-function", "name", "action"].map((name) => node.getAttribute(name) ?? "");
  if (node.localName === "option") given.push(node.getAttribute("value") ?? "");
  return [node.localName, ...given].join(" ");
}

/** @param {Element} now @param {Element} fresh */
function patchAttributes(now, fresh) {
  const kept = ownClasses.filter((name) => now.classList.contains(name));
  for (const { name, value } of Array.from(fresh.attributes)) if (!ownAttributes.has(name) && now.getAttribute(name) !== value) now.setAttribute(name, value);
  for (const { name } of Array.from(now.attributes)) if (!fresh.hasAttribute(name) && !ownAttributes.has(name)) now.removeAttribute(name);
  now.classList.add(...kept);
}

/** @param {Element} now @param {Element} fresh */
function patchChildren(now, fresh) {
  /** @type {Map<string, ChildNode[]>} */
  const known = new Map();
  for (const child of now.childNodes) {
    if (child instanceof Element && child.matches(addedParts)) continue;
    const alike = known.get(identityOf(child));
    if (alike) alike.push(child);
    else known.set(identityOf(child), [child]);
  }
  const pairs = Array.from(fresh.childNodes, (wanted) => ({ wanted, found: known.get(identityOf(wanted))?.shift() }));
  for (const gone of Array.from(known.values()).flat()) gone.remove();
  let place = now.firstChild;
  for (const { wanted, found } of pairs) {
    while (place instanceof Element && place.matches(addedParts)) place = place.nextSibling;
    if (!found) {
      now.insertBefore(document.importNode(wanted, true), place);
      continue;
    }
    if (found === place) place = place.nextSibling;
    else now.insertBefore(found, place);
    if (found instanceof Element && wanted instanceof Element) patchElement(found, wanted);
    else if (found.nodeValue !== wanted.nodeValue) found.nodeValue = wanted.nodeValue;
  }
}

/** @param {Element} now @param {Element} fresh */
function patchElement(now, fresh) {
  if (now.matches(ownParts)) return;
  patchAttributes(now, fresh);
  patchChildren(now, fresh);
}

/** @param {Element} now @param {Element} fresh */
export function patch(now, fresh) {
  const focused = document.activeElement;
  patchElement(now, fresh);
  // An element that moves loses the focus.
  if ((focused instanceof HTMLElement || focused instanceof SVGElement) && focused.isConnected) focused.focus({ preventScroll: true });
}
