// Has Vega draw each figure from its specification, again when the theme or the width changes.
'use strict';

page.specifications = JSON.parse(document.getElementById('charts').textContent);

page.draw = (figure) => {
  const plot = figure.querySelector('.plot');
  const content = figure.content ??= JSON.parse(figure.querySelector('script').textContent);
  const width = plot.clientWidth;
  const specification = page.filled(page.specifications[figure.dataset.chart], content, width);
  figure.view?.finalize();
  page.tip.hide();
  const many = (content.data.rows ?? []).length > 2000;
  figure.view = new vega.View(vega.parse(specification, page.configuration(getComputedStyle(document.body).fontFamily)), {
    renderer: many ? 'canvas' : 'svg', container: plot, hover: true, logLevel: 1,
    tooltip: (handler, event, item, value) => {
      if (value && typeof value === 'object') page.tip.show(value, event.clientX, event.clientY);
      else page.tip.hide();
    },
  });
  figure.view.run();
  figure.drawnWidth = width;
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
