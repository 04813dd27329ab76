import fc from 'fast-check'
import { expect, test } from 'vitest'
import { consoleSink } from '../src/sink.ts'
import { childOf, permission, question, replyOf, START, settledOf, tell, text, tool } from './fixture/reply.ts'
import { setup } from './fixture/sink.ts'

test('finished blocks stay, the open one and the status are repainted, and the end removes them', async () => {
  const { terminal, show, sink } = setup()
  show(replyOf([text('a', 'One.\n\nTw', 'open')]))
  expect(await terminal.screen()).toEqual(['One.', '', 'Tw', '', '⠋ Writing · 0s'])
  show(replyOf([text('a', 'One.\n\nTwo, and **more**', 'open')]))
  show(settledOf([text('a', 'One.\n\nTwo, and **more**.')]))
  expect(await terminal.rows()).toEqual(['One.', '', 'Two, and more.', '', '✓ completed · 12s'])
  expect(await terminal.cursor()).toMatchObject({ x: 0, y: 5, hidden: false })
  expect(await sink.settled()).toMatchObject({ shown: 3, undelivered: [] })
})

test('the status line ticks without new events', async () => {
  const { terminal, show, clock } = setup()
  const usage = { ...replyOf([]).usage, contextTokens: 130_000, contextLimit: 200_000 }
  show(replyOf([tool('a', 'bash', { status: 'running', title: 'npm test' })], { usage }))
  clock.advance(12_000)
  expect((await terminal.screen()).at(-1)).toMatch(/^. bash: npm test · 12s · context 65%$/)
})

test('the status line counts down to the next try', async () => {
  const { terminal, show, clock } = setup()
  show(replyOf([], { phase: 'retrying', retry: { attempt: 2, message: 'Rate limited', nextAt: START + 15_000 } }))
  clock.advance(3_000)
  expect((await terminal.screen()).at(-1)).toMatch(/^. Rate limited: retrying in 12s \(attempt 2\) · 3s$/)
})

test('parallel calls keep their order, whichever ends first', async () => {
  const { terminal, show } = setup()
  show(replyOf([tool('a', 'slow', { status: 'running' }), tool('b', 'quick')]))
  show(settledOf([tool('a', 'slow'), tool('b', 'quick')]))
  expect((await terminal.rows()).slice(0, 2)).toEqual(['✓ slow 1.2s', '✓ quick 1.2s'])
})

test('the checklist stands above the status while the run lasts', async () => {
  const { terminal, show } = setup()
  const todos = Array.from({ length: 12 }, (_, index) => ({
    content: `Task ${index + 1}`,
    status: index < 6 ? 'completed' : index === 6 ? 'in_progress' : 'pending',
  }))
  show(replyOf([tool('t', 'todowrite')], { todos }))
  expect((await terminal.screen()).slice(0, -1)).toEqual([
    '  … 6 before',
    '[>] Task 7',
    '[ ] Task 8',
    '[ ] Task 9',
    '[ ] Task 10',
    '[ ] Task 11',
    '  … 1 more',
  ])
})

test('a question is answered from the keyboard', async () => {
  const { terminal, show, type, sent } = setup()
  const blocked = replyOf([tool('q', 'question', { status: 'running' })], {
    phase: 'blocked',
    asks: [question({ callID: 'call_q' })],
  })
  show(blocked)
  expect(await terminal.screen()).toEqual([
    '? Database',
    '  Which database?',
    '  1. Postgres — a server',
    '  2. SQLite — a file',
    '  3. Redis',
    '  or answer in your own words',
    '  type 1 to 3, or your own answer',
    '  › █',
    '? Waiting for an answer · 0s',
  ])
  await type('2')
  expect(await terminal.screen()).toContain('❯ 2. SQLite — a file')
  await type('\r')
  expect(sent).toEqual([['que_1', [['SQLite']]]])
  expect(await terminal.screen()).toContain('  sending your answer …')
  show(
    replyOf([tool('q', 'question')], {
      asks: [question({ callID: 'call_q', status: 'answered', answers: [['SQLite']] })],
    }),
  )
  expect((await terminal.screen()).at(0)).toBe('✓ Which database? → SQLite')
})

