import { type Watched, watchRecordedReplies } from './watch.ts'

/**
 * `node table.js`: compares what a person in a Telegram chat sees of the same three replies through our sink and Chat
 * SDK.
 */
const [ours, peer] = await Promise.all([watchRecordedReplies('ours'), watchRecordedReplies('peer')])
const total = (all: readonly Watched[], pick: (watched: Watched) => number): number =>
  all.reduce((sum, watched) => sum + pick(watched), 0)
const most = (all: readonly Watched[], pick: (watched: Watched) => number): number => Math.max(...all.map(pick))
const seconds = (ms: number): string => (Number.isFinite(ms) ? `${(ms / 1000).toFixed(1)} s` : 'never')

const rows: readonly (readonly [string, (all: readonly Watched[]) => string])[] = [
  ['letters missing', (all) => String(total(all, (watched) => watched.missing))],
  ['letters twice', (all) => String(total(all, (watched) => watched.doubled))],
  ['longest time a finished sentence stayed unseen', (all) => seconds(most(all, (watched) => watched.invisibleMs))],
  ['posts and edits of the answer', (all) => String(total(all, ({ writes }) => writes))],
  [
    'other calls',
    (all) => String(total(all, (watched) => Object.values(watched.calls).reduce((a, b) => a + b, 0) - watched.writes)),
  ],
  ['rate-limited calls', (all) => String(total(all, (watched) => watched.rateLimited))],
  ['notifications', (all) => String(total(all, (watched) => watched.notifications))],
  [
    'longest time from the end to the full answer',
    (all) => seconds(most(all, (watched) => watched.finalMs ?? Infinity)),
  ],
]
const lines = rows.map(([what, cellOf]) => `| ${what} | ${cellOf(ours)} | ${cellOf(peer)} |`)
process.stdout.write(
  `${['| three recorded replies | @reply/telegram | Chat SDK 4.41 |', '|---|---|---|', ...lines].join('\n')}\n`,
)
process.exit(0)
