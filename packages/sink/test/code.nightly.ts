import { seededRandom } from '@reply/testing/internal'
import { expect, test } from 'vitest'
import { replyWith, settledWith, text } from './make.ts'
import { planBySeed, type Shown, showUnder } from './once.ts'
import { fileTextOf } from './scene.ts'
import type { Timeline } from './timeline.ts'

const first = 1
const count = 1500

const linesOf = (name: string): readonly string[] => Array.from({ length: 60 }, (_, at) => `${name}${at} = ${at};`)
const lines = [...linesOf('alpha'), ...linesOf('beta')]
const said = [
  'Intro.',
  `\`\`\`ts\n${lines.slice(0, 60).join('\n')}\n   \`\`\``,
  'Middle.',
  `~~~py\n${lines.slice(60).join('\n')}\n~~~`,
  'End.',
].join('\n\n')

/** The text grows in steps of random length, and a part ends at a random place. */
function timelineBy(seed: number): Timeline {
  const random = seededRandom(seed)
  const states: Timeline['states'][number][] = []
  let [length, atMs] = [0, 0]
  while (length < said.length) {
    length = Math.min(said.length, length + 1 + Math.floor(random() * 400))
    atMs += Math.floor(random() * 1500)
    const part = { ...text(said.slice(0, length), { status: 'open' }), id: 'prt_a' }
    states.push({ atMs, reply: replyWith([part]) })
  }
  states.push({ atMs: atMs + 500, reply: settledWith([{ ...text(said), id: 'prt_a' }]) })
  return { name: `code ${seed}`, states }
}

function missingIn({ fake, delivery }: Shown): readonly string[] {
  if (delivery.undelivered.length > 0 || delivery.doubtful > 0) return []
  const screen = fake.screen().map((message) => `${message.text}\n${fileTextOf(message)}`)
  const shown = screen.join('\n')
  return ['Intro.', 'Middle.', 'End.', ...lines].filter((line) => !shown.includes(line))
}

test(`${count} random plans from seed ${first} on show all code, in text or in files`, {
  timeout: 600_000,
}, async () => {
  const failures: string[] = []
  let files = 0
  for (let seed = first; seed < first + count && failures.length < 10; seed++) {
    const plan = planBySeed(seed)
    const faults = plan.faults.filter(({ type }) => type !== 'deleted')
    const shown = await showUnder(timelineBy(seed), {
      ...{ ...plan, faults },
      policy: { ...plan.policy, documentLength: 500 },
    })
    files += shown.fake.screen().filter(({ files: [file] }) => file !== undefined).length
    const missing = missingIn(shown)
    if (missing.length > 0) failures.push(`seed ${seed}: ${missing.length} lines, such as ${missing[0]}`)
  }
  expect(failures).toEqual([])
  expect(files).toBeGreaterThan(count / 4)
})
