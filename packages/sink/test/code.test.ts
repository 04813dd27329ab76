import { describe, expect, test } from 'vitest'
import { emptyLedger, type Ledger } from '../src/ledger/ledger.ts'
import { codeBlocksIn } from '../src/markdown/code-blocks.ts'
import { PortError } from '../src/port/port-error.ts'
import { fakeLimits } from '../src/testing/fake-options.ts'
import type { Mode } from '../src/view/view.ts'
import { failedEntry, shownEntry } from './entries.ts'
import { replyWith, saidIn, settledWith, text, viewOf } from './make.ts'
import { createScene, type Scene } from './scene.ts'

const lines = 'print(1)\n'.repeat(600)
const said = `Look:\n\n\`\`\`rust\n${lines}\`\`\`\n\nThat is it.`
const caption = '📄 code-1.rs, 600 lines'
const key = 'answer/code-1.rs'
const posted: Ledger = { ...emptyLedger, entries: [shownEntry(key, { type: 'file' })] }
const refused: Ledger = { ...emptyLedger, entries: [failedEntry(key, { type: 'file' })] }
const part = (whole: string, status: 'open' | 'sealed' = 'sealed') => ({ ...text(whole, { status }), id: 'prt_a' })
const textsOf = ({ fake }: Scene) => fake.screen().map((message) => message.text)

describe('overlong code', () => {
  const cardsOf = (mode: Mode, ledger = emptyLedger, reply = settledWith([text(said)])) =>
    viewOf(reply, { uploads: true, mode, ledger }).cards
  const answerOf = (...given: Parameters<typeof cardsOf>) =>
    cardsOf(...given).find(({ type }) => type === 'answer')?.source

  test('is posted as a file below the words that announce it, once it is complete', () => {
    expect(cardsOf('live').map(({ type }) => type)).toEqual(['answer', 'file'])
    expect(cardsOf('live')[1]).toMatchObject({ key, file: { name: 'code-1.rs', text: lines, caption } })
    expect(cardsOf('live', emptyLedger, replyWith([text(said, { status: 'open' })])).map(({ type }) => type)).toEqual([
      'answer',
      'status',
    ])
  })

  test('stays until the file is there: its beginning while it grows, else all of it', () => {
    const beginning = `Look:\n\n\`\`\`rust\n${lines.slice(0, 4000)}\n\`\`\`\n\n*… 600 lines: all of them follow in code-1.rs*`
    expect(answerOf('live', emptyLedger, replyWith([text(said, { status: 'open' })]))).toBe(
      `${beginning}\n\nThat is it.`,
    )
    expect(answerOf('live')).toBe(`${beginning}\n\nThat is it.`)
    expect(answerOf('final')).toBe('Look:\n\n')
    expect([answerOf('live', posted), answerOf('final', posted)]).toEqual([
      `Look:\n\n*${caption}*\n\nThat is it.`,
      `Look:\n\n*${caption}*\n\nThat is it.`,
    ])
  })

  test.each<Mode>(['live', 'final', 'sealed'])('is text if its file was refused, in mode %s', (mode) => {
    expect(cardsOf(mode, refused).map(({ type, source }) => [type, source])).toEqual([['answer', said]])
  })

  test('is text where the port takes no files, where text is appended, and if it is short', () => {
    expect(viewOf(settledWith([text(said)])).cards).toMatchObject([{ source: said }])
    expect(answerOf('append')).toBe(said)
    expect(answerOf('live', emptyLedger, settledWith([text('```\na\n```')]))).toBe('```\na\n```')
  })

  test('is a file at once where complete parts are posted, and stays text if some of it was posted', () => {
    const open = replyWith([part(said), text('Next', { status: 'open' })])
    expect(cardsOf('sealed', emptyLedger, open).map(({ type }) => type)).toEqual(['answer', 'file'])
    const piece = { from: 0, to: 100, upTo: '' }
    const entries = [shownEntry('answer#0', { card: 'answer', piece })]
    expect(cardsOf('sealed', { ...emptyLedger, entries }, open).map(({ type }) => type)).toEqual(['answer'])
  })

  test.each(['ambiguous', 'done'] as const)('stays text if the posts of its file had no result: %s', async (type) => {
    const scene = createScene({
      fake: { limits: { maxLength: 10_000 }, faults: [2, 4].map((call) => ({ call, type })), lookUp: 'probe' },
    })
    scene.show(settledWith([text(said)]))
    expect(await scene.end()).toMatchObject({ doubtful: 2, undelivered: [] })
    const shown = scene.fake.screen().flatMap(({ text, files: [file] }) => (file ? [] : [text]))
    expect(shown.join('\n').match(/print\(1\)/g)).toHaveLength(600)
    expect(shown.join('\n')).not.toContain(caption)
  })

  test('never leaves a screen that shows it before the file is there', async () => {
    const scene = createScene({ fake: { limits: { maxLength: 4096 } } })
    const seen: string[][] = []
    for (const length of [2000, 3900, 4300, 5000, said.length]) {
      scene.show(replyWith([part(said.slice(0, length), 'open')]))
      await scene.pass(3000)
      seen.push(textsOf(scene))
    }
    scene.show(settledWith([part(said)]))
    for (let step = 0; step < 40; step++) {
      await scene.pass(50)
      seen.push(textsOf(scene))
    }
    await scene.end()
    const shownOf = (screen: readonly string[]): number => screen.join('').match(/print/g)?.length ?? 0
    const withFile = seen.findIndex((screen) => screen.includes(caption))
    expect(withFile).toBeGreaterThan(4)
    const before = seen.slice(0, withFile).map(shownOf)
    expect(before).toEqual(before.toSorted((a, b) => a - b))
    expect(textsOf(scene)).toEqual([`Look:\n\n*${caption}*\n\nThat is it.`, caption])
  })

  test.each([
    ['with edits', {}],
    ['without', { edits: false }],
  ])('is shown whole if the upload is refused, and nothing is missing: %s', async (_, limits) => {
    const { fake, clock } = createScene({ fake: { limits: { ...fakeLimits, maxLength: 4096, ...limits } } })
    const upload = async () => {
      throw new PortError('refused', 'No files here.')
    }
    const scene = createScene({ clock, sink: { port: { ...fake.port, upload } } })
    scene.show(settledWith([part(said)]))
    const delivery = await scene.end()
    expect(
      fake
        .screen()
        .map((message) => message.text)
        .join('\n')
        .match(/print/g),
    ).toHaveLength(600)
    expect(delivery.undelivered).toEqual([])
    expect(scene.errors).toHaveLength(1)
  })

  test.each([true, false])(
    'without edits stands between the words around it, if posts can be silent: %s',
    async (silent) => {
      const limits = { maxLength: 4096, edits: false, silent }
      const scene = createScene({ fake: { limits, lacks: ['edit', 'remove'] } })
      const second = said.replaceAll('Look', 'And look').replaceAll('print(1)', 'print(2)')
      scene.show(replyWith([part(`${said}\n\n${second}`), text('Next', { status: 'open' })]))
      await scene.pass(30_000)
      scene.show(settledWith([part(`${said}\n\n${second}`), text('Next.')]))
      expect(await scene.end()).toMatchObject({ undelivered: [], doubtful: 0 })
      const named = (name: string) => (silent ? `*📄 ${name}, 600 lines*\n\n` : '')
      expect(scene.fake.screen().map(({ text, files: [file] }) => file?.name ?? text)).toEqual([
        'Look:',
        'code-1.rs',
        `${named('code-1.rs')}That is it.\n\nAnd look:`,
        'code-2.rs',
        `${named('code-2.rs')}That is it.`,
        'Next.',
      ])
    },
  )

  test('leaves the last message of the answer to notify', async () => {
    const scene = createScene({ fake: { limits: { maxLength: 4096 } }, sink: { replyTo: { id: 'asked' } } })
    scene.show(settledWith([part(said)]))
    await scene.end()
    expect(scene.fake.screen().map(({ isSilent, files: [file] }) => [isSilent, file?.name])).toEqual([
      [false, undefined],
      [true, 'code-1.rs'],
    ])
  })
})

