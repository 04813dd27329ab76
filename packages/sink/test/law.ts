import { alwaysOffer, askDetails, askTitle, escapeDeceptive, type PermissionAsk, type Reply } from '@reply/core'
import { seededRandom } from '@reply/testing/internal'
import { expect, test } from 'vitest'
import type { FakeFault, FakeOptions } from '../src/testing/fake-options.ts'
import { literal } from '../src/view/format.ts'
import { permits, replyWith } from './make.ts'
import { createScene, fileTextOf, type Scene } from './scene.ts'

const pieces = [
  ...['echo "a"', '```', 'X=1 [[ -v a ]]', '\t# comment', '`id`', '> /etc/x', 'y'.repeat(150), '**b**', '~~~'],
  ...['-- gone', '++ come', '@@ -1 +1 @@', 'a\u202eb\u200b', '| a | b |', '<!-- c -->', '[d](e)'],
]
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

interface Chance {
  below(most: number): number
  is(part: number): boolean
  /** Up to that many lines. */
  text(most: number): string
}

function chanceOf(seed: number): Chance {
  const random = seededRandom(seed)
  const below = (most: number): number => Math.floor(random() * most)
  const text = (most: number): string =>
    Array.from({ length: 1 + below(most) }, () => pieces[below(pieces.length)]).join('\n')
  return { below, is: (part) => random() < part, text }
}

/** What the server reports of an edit: nothing, a diff of all lines, of some of them, or of others. */
function metadataOf(chance: Chance, before: string, after: string): Readonly<Record<string, unknown>> {
  const signed = (sign: string, text: string): readonly string[] =>
    text.split('\n').flatMap((line) => (chance.is(0.9) ? [`${sign}${line}`] : []))
  const more = chance.is(0.3) ? [`+${chance.text(1)}`] : []
  const diff = ['@@ -1 +1 @@', ...signed('-', before), ...signed('+', after), ...more].join('\n')
  return {
    ...(chance.is(0.6) && { diff }),
    ...(chance.is(0.3) && { filediff: { before, after, additions: 1 } }),
    ...(chance.is(0.3) && { note: { deep: [chance.text(3), true] } }),
  }
}

function askOf(chance: Chance): PermissionAsk {
  const always = chance.is(0.5) ? [chance.is(0.7) ? `touch ${chance.text(2)} *` : chance.text(2)] : []
  const of = (tool: string, input: Readonly<Record<string, unknown>>, metadata = {}): PermissionAsk =>
    permits({ permission: tool, title: `${tool}: …`, always, metadata, call: { tool, input } })
  const [one, other] = [chance.text(40), chance.text(40)]
  const filePath = `a/${chance.text(1)}.ts`
  switch (chance.below(6)) {
    case 0:
      return of('bash', { command: one, description: chance.text(1) }, chance.is(0.3) ? { command: other } : {})
    case 1:
      return of(
        'edit',
        { filePath, oldString: one, newString: other, replaceAll: true },
        metadataOf(chance, one, other),
      )
    case 2:
      return of('write', { filePath, content: one }, metadataOf(chance, '', one))
    case 3:
      return of(
        'multiedit',
        { filePath, edits: [{ oldString: one, newString: other }] },
        metadataOf(chance, one, other),
      )
    case 4:
      return of('other', { [chance.text(1)]: { list: [one, 7, { other }] } }, metadataOf(chance, one, ''))
    default:
      return { ...of('bash', {}), patterns: [one], call: undefined }
  }
}

async function play(seed: number): Promise<{ readonly wrong: readonly string[]; readonly allowed: number }> {
  const chance = chanceOf(seed)
  const { below, is } = chance
  const faults = Array.from(
    { length: below(5) },
    (): FakeFault => ({ call: 1 + below(10), type: types[below(types.length)] ?? 'done' }),
  )
  const lacks: FakeOptions['lacks'] = [...(is(0.3) ? ['upload' as const] : []), ...(is(0.3) ? ['edit' as const] : [])]
  const limits = { maxLength: 400 + below(2000), ...(is(0.3) && { buttons: undefined }) }
  const scene = createScene({ fake: { faults, lacks, limits }, sink: { chat: { id: 'chat', kind: 'private' } } })
  const wrong: string[] = []
  let allowed = 0
  let ask = askOf(chance)
  const show = (): void => scene.show(replyOf(ask))
  show()
  for (let step = 0; step < 45; step++) {
    if (step > 0 && step % 15 === 0) {
      ask = askOf(chance)
      show()
    }
    if (is(0.03)) scene.restart()
    if (is(0.05)) show()
    await scene.pass(500)
    if (is(0.5)) continue
    const given = await allowedIn(scene)
    allowed += given.length
    const isNarrow = alwaysOffer(ask).type === 'offered'
    wrong.push(...given.filter((how) => how.endsWith(' always') && !isNarrow).map((how) => `by ${how}, too wide`))
    for (const how of given) wrong.push(...unreadIn(scene, ask).map((what) => `by ${how}, without ${what}`))
  }
  await scene.sink().stop()
  return { wrong, allowed }
}

