import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Goal } from '../goal.ts'

/** Of what `delivery/channels.ts` prints. */
interface Row {
  readonly ours: { readonly missing: number; readonly doubled: number }
}

const places = ['fast', 'channels'].map((name) => fileURLToPath(new URL(`../delivery/${name}.js`, import.meta.url)))

/** In a process of its own, whose time goes faster. */
function shown(): Promise<readonly Row[]> {
  const [fast = '', channels = ''] = places
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ['--import', fast, channels, '--json'], { maxBuffer: 1e8 }, (error, stdout) =>
      // Slack's client says on the same stream what it waits for.
      error ? reject(error) : resolve(JSON.parse(stdout.slice(stdout.lastIndexOf('\n') + 1))),
    )
  })
}

/** `npm run bench:channels` shows them one by one, and Chat SDK beside us. */
export const channelGoals: readonly Goal[] = [
  {
    id: 'channels.missing',
    what: 'letters of five hard replies that chats on Slack, Discord and WhatsApp lack at the end, or show twice',
    unit: 'letters',
    bound: { atMost: 0 },
    measure: async () => {
      const rows = await shown()
      if (rows.length !== 15) throw new Error(`Of 15 replies ${rows.length} were shown.`)
      return rows.reduce((sum, { ours }) => sum + ours.missing + ours.doubled, 0)
    },
  },
]
