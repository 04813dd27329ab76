import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Goal } from '../goal.ts'

/** A row that `delivery/channels.ts` prints. */
interface Row {
  readonly ours: { readonly missing: number; readonly doubled: number }
}

const places = ['fast', 'channels'].map((name) => fileURLToPath(new URL(`../delivery/${name}.js`, import.meta.url)))

/** Runs in its own process, whose clock is sped up. */
function shown(): Promise<readonly Row[]> {
  const [fast = '', channels = ''] = places
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
      const rows = await shown()
      if (rows.length !== 15) throw new Error(`Only ${rows.length} of 15 replies were shown.`)
      return rows.reduce((sum, { ours }) => sum + ours.missing + ours.doubled, 0)
    },
  },
]