describe('a block of code', () => {
  const blocksIn = (source: string) =>
    codeBlocksIn(source).map(({ language, code, isClosed }) => [language, code, isClosed])

  test.each<[string, string, readonly unknown[]]>([
    ['with a fence of tildes', '~~~py x=1\na\n~~~\nb', [['py', 'a', true]]],
    ['that is empty', '```\n```', [['', '', true]]],
    ['that is not closed', 'a\n\n```ts\nb', [['ts', 'b', false]]],
    ['in a list stays there', '- a\n  ```\n  b\n  ```\n', []],
    ['that is indented without fences', 'a\n\n    b\n', []],
    ['with a longer fence inside a shorter', '````\n```\na\n```\n````', [['', '```\na\n```', true]]],
    ['in a text with carriage returns', '```\r\na\r\n```', []],
  ])('%s', (_, source, blocks) => {
    expect(blocksIn(source)).toEqual(blocks)
  })

  test('ends at an indented fence, with text behind it', () => {
    const source = `\`\`\`ts\n${'a\n'.repeat(600)}   \`\`\`\n\nText with \`code\`.\n\n\`\`\`sh\nb\n\`\`\`\n`
    expect(blocksIn(source)).toEqual([
      ['ts', 'a\n'.repeat(600).trimEnd(), true],
      ['sh', 'b', true],
    ])
    const view = viewOf(settledWith([text(source)]), {
      uploads: true,
      policy: { documentLength: 500 },
      ledger: { ...emptyLedger, entries: [shownEntry('answer/code-1.ts', { type: 'file' })] },
    })
    expect(saidIn(view, 'answer')).toEqual(['*📄 code-1.ts, 600 lines*\n\nText with `code`.\n\n```sh\nb\n```\n'])
  })

  test('is where it stands in the text', () => {
    const source = 'One.\n\n  ```ts\n  a\n  ```\n\nTwo.'
    expect(codeBlocksIn(source).map(({ start, end }) => source.slice(start, end))).toEqual(['  ```ts\n  a\n  ```'])
  })
})