test('asks are answered one after another, a permission too, with a reason', async () => {
  const { show, type, sent } = setup()
  const asks = [permission({ status: 'pending' }), question()]
  show(replyOf([], { phase: 'blocked', asks }))
  await type('3 use yarn\r')
  show(replyOf([], { phase: 'blocked', asks: [permission({ status: 'rejected' }), question()] }))
  await type('MySQL\r')
  expect(sent).toEqual([
    ['per_1', 'reject', 'use yarn'],
    ['que_1', [['MySQL']]],
  ])
})

test("a sub-agent's ask names the sub-agent", async () => {
  const { terminal, show } = setup()
  const ask = permission({ sessionID: 'ses_c', path: ['ses_root', 'ses_c'] })
  const child = childOf('call_t', replyOf([], { sessionID: 'ses_c', asks: [ask] }))
  show(replyOf([tool('t', 'task', { status: 'running' })], { phase: 'blocked', asks: [ask], children: [child] }))
  expect(await terminal.screen()).toContain('! Allow this? bash · asked by general(Explore the code)')
})

test('a question taller than the screen scrolls away once, and the input stays', async () => {
  const { terminal, show, type } = setup([60, 8])
  const [first] = question().questions
  const options = Array.from({ length: 10 }, (_, index) => ({ label: `Option ${index + 1}`, description: '' }))
  const ask = question({ questions: first ? [{ ...first, options }] : [] })
  show(replyOf([], { phase: 'blocked', asks: [ask] }))
  await type('1')
  const rows = await terminal.rows()
  expect(rows.filter((row) => row.includes('Option 1')).length).toBe(2)
  expect(rows.slice(-4)).toEqual(['', '  type 1 to 10, or your own answer', '  › 1█', '? Waiting for an answer · 0s'])
})

test('two replies share the screen and the keyboard', async () => {
  const { terminal, show, type, sent, stdout, stdin, opencode, clock } = setup([60, 24])
  const other = consoleSink({ stdout, stdin, env: {}, clock, client: opencode })
  show(replyOf([text('a', 'First.')], { title: 'One' }))
  tell(other, replyOf([text('b', 'Second.')], { title: 'Two', asks: [permission()], phase: 'blocked' }))
  show(replyOf([text('a', 'First.')], { title: 'One', asks: [question()], phase: 'blocked' }))
  const screen = await terminal.screen()
  expect(screen.slice(0, 4)).toEqual(['First.', '', '── Two ──', 'Second.'])
  expect(screen).toContain('? Which database? (next in line)')
  await type('1\r')
  tell(other, settledOf([text('b', 'Second.')], { title: 'Two' }))
  await type('1\r')
  expect(sent).toEqual([
    ['per_1', 'once'],
    ['que_1', [['Postgres']]],
  ])
})

test('an answer that could not be sent can be typed again', async () => {
  const opencode = { answer: async () => Promise.reject(new Error('no\u001b[2J server')), reject: async () => {} }
  const { terminal, show, type } = setup([60, 16], { client: opencode })
  show(replyOf([], { phase: 'blocked', asks: [permission()] }))
  await type('1\r')
  expect(await terminal.screen()).toContain('  not sent: no server')
})

test('stop removes the tail and restores the cursor', async () => {
  const { terminal, show, sink, clock } = setup()
  show(replyOf([text('a', 'One.\n\nTw', 'open')]))
  await sink.stop()
  show(replyOf([text('a', 'One.\n\nTwo', 'open')]))
  expect(await terminal.rows()).toEqual(['One.'])
  expect((await terminal.cursor()).hidden).toBe(false)
  expect(clock.pending()).toBe(0)
})

test('a stream that fails is reported, not thrown', async () => {
  const { show, sink, stdout } = setup()
  show(replyOf([]))
  stdout.destroy(new Error('EPIPE'))
  await new Promise(setImmediate)
  show(settledOf([text('a', 'One.')]))
  expect((await sink.settled()).undelivered.map(({ reason }) => reason)).toEqual(['EPIPE', 'EPIPE'])
})

