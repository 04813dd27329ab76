import { factor } from './fast.ts'
import { type HardReply, hardReplies } from './hard-replies.ts'
import { discord, type Platform, slack, whatsapp } from './platforms.ts'
import { type Watched, watchDelivery } from './watch.ts'

/**
 * `node --import ./fast.js channels.js [--json]`: shows five hard replies on three platforms, through our sinks and
 * through Chat SDK, each at a fake platform of its own, and prints what a person sees. Time is sped up. Fast replies
 * are shown one after another, so that a busy process doesn't distort their times.
 */
export interface ChannelRow {
  readonly platform: string
  readonly name: string
  readonly ours: Watched
  readonly peer: Watched
}

const all = [slack, discord, whatsapp].flatMap((platform) => hardReplies().map((reply) => ({ platform, reply })))
const lag = watchLag()
let before: Promise<unknown> = Promise.resolve()
const rows = await Promise.all(
  all.map(({ platform, reply }): Promise<ChannelRow> => {
    if (reply.isLong) return watchBothSides(platform, reply)
    const row = before.then(() => watchBothSides(platform, reply))
    before = row
    return row
  }),
)
const latestMs = lag()
process.stdout.write(process.argv.includes('--json') ? JSON.stringify(rows) : tableText())
process.exit(0)

/** Shows a reply through our sink and through Chat SDK at the same time, each at a platform of its own. */
async function watchBothSides(platform: Platform, { name, timeline, refuseLast }: HardReply): Promise<ChannelRow> {
  const [ours, peer] = await Promise.all([
    watchDelivery(platform, 'ours', timeline, refuseLast),
    watchDelivery(platform, 'peer', timeline, refuseLast),
  ])
  return { platform: platform.name, name, ours, peer }
}

/**
 * Watches how late timers are, which is the error of the measured times. Returns a function that stops that and returns
 * the largest delay, in ms.
 */
function watchLag(): () => number {
  let latest = 0
  let due = performance.now() + 100
  const timer = setInterval(() => {
    latest = Math.max(latest, performance.now() - due)
    due = performance.now() + 100
  }, 100)
  return () => {
    clearInterval(timer)
    return latest
  }
}

/** Returns a Markdown table with our figure and that of Chat SDK in each cell, and how it was measured. */
function tableText(): string {
  const head =
    '| | | missing | twice | longest unseen | after the end | 429s | notifications |\n|---|---|---|---|---|---|---|---|'
  const lines = rows.map(({ platform, name, ours, peer }) => {
    const both = (cellOf: (watched: Watched) => string): string => `${cellOf(ours)} / ${cellOf(peer)}`
    const cells = [
      both(({ missing }) => String(missing)),
      both(({ doubled }) => String(doubled)),
      both(({ invisibleMs }) => secondsText(invisibleMs)),
      both(({ finalMs }) => secondsText(finalMs ?? Number.POSITIVE_INFINITY)),
      both(({ rateLimited }) => String(rateLimited)),
      both(({ notifications }) => String(notifications)),
    ]
    return `| ${platform} | ${name} | ${cells.join(' | ')} |`
  })
  return `${[head, ...lines].join('\n')}\n\nOurs / Chat SDK 4.41. Missing and twice count letters. Times are at the replies' own pace, measured ${factor} times as fast; timers were late by up to ${secondsText(latestMs)}.\n`
}

/** A time in seconds. "never" for null and infinity. */
function secondsText(ms: number | null): string {
  return ms !== null && Number.isFinite(ms) ? `${(ms / 1000).toFixed(1)} s` : 'never'
}
