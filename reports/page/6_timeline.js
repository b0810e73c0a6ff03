// The timeline: rows of spans on a canvas of our own. Vega keeps an object for each mark and makes all of them again for
// every step of a drag, which is too slow for a hundred thousand; here a frame walks the columns once and paints at most
// one rectangle for each pixel of a row.
'use strict';

page.rowHeights = {role: 26, compute: 22, other: 14};

// Rows from top to bottom: a heading for each role, then its streams, of several traces side by side.
page.timelineRows = (data) => {
  const order = [...data.tracks.keys()].sort((a, b) => data.tracks[a].stage - data.tracks[b].stage ||
    data.tracks[a].rank - data.tracks[b].rank);
  const rows = [];
  let top = 0, role = null;
  const add = (row, height) => { rows.push({...row, top, height}); top += height; };
  const byRole = new Map();
  for (const index of order) {
    const track = data.tracks[index];
    const key = track.stage + ' ' + track.rank;
    if (!byRole.has(key)) byRole.set(key, []);
    byRole.get(key).push(track);
  }
  for (const tracks of byRole.values()) {
    role = `stage ${tracks[0].stage}, rank ${tracks[0].rank}`;
    add({heading: role}, page.rowHeights.role);
    const streams = [...new Set(tracks.map((track) => track.stream))];
    for (const stream of streams) {
      for (const track of tracks.filter((one) => one.stream === stream).sort((a, b) => a.trace - b.trace)) {
        const label = data.traces.length > 1 ? `${stream}, ${data.traces[track.trace]}` : stream;
        add({role, label, track}, stream === 'compute' ? page.rowHeights.compute : page.rowHeights.other);
      }
    }
  }
  return {rows, height: top + 6};
};

// Begin and end of each span, from the gaps between them.
page.unpackTrack = (track) => {
  const count = track.gap.length;
  track.start = new Float64Array(count);
  track.end = new Float64Array(count);
  let at = 0;
  for (let i = 0; i < count; ++i) {
    track.start[i] = at += track.gap[i];
    track.end[i] = at += track.duration[i];
  }
  delete track.gap;
};

// Several traces on one scale of time, or each at the length of the longest. Durations stay as they are told.
page.stretchTracks = (data, own) => {
  for (const track of data.tracks) {
    const factor = own ? data.length / data.lengths[track.trace] : 1, change = factor / (track.factor ?? 1);
    track.factor = factor;
    if (change === 1) continue;
    for (let i = 0; i < track.start.length; ++i) {
      track.start[i] *= change;
      track.end[i] *= change;
    }
  }
};

page.scaleWords = (data, own) => {
  if (!own) return '';
  const longest = data.traces[data.lengths.indexOf(data.length)];
  const lengths = data.traces.map((name, i) => `${name} ${page.time(data.lengths[i])}`).join(', ');
  return `Each step is drawn at its own length (${lengths}); the axis is that of ${longest}.`;
};

// The first span that ends after `time`.
page.firstAfter = (track, time) => {
  let low = 0, high = track.end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (track.end[middle] <= time) low = middle + 1; else high = middle;
  }
  return low;
};

page.kindOfStream = (stream) => {
  if (stream.startsWith('send') || stream.startsWith('recv')) return 'pp';
  if (stream.startsWith('to ')) return 'copy';
  return stream === 'cpu' ? 'host' : stream;
};

page.spanFacts = (data, row, index) => {
  const track = row.track, op = track.operator[index], operators = data.operators;
  const known = (value) => value >= 0 ? value : undefined;
  return {
    Operator: operators.name[op], Stream: `${row.role}, ${row.label}`, Phase: operators.phase[op],
    Microbatch: known(track.microbatch[index]), Layer: known(operators.layer[op]), Chunk: known(operators.chunk[op]),
    Bytes: operators.bytes[op] >= 0 ? page.bytes(operators.bytes[op]) : undefined,
    Begins: page.instant(track.start[index] / (track.factor ?? 1)), Lasts: page.time(track.duration[index]),
    'Waited before': track.waited[index] > 0 ? page.time(track.waited[index]) : undefined,
  };
};
