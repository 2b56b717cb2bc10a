// Remembers a reader's choices in the browser; without storage they hold until the page is closed.

const fallback = new Map();

export function recall(name, otherwise) {
  try {
    const text = window.localStorage.getItem(`tailrace.${name}`);
    if (text !== null) return JSON.parse(text);
  } catch {
    // storage is off, or holds something else
  }
  return fallback.has(name) ? fallback.get(name) : otherwise;
}

export function remember(name, value) {
  fallback.set(name, value);
  try {
    window.localStorage.setItem(`tailrace.${name}`, JSON.stringify(value));
  } catch {
    // kept for this page alone
  }
}
