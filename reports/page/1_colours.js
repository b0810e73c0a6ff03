// What has which colour. Whoever draws gives `page.style(name)`: the colours of a theme (report.css).
'use strict';

const page = {};

// What has a colour of its own wherever it is drawn; anything else takes its turn among the series' colours.
page.colourNames = {
  compute: 'blue', forward: 'blue', backward: 'teal', recompute: 'violet', optimizer: 'purple',
  tp: 'orange', communication: 'orange', cp: 'brown', ep: 'pink', etp: 'pink', dp: 'gold', shard: 'gold', gather: 'gold',
  replicate: 'gold', 'expert dp': 'brown', pp: 'green', embedding: 'green', vocabulary: 'green', model: 'grey',
  bubble: 'idle', idle: 'idle', host: 'grey', offload: 'brown', copy: 'brown', storage: 'grey', total: 'ink',
  parameters: 'blue', gradients: 'teal', activations: 'gold', logits: 'pink', workspace: 'violet', 'kv cache': 'green',
  reserved: 'grey',
  fits: 'blue', front: 'orange', 'shown above': 'blue', 'does not fit': 'red', refused: 'grey',
  recommended: 'green', 'will do': 'blue', 'too late': 'red', 'too dear': 'orange', 'too late, too dear': 'grey',
  'lost work': 'red', down: 'orange', checkpoints: 'blue', stragglers: 'violet',
  predicted: 'orange', measured: 'blue', datasheet: 'teal', assumed: 'orange', stated: 'grey',
};
page.seriesNames = ['blue', 'orange', 'teal', 'pink', 'gold', 'purple', 'green', 'brown', 'violet', 'grey'];
page.coloursOf = (kinds) => {
  let turn = 0;
  return kinds.map((kind) => page.style(page.colourNames[kind] ?? page.seriesNames[turn++ % page.seriesNames.length]));
};