function replyOf(ask: PermissionAsk): Reply {
  return replyWith([], { phase: 'blocked', asks: [ask] })
}

/** How it can be allowed now: by all buttons ever shown, and by text. */
async function allowedIn(scene: Scene): Promise<readonly string[]> {
  const { posted } = scene.fake
  const tokens = [...new Set(posted.flatMap(({ buttons }) => buttons.flat()).map(({ data }) => data))]
  const inputs = [
    ...tokens.flatMap((token) => posted.map(({ id }) => ({ token, messageRef: { id } }))),
    ...['1', 'always'].map((text) => ({ text, messageRef: { id: 'typed', postedAt: scene.clock.now() } })),
    ...posted.map(({ id }) => ({ text: '1', replyTo: { id } })),
  ]
  const allowed: string[] = []
  for (const input of inputs) {
    const taken = await scene.sink().readAnswer(input)
    if (taken?.type === 'answer') allowed.push(`${JSON.stringify(input)} ${taken.answer.toString()}`)
    taken?.undo()
  }
  return allowed
}

/** Which part of it is not on the screen: its title, its details, all of its input, and what "always" covers. */
function unreadIn(scene: Scene, ask: PermissionAsk): readonly string[] {
  const texts = scene.fake.posted.map(({ text }) => text)
  // A message whose post was not confirmed may be there twice.
  const once = texts.filter((text, at) => text !== texts[at - 1])
  const files = compact(scene.fake.posted.map(fileTextOf).join('\n'))
  const details = askDetails(ask)
  if (!details) return ['its input']
  const codes = [compact(codeIn(texts)), compact(codeIn(once)), files]
  const unread = details.filter(({ text }) => !codes.some((code) => code.includes(compact(text))))
  const title = askTitle(ask)
  const isTitled = texts.some((text) => text.includes(literal(title)))
  const command = alwaysOffer(ask).type === 'offered' ? ask.call?.input.command : undefined
  const always = alwaysOffer(ask).type === 'offered' ? ask.always.filter((pattern) => pattern !== command) : []
  const shown = compact(texts.join('\n'))
  const lines = [...leavesOf(ask.call?.input), ...leavesOf(ask.metadata.note)].flatMap((leaf) => leaf.split('\n'))
  const missing = lines.filter(
    (line) => !compact([title, ...codes].join('\n')).includes(compact(escapeDeceptive(line))),
  )
  return [
    ...(isTitled ? [] : [title]),
    ...unread.map(({ label, text }) => `${label}: ${text}`),
    ...always.filter((pattern) => ![shown, ...codes].some((one) => one.includes(compact(escapeDeceptive(pattern))))),
    ...missing,
  ]
}

/** The code blocks of the messages, without their headings: one that continues in another message is whole here. */
function codeIn(texts: readonly string[]): string {
  const found = texts.join('\n').matchAll(/^(`{3,})[^\n]*\n([\s\S]*?)\n\1(?!`)/gm)
  return [...found].map(([, , code]) => code).join('')
}

function leavesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : []
}

function compact(text: string): string {
  return text.replace(/\s+/g, '')
}

/** Random asks and faults, one plan per seed: nothing can be allowed that is not on the screen. */
export function checkLaw({ first, count }: { readonly first: number; readonly count: number }): void {
  test(`nothing can be allowed that is not on the screen, whatever fails (${count} seeds from ${first} on)`, {
    timeout: 900_000,
  }, async () => {
    const failures: string[] = []
    let allowed = 0
    for (let seed = first; seed < first + count; seed++) {
      const played = await play(seed)
      allowed += played.allowed
      failures.push(...played.wrong.slice(0, 1).map((one) => `seed ${seed}: ${one}`))
    }
    expect(failures).toEqual([])
    // A sink that allows nothing would also satisfy the law.
    expect(allowed).toBeGreaterThan(6 * count)
  })
}
