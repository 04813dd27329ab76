import { allPaces, type Paced } from './pace.ts'

/** `node pace-table.js`: how steadily growing text appears on each platform, beside its own budget. */
const seconds = (ms: number): string => (Number.isFinite(ms) ? `${(ms / 1000).toFixed(1)} s` : 'never')

const rows = (await allPaces()).map((paced: Paced) => {
  const { platform, chats, budgetMs, freezeMs, lateMs, finalMs, rateLimited } = paced
  const times = [budgetMs, freezeMs, lateMs, finalMs].map(seconds)
  return `| ${[platform, chats, ...times, rateLimited].join(' | ')} |`
})
const head =
  '| | chats | the budget allows | longest freeze | mean lateness | end to whole text | 429s |\n|---|---|---|---|---|---|---|'
process.stdout.write(`${[head, ...rows].join('\n')}\n`)
process.exit(0)