const pieces = fc.constantFrom(
  'a word ',
  'some **bold** text',
  '\n',
  '\n\n',
  '\n- item ',
  '\n\n# Title\n',
  '\n```ts\ncode line\n```\n',
  '日本語 ',
  '\n> quote ',
  '\n1. number ',
  '`code` ',
  '\u001b[2J',
  '\u009b31m',
  '\n    four\n',
  '[a](http://b) ',
)
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const ANSI = /\u001b\[(?:\?25[hl]|\?7[hl]|K|J|\d*A|[\d;]*m)/g

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/

/** The visible characters in order, without the space between them. */
const ink = (rows: readonly string[]) => rows.join('').replace(/[\s•◦│]/g, '')

const noise = fc.string({
  unit: fc.constantFrom(
    'a',
    '日',
    ' ',
    '\n',
    '\r',
    '\u001b',
    '[',
    ']',
    '0',
    ';',
    '31m',
    '\u0007',
    '\u009b',
    '\u009d',
    '\b',
  ),
})

test('the terminal obeys only the sink, whatever a model, a tool or a server writes', async () => {
  await fc.assert(
    fc.asyncProperty(noise, noise, async (one, two) => {
      const { terminal, show } = setup([50, 40])
      const asks = [
        permission({ permission: one, title: two, patterns: [one], always: [two], metadata: { diff: `@@\n+${one}` } }),
        question({ status: 'answered', answers: [[one, two]], callID: 'call_q' }),
      ]
      const failed = settledOf([tool('k', one)], {
        sessionID: 'ses_c',
        outcome: 'failed',
        error: { name: one, message: two, raw: 0 },
      })
      const more = {
        title: one,
        directory: two,
        prompt: { text: one, files: [two], parts: [] },
        asks,
        todos: [{ content: one, status: two }],
        children: [childOf('call_t', failed, { agent: one, title: two })],
        retry: { message: one, attempt: 1 },
      }
      const parts = [
        text('x', `${one}\n\n${two}`),
        tool('a', one, { title: two, input: { command: one } }),
        tool('b', 'bash', { status: 'error', error: one }),
        tool('t', 'task'),
        tool('todo', 'todowrite'),
      ]
      show(replyOf(parts, { ...more, phase: 'blocked' }))
      show(replyOf(parts, { ...more, phase: 'retrying', asks: [] }))
      show(settledOf(parts, { ...more, outcome: 'failed', error: { name: one, message: two, raw: undefined } }))
      expect(terminal.written().replace(ANSI, '').replace(/\r\n/g, '\n').replaceAll('\r', '')).not.toMatch(CONTROL)
    }),
    { numRuns: 300 },
  )
})

test('any chunking and resizing give the same words, each once, and no escape of the text gets through', async () => {
  const resize = fc.record({ columns: fc.integer({ min: 30, max: 90 }), rows: fc.integer({ min: 14, max: 30 }) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 6, arbitrary: pieces }, { weight: 1, arbitrary: resize }), { maxLength: 60 }),
      async (steps) => {
        const { terminal, show } = setup()
        let source = ''
        for (const step of steps) {
          if (typeof step !== 'string') {
            await terminal.resize(step.columns, step.rows)
            continue
          }
          source += step
          show(replyOf([tool('t', 'read'), text('a', source, 'open')]))
        }
        show(settledOf([tool('t', 'read'), text('a', source)]))
        const once = setup([90, 30])
        once.show(settledOf([tool('t', 'read'), text('a', source)]))
        expect(ink(await terminal.rows())).toBe(ink(await once.terminal.rows()))
        expect(terminal.written().replace(ANSI, '').replace(/\r\n/g, '\n').replaceAll('\r', '')).not.toMatch(CONTROL)
      },
    ),
    { numRuns: 150 },
  )
})

test('a pipe gets plain text, each finished block once', async () => {
  const { terminal, show } = setup([60, 16], { live: false })
  show(replyOf([text('a', '**One**.\n\nTw', 'open')]), 300)
  expect(terminal.written()).toBe('**One**.\n')
  show(replyOf([text('a', '**One**.\n\nTwo.'), tool('b', 'bash', { status: 'running' })]), 300)
  show(settledOf([text('a', '**One**.\n\nTwo.'), tool('b', 'bash')]), 300)
  expect(terminal.written()).toBe('**One**.\n\nTwo.\n\n✓ bash 1.2s\n\n✓ completed · 12s\n')
})
