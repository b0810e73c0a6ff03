// One chart, drawn as the pages draw it, on stdout. The last lines of the program call `draw` with what forerun has worked out
// (reports/html/drawing.h). SPDX-License-Identifier: Apache-2.0
'use strict';

const font = 'Arial, Helvetica, "Liberation Sans", sans-serif';

// The colours of report.css, by name: those of :root, and over them those of the dark theme.
const coloursOf = (css, theme) => {
  const blocks = [/^:root \{([^}]*)\}/m, ...(theme === 'dark' ? [/^:root\[data-theme="dark"\] \{([^}]*)\}/m] : [])];
  return Object.fromEntries(blocks.flatMap((block) =>
    [...block.exec(css)[1].matchAll(/--(\w+): *([^;]+);/g)].map(([, name, colour]) => [name, colour.trim()])));
};

const specificationOf = (request) => {
  const colours = coloursOf(request.style, request.theme);
  page.style = (name) => colours[name];
  const filled = page.filled(request.specification, request.content, request.width);
  for (const signal of filled.signals ?? []) delete signal.bind;  // there is nobody to choose
  const background = request.background === 'none' ? null : page.style('paper');
  return {
    $schema: 'https://vega.github.io/schema/vega/v5.json', ...filled, description: request.description,
    config: {...page.configuration(font), background},
  };
};

const draw = async (request) => {
  const specification = specificationOf(request);
  if (request.form === 'vega') return JSON.stringify(specification, null, 1) + '\n';
  const view = new vega.View(vega.parse(specification), {renderer: 'none', logLevel: 1});
  return await view.toSVG() + '\n';
};

const drawn = (request) => draw(request).then((text) => process.stdout.write(text), (error) => {
  process.stderr.write(String(error?.stack ?? error) + '\n');
  process.exitCode = 1;
});
