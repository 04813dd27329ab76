import type { PermissionAsk, Reply } from '@reply/core'
import { randomBy } from '@reply/testing'
import { expect, test } from 'vitest'
import type { FakeFault, FakeOptions } from '../src/index.ts'
import { permits, replyWith } from './make.ts'
import { createScene, type Scene } from './scene.ts'

const pieces = ['echo "a"', '```', 'X=1 [[ -v a ]]', '\t# comment', '`id`', '> /etc/x', 'y'.repeat(150), '**b**', '~~~']
const types = [
  'ambiguous',
  'done',
  'deleted',
  'refused',
  'unreachable',
  'too-long',
  'unparsable',
  'rate-limited',
] as const

/** The code blocks of the messages, one after another, without white space. */
function codeOf(text: string): string {
  const blocks = text.matchAll(/\*\*Command(?: \\\(.*?\\\))?\*\*\n(`{3,})bash\n([\s\S]*?)\n\1(?!`)/g)
  return compact([...blocks].map(([, , code]) => code).join(''))
}

function compact(text: string): string {
  return text.replace(/\s+/g, '')
}

async function play(seed: number): Promise<readonly string[]> {
  const random = randomBy(seed)
  const below = (most: number): number => Math.floor(random() * most)
  const commandOf = (): string => Array.from({ length: 1 + below(40) }, () => pieces[below(pieces.length)]).join('\n')
  const faults = Array.from(
    { length: below(5) },
    (): FakeFault => ({ call: 1 + below(10), type: types[below(types.length)] ?? 'done' }),
  )
  const lacks: FakeOptions['lacks'] = [
    ...(random() < 0.3 ? ['upload' as const] : []),
    ...(random() < 0.3 ? ['edit' as const] : []),
  ]
  const limits = { maxLength: 400 + below(2000) }
  const scene = createScene({ fake: { faults, lacks, limits }, sink: { chat: { id: 'chat', kind: 'private' } } })
  const wrong: string[] = []
  let ask: PermissionAsk | undefined
  for (let step = 0; step < 60; step++) {
    if (step % 20 === 0) {
      const command = commandOf()
      ask = permits({ call: random() < 0.2 ? undefined : { tool: 'bash', input: { command } } })
      const reply: Reply = replyWith([], { phase: 'blocked', asks: [ask] })
      scene.show(reply)
    }
    if (random() < 0.03) scene.restart()
    if (ask && random() < 0.05) scene.show(replyWith([], { phase: 'blocked', asks: [ask] }))
    await scene.pass(500)
    if (ask) wrong.push(...(await broken(scene, ask)))
  }
  await scene.sink().stop()
  return wrong
}

/** Whatever can be allowed by a button or by words is on the screen, unless a person took it away. */
async function broken(scene: Scene, ask: PermissionAsk): Promise<readonly string[]> {
  const screen = scene.fake.posted
  const tokens = screen.flatMap(({ buttons }) => buttons.flat()).filter(({ label }) => label === 'Allow once')
  const given = []
  for (const { data } of tokens) given.push(await scene.sink().take({ token: data }))
  const allowed = given.filter((one) => one?.type === 'answer')
  for (const one of allowed) one?.undo()
  if (allowed.length === 0) return []
  const { command } = ask.call?.input ?? {}
  const seen =
    codeOf(screen.map(({ text }) => text).join('\n')) + compact(screen.map(({ file }) => file?.text ?? '').join(''))
  return typeof command === 'string' && seen.includes(compact(command)) ? [] : [`allowed unseen: ${String(command)}`]
}

test('nothing can be allowed that is not on the screen, whatever fails', async () => {
  const failures: string[] = []
  for (let seed = 1; seed <= 60; seed++)
    failures.push(...(await play(seed)).slice(0, 1).map((one) => `seed ${seed}: ${one}`))
  expect(failures).toEqual([])
})
