// Builds nodes, and updates what a page shows in place: focus, scroll position and opened parts stay.
// Text enters by text nodes alone, so no data is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

const dispatch = (event) => event.currentTarget.handlers?.[event.type]?.(event);

function listen(node, handlers) {
  for (const type of Object.keys(handlers)) {
    if (!node.handlers || !(type in node.handlers)) node.addEventListener(type, dispatch);
  }
  node.handlers = { ...Object.fromEntries(Object.keys(node.handlers ?? {}).map((type) => [type, null])), ...handlers };
}

// Characters that turn the direction of the text after them are shown by name: data must not reorder the page.
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;
const visible = (text) => text.replace(TURNS, (turn) => `[U+${turn.charCodeAt(0).toString(16).toUpperCase()}]`);

function build(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") listen(node, value);
    else if (name === "key") node.key = value;
    else if (name === "css")
      for (const [property, text] of Object.entries(value)) node.style.setProperty(property, text);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(visible(String(child))));
  }
  return node;
}

// Return an element of HTML; `on` holds listeners, `key` its identity among its siblings, `css` its styles.
export function h(tag, props, ...children) {
  return build(document.createElement(tag), props, children);
}

// Return an element of SVG.
export function s(tag, props, ...children) {
  return build(document.createElementNS(SVG, tag), props, children);
}

// Return a place for something with a life of its own, as a chart: `create(host, spec)` returns {update, destroy}.
export function widget(create, spec, props) {
  const host = h("div", { "data-widget": true, ...props });
  host.widget = { create, spec };
  return host;
}

function mount(root) {
  for (const host of root.querySelectorAll("[data-widget]")) {
    if (host.widget && !host.instance) host.instance = host.widget.create(host, host.widget.spec);
  }
}

function release(node) {
  if (!(node instanceof Element)) return;
  for (const host of [node, ...node.querySelectorAll("[data-widget]")]) {
    host.instance?.destroy?.();
    host.instance = null;
  }
}

const is_like = (old, now) =>
  old.nodeName === now.nodeName && old.key === now.key && old.widget?.create === now.widget?.create;

const KEPT = new Set(["open", "style", "class"]); // what a reader opened stays open

function update(old, now) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== now.data) old.data = now.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!KEPT.has(name) && !now.hasAttribute(name)) old.removeAttribute(name);
  const isTyping = old === document.activeElement;
  for (const { name, value } of [...now.attributes]) {
    if (name === "value" && isTyping) continue;
    if (!KEPT.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (!old.widget && old.getAttribute("class") !== now.getAttribute("class")) {
    old.setAttribute("class", now.getAttribute("class") ?? "");
  }
  if (old.style && old.style.cssText !== now.style.cssText) old.style.cssText = now.style.cssText;
  if (now.handlers) listen(old, now.handlers);
  if (old.widget) {
    old.widget.spec = now.widget.spec;
    old.instance?.update(now.widget.spec);
  } else updateChildren(old, now);
}

function updateChildren(old, now) {
  const keyed = new Map();
  for (const child of old.childNodes) if (child.key !== undefined) keyed.set(child.key, child);
  let at = old.firstChild;
  for (const next of [...now.childNodes]) {
    let match = next.key === undefined ? at : keyed.get(next.key);
    if (match && !is_like(match, next)) match = null;
    if (!match) old.insertBefore(next, at);
    else {
      if (match === at) at = at.nextSibling;
      else old.insertBefore(match, at);
      update(match, next);
    }
    if (next.key !== undefined) keyed.delete(next.key);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    release(gone);
    gone.remove();
  }
}

// Show `nodes` in `root`, in place of what it showed.
export function render(root, ...nodes) {
  const focus = document.activeElement;
  updateChildren(root, build(root.cloneNode(false), null, nodes));
  mount(root);
  if (document.activeElement === document.body && focus !== document.body) refocus(root, focus);
}

const nameOf = (node) => node.getAttribute("name") ?? node.getAttribute("aria-label") ?? node.textContent;

// Give the focus back that was lost by an update: to the node, else to one of the same name, else to the place itself.
function refocus(root, lost) {
  const name = nameOf(lost);
  const same = lost.isConnected
    ? lost
    : [...root.querySelectorAll(lost.localName)].find((node) => nameOf(node) === name && !node.disabled);
  if (same) same.focus({ preventScroll: true });
  if (document.activeElement === document.body) root.focus({ preventScroll: true });
}

// Say a sentence to screen readers.
export function announce(text) {
  const live = document.getElementById("live");
  if (live && live.textContent !== text) live.textContent = text;
}

// Return whether the reader points into a node, or has the focus in it: then nothing may move.
export function isReading(node) {
  const focus = document.activeElement;
  return Boolean(node) && (node.matches(":hover") || (focus !== document.body && node.contains(focus)));
}
