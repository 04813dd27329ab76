import { madeCases } from './cases.ts'
import { discord } from './discord.ts'
import { factor } from './fast.ts'
import { slack } from './slack.ts'
import { type Watched, watchDelivery } from './watch.ts'
import { whatsapp } from './whatsapp.ts'

/**
 * `node --import ./fast.js channels.js [--json]`: what a person gets of five replies that are hard to show, on three platforms, by our sinks and by
 * Chat SDK, each at a fake platform of its own. All are shown at once, in time that goes faster.
 */
export interface Row {
  readonly platform: string
  readonly name: string
  readonly ours: Watched
  readonly peer: Watched
}

const rows = await Promise.all(
  [slack, discord, whatsapp].flatMap((platform) =>
    madeCases().map(async ({ name, ...made }): Promise<Row> => {
      const [ours, peer] = await Promise.all([
        watchDelivery({ platform, side: 'ours', ...made }),
        watchDelivery({ platform, side: 'peer', ...made }),
      ])
      return { platform: platform.name, name, ours, peer }
    }),
  ),
)
process.stdout.write(process.argv.includes('--json') ? JSON.stringify(rows) : table())
process.exit(0)

function table(): string {
  const head =
    '| | | missing | twice | longest unseen | after the end | 429s | messages that rang |\n|---|---|---|---|---|---|---|---|'
  const lines = rows.map(({ platform, name, ours, peer }) => {
    const both = (tell: (one: Watched) => string): string => `${tell(ours)} / ${tell(peer)}`
    const cells = [
      both(({ missing }) => String(missing)),
      both(({ doubled }) => String(doubled)),
      both(({ invisibleMs }) => seconds(invisibleMs)),
      both(({ finalMs }) => seconds(finalMs ?? Number.POSITIVE_INFINITY)),
      both(({ rateLimited }) => String(rateLimited)),
      both(({ notifications }) => String(notifications)),
    ]
    return `| ${platform} | ${name} | ${cells.join(' | ')} |`
  })
  return `${[head, ...lines].join('\n')}\n\nOurs / Chat SDK 4.41. Letters, and times at the replies' own pace; measured ${factor} times as fast.\n`
}

function seconds(ms: number | null): string {
  return ms !== null && Number.isFinite(ms) ? `${(ms / 1000).toFixed(1)} s` : 'never'
}
