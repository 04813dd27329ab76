import { type Watched, watchRecordedReplies } from './watch.ts'

/**
 * `node table.js`: compares what a person in a Telegram chat sees of the same three replies through our sink and Chat
 * SDK.
 */
const [ours, peer] = await Promise.all([watchRecordedReplies('ours'), watchRecordedReplies('peer')])
const total = (all: readonly Watched[], pick: (one: Watched) => number): number =>
  all.reduce((sum, one) => sum + pick(one), 0)
const most = (all: readonly Watched[], pick: (one: Watched) => number): number => Math.max(...all.map(pick))
const seconds = (ms: number): string => (Number.isFinite(ms) ? `${(ms / 1000).toFixed(1)} s` : 'never')

const rows: readonly (readonly [string, (all: readonly Watched[]) => string])[] = [
  ['letters missing', (all) => String(total(all, (one) => one.missing))],
  ['letters twice', (all) => String(total(all, (one) => one.doubled))],
  ['longest time a finished sentence stayed unseen', (all) => seconds(most(all, (one) => one.invisibleMs))],
  ['posts and edits of the answer', (all) => String(total(all, ({ writes }) => writes))],
  [
    'other calls',
    (all) => String(total(all, (one) => Object.values(one.calls).reduce((a, b) => a + b, 0) - one.writes)),
  ],
  ['rate-limited calls', (all) => String(total(all, (one) => one.rateLimited))],
  ['notifications', (all) => String(total(all, (one) => one.notifications))],
  ['longest time from the end to the full answer', (all) => seconds(most(all, (one) => one.finalMs ?? Infinity))],
]
const lines = rows.map(([what, tell]) => `| ${what} | ${tell(ours)} | ${tell(peer)} |`)
process.stdout.write(
  `${['| three recorded replies | @reply/telegram | Chat SDK 4.41 |', '|---|---|---|', ...lines].join('\n')}\n`,
)
process.exit(0)
