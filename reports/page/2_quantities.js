// Numbers with units, as the program itself prints them.
'use strict';

page.scaled = (value, steps) => {
  const size = Math.abs(value);
  const [factor, unit] = steps.find(([least]) => size >= least) ?? steps[steps.length - 1];
  const scaled = value / factor;
  return Number(scaled.toPrecision(3)).toString() + '\u00a0' + unit;
};
page.time = (ns) => ns === 0 ? '0' : page.scaled(ns, [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']]);
// To the nanosecond: an instant is looked up in other tools.
page.instant = (ns) => (ns / 1e6).toFixed(6) + '\u00a0ms';
page.bytes = (bytes) => page.scaled(bytes, [[1e15, 'PB'], [1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']]);
