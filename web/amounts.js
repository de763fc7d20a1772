// Amounts, shares and times, for people.

const kKinds = ['cpus', 'mem', 'disk', 'gpus'];

const number = (value) => String(Math.round(value * 1000) / 1000);

const mebibytes = (value) => (value >= 1024 ? `${number(value / 1024)} GiB` : `${number(value)} MiB`);

function words(of, kinds) {
  return kinds.map((kind) => (kind === 'mem' || kind === 'disk' ? `${kind} ${mebibytes(of[kind])}`
    : `${kind} ${number(of[kind])}`)).join(', ');
}
const used = (of) => kKinds.filter((kind) => of?.[kind]);
// A guarantee or a limit may name a kind with 0: that is none of it, and not all of it.
const named = (of) => kKinds.filter((kind) => of?.[kind] !== undefined);

export const amounts = (of) => words(of, used(of));
export const quota = (of) => words(of, named(of));

// The same as the commands and the API take them: cpus:10;mem:4096.
const typed = (of, kinds) => kinds.map((kind) => `${kind}:${number(of[kind])}`).join(';');
export const resourcesText = (of) => typed(of, used(of));
export const quotaText = (of) => typed(of, named(of));

// The largest fraction that `use` is of any kind in `total`, and of which kind.
export function dominant(use, total) {
  let most = { share: 0, kind: '' };
  for (const kind of kKinds) {
    if (!total?.[kind] || !use?.[kind]) continue;
    const share = use[kind] / total[kind];
    if (share > most.share) most = { share, kind };
  }
  return most;
}

export const percent = (share) => `${(share * 100).toFixed(1)} %`;
export const millionths = (value) => `${((value ?? 0) / 10_000).toFixed(1)} %`;

// A span of time, as `proffer` prints it.
export function span(seconds) {
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

const two = (value) => String(value).padStart(2, '0');

export function clock(seconds) {
  const at = new Date(seconds * 1000);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function moment(seconds) {
  if (!seconds) return '';
  const at = new Date(seconds * 1000);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(seconds)}`;
}
