/* What the parts of the page share. Foreign texts enter the page only as text
 * (textContent).
 *
 * SPDX-License-Identifier: 0BSD */

export const $ = (id) => document.getElementById(id);

/* Makes an element with a class, a text or children. */
export function make(tag, className, ...children) {
    const element = document.createElement(tag);

    if (className) {
        element.className = className;
    }
    element.append(...children);
    return element;
}

export function setText(element, text) {
    if (element.textContent !== text) {
        element.textContent = text;
    }
}

/* Turns 1234.50 into 1,234.50. */
export function grouped(text) {
    const [whole, fraction] = String(text).split(".");
    const spaced = whole.replace(/\B(?=(\d{3})+$)/g, ",");

    return fraction === undefined ? spaced : spaced + "." + fraction;
}

export function counted(n, one, many) {
    return `${grouped(n)} ${n === 1 ? one : many}`;
}

export function duration(ms) {
    const s = Math.max(0, Math.round(ms / 1000));

    if (s < 60) {
        return `${s} s`;
    }
    return s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s`
        : `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
}

export function clock(date) {
    return date.toLocaleTimeString("en-GB");
}

export function bytesText(n) {
    for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
        if (n >= size) {
            return `${(n / size).toFixed(1)} ${unit}`;
        }
    }
    return `${n} B`;
}

/* Gives the parent one child per item. The child of a key stays the same
 * element while there is an item with this key. */
export function keyed(parent, items, keyOf, create, update) {
    const old = new Map([...parent.children].map((e) => [e.dataset.key, e]));
    let place = parent.firstElementChild;

    for (const item of items) {
        const key = String(keyOf(item));
        let element = old.get(key);

        if (!element) {
            element = create(item);
            element.dataset.key = key;
        }
        old.delete(key);
        if (element === place) {
            place = place.nextElementSibling;
        } else {
            parent.insertBefore(element, place);
        }
        update(element, item);
    }
    old.forEach((element) => element.remove());
}
