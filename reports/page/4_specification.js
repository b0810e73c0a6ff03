// What Vega is handed: a chart's specification with its rows, its signals, the colours of its kinds and the room that it has.
// Nothing here asks for a page: `forerun plot` has Node.js run the same lines (reports/plot/).
'use strict';

page.configuration = (font) => {
  const ink = page.style('ink'), quiet = page.style('quiet'), line = page.style('line');
  return {
    background: null, font,
    axis: {labelColor: quiet, titleColor: quiet, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12,
           titleFontSize: 12, titleFontWeight: 'normal', labelFont: font, titleFont: font, labelLimit: 190, labelPadding: 6},
    legend: {labelColor: ink, titleColor: quiet, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 'normal',
             labelFont: font, titleFont: font, symbolType: 'square', orient: 'top', direction: 'horizontal', title: null},
    text: {fill: ink, font, fontSize: 12},
    rule: {stroke: ink},
  };
};

// `content`: the rows of each data set and the signals that are not the specification's own.
page.filled = (empty, content, width) => {
  const specification = structuredClone(empty);
  const kinds = [...new Set((content.data.rows ?? []).map((row) => row.kind).filter((kind) => kind !== undefined))];
  const given = {
    ...content.signals, width, narrow: width < 520, kinds, kindColours: page.coloursOf(kinds),
    labels: new Set((content.data.rows ?? []).map((row) => row.label)).size,
    ink: page.style('ink'), quiet: page.style('quiet'), paper: page.style('paper'), accent: page.style('blue'),
    bad: page.style('red'), series: page.seriesNames.map(page.style), legendColumns: Math.max(2, Math.floor(width / 130)),
  };
  for (const signal of specification.signals ?? []) {
    if (!(signal.name in given)) continue;
    const value = given[signal.name];
    if (signal.bind && value && value.options) {
      signal.bind.options = value.options;
      signal.value = value.value;
    } else {
      signal.value = value;
    }
  }
  specification.width = width;
  for (const data of specification.data) {
    if (data.name in content.data) data.values = content.data[data.name];
  }
  return specification;
};
