// What Vega asks of a browser, in Node.js: a window, and how wide a text is. SPDX-License-Identifier: Apache-2.0
'use strict';

globalThis.window = globalThis;

// Widths of the characters from space to tilde in thousandths of the font's size, as in Helvetica, Arial and Liberation Sans
// (Adobe Font Metrics 4.1, "Helvetica").
const narrow = [278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278];
const digits = [556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556];
const capitals = [1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
                  667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556];
const small = [333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
               556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584];
const widths = [...narrow, ...digits, ...capitals, ...small];
const widthOf = (character) =>
  character === '\u00a0' ? widths[0] : widths[character.codePointAt(0) - 32] ?? 556;

// Room for the widest font that a reader's machine may take instead, DejaVu Sans.
const spare = 1.17;

const pen = {
  font: '11px sans-serif',
  measureText(text) {
    const size = Number(/([\d.]+)px/.exec(this.font)?.[1] ?? 11);
    return {width: [...text].reduce((sum, character) => sum + widthOf(character), 0) * spare * size / 1000};
  },
};
globalThis.document = {createElement: () => ({getContext: () => pen})};
