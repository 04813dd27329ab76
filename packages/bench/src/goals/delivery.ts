import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { closeMarkdown, split } from '@reply/sink/internal'
import { renderHtml } from '@reply/telegram/internal'
import type { ChannelRow } from '../delivery/channels.ts'
import { measurePace } from '../delivery/pace.ts'
import { type PacedPlatform, pacedPlatforms } from '../delivery/paced-platforms.ts'
import { watchRecordedReplies } from '../delivery/watch.ts'
import type { Goal } from '../goal.ts'
import { median, race } from '../rounds.ts'

/** Time between edits in one private chat, in ms: see the limits of `@reply/telegram`. */
const intervalMs = 1100

/** Our sink in a Telegram chat. `delivery/table.ts` compares it with Chat SDK. */
export const deliveryGoals: readonly Goal[] = [
  {
    id: 'delivery.missing',
    what: 'letters missing or duplicated in a Telegram chat after three recorded replies',
    unit: 'letters',
    bound: { atMost: 0 },
    measure: async () => sum((await watchRecordedReplies('ours')).map(({ missing, doubled }) => missing + doubled)),
  },
  {
    id: 'delivery.429',
    what: 'rate-limited calls for these replies',
    unit: 'calls',
    bound: { atMost: 0 },
    measure: async () => sum((await watchRecordedReplies('ours')).map(({ rateLimited }) => rateLimited)),
  },
  {
    id: 'delivery.invisible',
    what: 'longest time a finished sentence stays unseen, against the edit interval',
    unit: '× as long',
    bound: { atMost: 1.2 },
    measure: async () =>
      Math.max(...(await watchRecordedReplies('ours')).map(({ invisibleMs }) => invisibleMs)) / intervalMs,
  },
  {
    id: 'delivery.calls',
    what: 'posts and edits of the answers, against Chat SDK',
    unit: '× as many',
    bound: { atMost: 1 },
    measure: async () => {
      const [ours, theirs] = await Promise.all([watchRecordedReplies('ours'), watchRecordedReplies('peer')])
      return sum(ours.map(({ writes }) => writes)) / sum(theirs.map(({ writes }) => writes))
    },
  },
  {
    id: 'render.100k',
    what: 'splitting 100 KB of uncached Markdown and rendering it as Telegram HTML, against 10 KB',
    unit: '× as long',
    // Ten times the text. The texts in the caches make garbage collection more expensive, by up to as much again.
    bound: { atMost: 20 },
    measure: (effort) => {
      let round = 0
      const first = (): void => splitAndRender(markdownOf(10_000, round++))
      return race(first, () => splitAndRender(markdownOf(100_000, round++)), effort, 11)
    },
  },
  {
    id: 'render.tail',
    what: 'closing and rendering a 10 KB tail that grew by a word (median)',
    unit: 'ms',
    bound: { atMost: 2 },
    measure: () => {
      const text = markdownOf(10_000, 0)
      return medianMs(60, (round) => void renderHtml(closeMarkdown(`${text} and ${round}`)))
    },
  },
]

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** Returns the median time of `rounds` runs, in ms. 25 runs before warm up, with negative numbers. */
function medianMs(rounds: number, run: (round: number) => void): number {
  const times: number[] = []
  // The first ones warm up.
  for (let round = -25; round < rounds; round++) {
    const start = performance.now()
    run(round)
    if (round >= 0) times.push(performance.now() - start)
  }
  return median(times)
}

/** Splits Markdown into messages of Telegram's length, and renders each as HTML. */
function splitAndRender(source: string): void {
  const measure = (text: string): number => renderHtml(text).length
  for (const slice of split(source, { maxLength: 4096, measure })) renderHtml(slice.source)
}

const blocks = [
  '## What was found in part N',
  'The **cart** takes the `discount` off *after* the tax: see [the page](https://example.com/N), line N. It was meant the other way round.',
  '- first this, N times\n- then that\n  - and below it `code N`',
  '```ts\nexport const total = (items: readonly Item[]): number =>\n  items.reduce((sum, { price }) => sum + price * N, 0)\n```',
  '> A quotation of part N, which goes on for a while and says little.',
  '| what | was | is |\n| --- | --- | --- |\n| total | N | 120 |',
]

/** Returns Markdown like a model's, of at least `units` UTF-16 units, different in each round. */
function markdownOf(units: number, round: number): string {
  const parts: string[] = []
  for (let length = 0, index = 0; length < units; index++) {
    const block = (blocks[index % blocks.length] ?? '').replaceAll('N', `${index + round * 1000}`)
    parts.push(block)
    length += block.length + 2
  }
  return parts.join('\n\n')
}

const scripts = ['fast', 'channels'].map((name) => fileURLToPath(new URL(`../delivery/${name}.js`, import.meta.url)))

/**
 * Shows the hard replies in a process of its own, whose clock is sped up, and resolves with what people saw. Rejects if
 * the process fails.
 */
function watchChannels(): Promise<readonly ChannelRow[]> {
  const [fast = '', channels = ''] = scripts
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ['--import', fast, channels, '--json'], { maxBuffer: 1e8 }, (error, stdout) =>
      // Slack's client logs its waits to the same stream, so only the last line is read.
      error ? reject(error) : resolve(JSON.parse(stdout.slice(stdout.lastIndexOf('\n') + 1))),
    )
  })
}

/** `npm run bench:channels` shows each reply, with Chat SDK for comparison. */
export const channelGoals: readonly Goal[] = [
  {
    id: 'channels.missing',
    what: 'letters missing or duplicated in Slack, Discord and WhatsApp chats after five hard replies',
    unit: 'letters',
    bound: { atMost: 0 },
    measure: async () => {
      const rows = await watchChannels()
      if (rows.length !== 15) throw new Error(`Only ${rows.length} of 15 replies were shown.`)
      return rows.reduce((sum, { ours }) => sum + ours.missing + ours.doubled, 0)
    },
  },
]

/** One chat of a bot, and ten whose texts grow at the same time. */
const crowds = [1, 10]

/** `node packages/bench/dist/delivery/pace-table.js` shows the times, and those of platforms without edits. */
export const paceGoals: readonly Goal[] = pacedPlatforms
  .filter(({ edits }) => edits)
  .flatMap((platform): readonly Goal[] => [
    {
      id: `pace.${platform.id}.freeze`,
      what: `${platform.name}: longest time growing text stands still, with one chat or ten, against what the platform's budget allows`,
      unit: '× as long',
      bound: { atMost: 1.3 },
      measure: async () => await worstCrowd(platform, ({ freezeMs, budgetMs }) => freezeMs / budgetMs),
    },
    {
      id: `pace.${platform.id}.late`,
      what: `${platform.name}: mean time that text stays unseen, against the same`,
      unit: '× as long',
      bound: { atMost: 0.75 },
      measure: async () => await worstCrowd(platform, ({ lateMs, budgetMs }) => lateMs / budgetMs),
    },
  ])

type Paced = Awaited<ReturnType<typeof measurePace>>

/** Resolves with the larger ratio of one chat and of ten. */
async function worstCrowd(platform: PacedPlatform, ratio: (paced: Paced) => number): Promise<number> {
  const all: number[] = []
  for (const chats of crowds) all.push(ratio(await measurePace(platform, chats)))
  return Math.max(...all)
}
