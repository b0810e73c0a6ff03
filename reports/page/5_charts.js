// Has Vega draw each figure from its specification, again when the theme or the width changes.
'use strict';

page.specifications = JSON.parse(document.getElementById('charts').textContent);

page.configuration = () => {
  const ink = page.style('ink'), quiet = page.style('quiet'), line = page.style('line');
  const font = getComputedStyle(document.body).fontFamily;
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

// The figure's signals, the colours of its kinds, and the room that it has.
page.filled = (figure, name, content) => {
  const specification = structuredClone(page.specifications[name]);
  const width = figure.querySelector('.plot').clientWidth;
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

page.draw = (figure) => {
  const plot = figure.querySelector('.plot');
  const content = figure.content ??= JSON.parse(figure.querySelector('script').textContent);
  const specification = page.filled(figure, figure.dataset.chart, content);
  figure.view?.finalize();
  page.tip.hide();
  const many = (content.data.rows ?? []).length > 2000;
  figure.view = new vega.View(vega.parse(specification, page.configuration()), {
    renderer: many ? 'canvas' : 'svg', container: plot, hover: true, logLevel: 1,
    tooltip: (handler, event, item, value) => {
      if (value && typeof value === 'object') page.tip.show(value, event.clientX, event.clientY);
      else page.tip.hide();
    },
  });
  figure.view.run();
  figure.drawnWidth = plot.clientWidth;
};

page.startCharts = () => {
  const figures = [...document.querySelectorAll('figure[data-chart]')];
  const waiting = [...figures];
  // One at a time, so that reading and scrolling go on meanwhile.
  const next = () => {
    const figure = waiting.shift();
    if (!figure) { document.documentElement.dataset.charts = 'drawn'; return; }
    page.draw(figure);
    setTimeout(next);
  };
  setTimeout(next);
  page.themeListeners.push(() => { for (const figure of figures) if (figure.view) page.draw(figure); });
  const watch = new ResizeObserver((entries) => {
    for (const entry of entries) {
      const figure = entry.target.parentElement;
      if (figure.view && Math.abs(figure.drawnWidth - entry.target.clientWidth) > 1) page.draw(figure);
    }
  });
  for (const figure of figures) watch.observe(figure.querySelector('.plot'));
  addEventListener('beforeprint', () => { while (waiting.length) page.draw(waiting.shift()); });
};
