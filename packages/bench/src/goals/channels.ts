import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Goal } from '../goal.ts'

/** Of what `delivery/channels.ts` prints. */
interface Row {
  readonly platform: string
  readonly ours: { readonly missing: number; readonly doubled: number }
}

const places = ['fast', 'channels'].map((name) => fileURLToPath(new URL(`../delivery/${name}.js`, import.meta.url)))

let rows: Promise<readonly Row[]> | undefined

/** In a process of its own, whose time goes faster; once for all of them. */
function shown(): Promise<readonly Row[]> {
  const [fast = '', channels = ''] = places
  rows ??= new Promise((resolve, reject) => {
    execFile(process.execPath, ['--import', fast, channels, '--json'], { maxBuffer: 1e8 }, (error, stdout) =>
      error ? reject(error) : resolve(JSON.parse(stdout)),
    )
  })
  return rows
}

/** Five replies that are hard to show; `npm run bench:channels` shows Chat SDK beside us. */
export const channelGoals: readonly Goal[] = ['Slack', 'Discord', 'WhatsApp'].map((platform) => ({
  id: `channels.${platform.toLowerCase()}`,
  what: `letters of five hard replies that a chat on ${platform} lacks at the end, or shows twice`,
  unit: 'letters',
  bound: { atMost: 0 },
  measure: async () => {
    const ours = (await shown()).filter((row) => row.platform === platform).map((row) => row.ours)
    return ours.reduce((sum, { missing, doubled }) => sum + missing + doubled, 0)
  },
}))
