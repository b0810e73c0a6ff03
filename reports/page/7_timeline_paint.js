// One frame of the timeline.
'use strict';

// Colours and the hatching of idle time, for the theme of the moment.
page.timelinePaints = (data, context) => {
  const kinds = [...new Set([...data.operators.phase, ...data.tracks.map((track) => page.kindOfStream(track.stream))])];
  const colours = page.coloursOf(kinds);
  const of = Object.fromEntries(kinds.map((kind, i) => [kind, colours[i]]));
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const pen = tile.getContext('2d');
  pen.strokeStyle = page.style('idle');
  pen.lineWidth = 1.5;
  for (const shift of [-8, 0, 8]) { pen.beginPath(); pen.moveTo(shift, 8); pen.lineTo(shift + 8, 0); pen.stroke(); }
  return {
    of, hatch: context.createPattern(tile, 'repeat'), operator: data.operators.phase.map((phase) => of[phase]),
    ink: page.style('ink'), quiet: page.style('quiet'), line: page.style('line'), paper: page.style('paper'), lane: page.style('lane'),
    font: getComputedStyle(document.body).fontFamily,
  };
};

// Spans that are narrower than a pixel share it: the first of them is painted, on whole pixels, so that nothing below
// shines through.
page.paintSpans = (context, row, top, view, paints) => {
  const track = row.track, compute = track.stream === 'compute';
  const scale = view.plotWidth / (view.to - view.from);
  const x = (time) => view.left + (time - view.from) * scale;
  const snapped = (place) => Math.round(place * view.ratio) / view.ratio;
  const right = view.left + view.plotWidth, height = row.height - 3;
  const stream = paints.of[page.kindOfStream(track.stream)];
  context.fillStyle = compute ? paints.hatch : paints.lane;
  context.fillRect(view.left, top, view.plotWidth, height);
  let painted = -1;
  for (let i = page.firstAfter(track, view.from); i < track.start.length && track.start[i] < view.to; ++i) {
    const end = Math.min(right, snapped(x(track.end[i])));
    const begin = Math.max(view.left, snapped(x(track.start[i])), painted);
    if (end <= begin && begin <= painted) continue;
    painted = Math.max(end, begin + 1 / view.ratio);
    context.fillStyle = compute ? paints.operator[track.operator[i]] : stream;
    context.fillRect(begin, top, painted - begin, height);
    if (end - begin > 3) { context.fillStyle = paints.paper; context.fillRect(end - 0.75, top, 0.75, height); }
    if (compute && end - begin > 60) page.paintName(context, view.names[track.operator[i]], begin, end, top + height / 2, paints);
  }
};

page.paintName = (context, name, begin, end, middle, paints) => {
  context.save();
  context.beginPath();
  context.rect(begin, middle - 12, end - begin - 4, 24);
  context.clip();
  context.fillStyle = paints.paper;
  context.fillText(name, begin + 5, middle + 0.5);
  context.restore();
};

page.niceStep = (span, pieces) => {
  const rough = span / pieces, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
};

page.paintAxis = (context, view, paints) => {
  const step = page.niceStep(view.to - view.from, Math.max(2, view.plotWidth / 110));
  context.fillStyle = paints.paper;
  context.fillRect(0, 0, view.width, view.axis);
  for (let tick = Math.ceil(view.from / step) * step; tick <= view.to; tick += step) {
    const x = view.left + (tick - view.from) / (view.to - view.from) * view.plotWidth;
    context.fillStyle = paints.line;
    context.fillRect(x, view.axis - 5, 1, view.height);
    context.fillStyle = paints.quiet;
    context.textAlign = x > view.width - 40 ? 'right' : x < view.left + 20 ? 'left' : 'center';
    context.fillText(page.tickText(tick, step), x, view.axis / 2 - 2);
  }
  context.textAlign = 'left';
};

page.tickText = (tick, step) => {
  const [size, unit] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']].find(([one]) => step >= one / 10 || one === 1);
  return Number((tick / size).toFixed(2)).toString() + ' ' + unit;
};

page.paintTimeline = (context, data, view, paints) => {
  context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
  context.fillStyle = paints.paper;
  context.fillRect(0, 0, view.width, view.height);
  context.font = '12px ' + paints.font;
  context.textBaseline = 'middle';
  for (const row of view.rows) {
    const top = row.top - view.scroll + view.axis;
    if (top > view.height || top + row.height < view.axis) continue;
    if (row.heading) {
      context.fillStyle = paints.ink;
      context.font = '600 12px ' + paints.font;
      context.fillText(row.heading, 2, top + row.height / 2 + 3);
      context.font = '12px ' + paints.font;
      continue;
    }
    context.fillStyle = paints.quiet;
    context.fillText(row.label, 2, top + row.height / 2 - 1, view.left - 8);
    page.paintSpans(context, row, top, view, paints);
  }
  page.paintAxis(context, view, paints);
  if (view.marked) page.paintMark(context, view, paints);
};

page.paintMark = (context, view, paints) => {
  const {row, index} = view.marked, scale = view.plotWidth / (view.to - view.from);
  const begin = Math.max(view.left, view.left + (row.track.start[index] - view.from) * scale);
  const end = Math.min(view.left + view.plotWidth, view.left + (row.track.end[index] - view.from) * scale);
  const top = row.top - view.scroll + view.axis;
  if (end < begin || top < view.axis - 2) return;
  context.strokeStyle = paints.ink;
  context.lineWidth = 2;
  context.strokeRect(begin - 1, top - 1, Math.max(2, end - begin) + 2, row.height - 1);
};
