import { ReplyError } from '@reply/core'
import { expect, test } from 'vitest'
import { consoleSink } from '../src/sink.ts'
import { fakeClock } from './fixture/clock.ts'
import { picture } from './fixture/picture.ts'
import { permission, question, replyOf, START, settledOf, tell, tool } from './fixture/reply.ts'
import { setup } from './fixture/sink.ts'
import { fakeTerminal } from './fixture/terminal.ts'

const blocked = (ask: ReturnType<typeof permission>) => replyOf([], { phase: 'blocked', asks: [ask] })
const bash = (command: string, more = {}) => ({ tool: 'shell', input: { command, ...more } })

test('a permission shows the whole command, not the patterns that the server derived from it', async () => {
  const { terminal, show } = setup([90, 20])
  const command = "[[ -v 'a[$(touch X)]' ]]; ls\nexport A=1"
  show(blocked(permission({ patterns: ['ls'], title: 'bash: ls', always: ['ls *'], call: bash(command) })))
  expect(await terminal.screen()).toEqual([
    '! Allow this? shell',
    "    [[ -v 'a[$(touch X)]' ]]; ls",
    '    export A=1',
    '  1. once — this time only',
    '  2. always — calls that fit ls *, for everyone who uses this server, until it is revoked',
    '  3. reject — add a reason if you like, and the agent takes it into account',
    '  type 1, 2 or 3. You can add a reason after the 3',
    '  › █',
    '? Waiting for an answer · 0s',
  ])
})

test('what would push the rest off the screen, or looks like other letters, is written out', async () => {
  const { terminal, show } = setup([90, 20])
  const command = `ls${'\n'.repeat(121)}${' '.repeat(1500)}\u0441at\u2800x`
  show(
    blocked(permission({ patterns: ['\u0441at *'], always: ['\u0441at *'], title: 'bash: ls', call: bash(command) })),
  )
  const rows = await terminal.screen()
  expect(rows.slice(0, 5)).toEqual([
    '! Allow this? shell',
    '  Patterns: \\u0441at *',
    '    ls',
    '    ⟨120 empty lines⟩',
    '    ⟨1500 spaces⟩\\u0441at\\u2800x',
  ])
})

test('"always" is not offered for a shell, and a line says why', async () => {
  const { terminal, show } = setup([90, 20])
  show(blocked(permission({ always: ['bash *'], call: bash('bash x') })))
  const rows = (await terminal.screen()).join('\n')
  expect(rows).toContain('"always" is not offered, because bash can run anything')
  expect(rows).not.toContain('2. always')
})

test('a line wider than the terminal is cut anywhere, without losing a character', async () => {
  const { terminal, show } = setup([30, 20])
  const command = 'echo  one   two    three     four'
  show(blocked(permission({ patterns: [], title: 'bash', call: bash(command) })))
  const [first = '', second = ''] = (await terminal.screen()).slice(1, 3)
  expect([first.length, second.slice(0, 4)]).toEqual([29, '  ↪ '])
  expect(first.slice(2) + second.slice(4)).toBe(command)
})

test('an edit shows all of its lines, however many', async () => {
  const { terminal, show } = setup([60, 20])
  const content = Array.from({ length: 100 }, (_, at) => `line ${at + 1}`).join('\n')
  show(
    blocked(
      permission({ permission: 'edit', patterns: [], call: { tool: 'write', input: { filePath: 'a.txt', content } } }),
    ),
  )
  const rows = await terminal.rows()
  for (let at = 1; at <= 100; at++) expect(rows).toContain(`    +line ${at}`)
  expect(rows.slice(-3)).toEqual([
    '  type 1, 2 or 3. You can add a reason after the 3',
    '  › █',
    '? Waiting for an answer · 0s',
  ])
})

test('hidden characters are written out, in the ask, in tool lines and in file names', async () => {
  const hidden = 'rm x\u202ey\u200b\u001b[31m'
  const shown = 'rm x\\u202ey\\u200b\\u001b[31m'
  const { terminal, show } = setup([140, 30])
  const [asked] = question().questions
  show(blocked(permission({ permission: 'a\u200bb', title: '', always: [`${hidden} *`], call: bash(hidden) })))
  const screen = (await terminal.screen()).join('\n')
  expect(screen).toContain('! Allow this? shell (a\\u200bb)')
  expect(screen.split(shown)).toHaveLength(3)
  const options = [{ label: hidden, description: hidden }]
  const asks = [question({ questions: asked ? [{ ...asked, question: `Is it \u202e?`, options }] : [] })]
  expect(picture(replyOf([], { asks }), { live: false, width: 200 })).toEqual([
    '? Database',
    '  Is it \\u202e?',
    `  1. ${shown} — ${shown}`,
    '  or answer in your own words',
  ])
  const file = { type: 'file', id: 'f', messageID: 'msg_1', status: 'sealed', mime: 'x', url: '', raw: 0 } as const
  const parts = [tool('a', 'ba\u200bsh', { title: hidden }), { ...file, filename: '../gnp\u202e.exe' }]
  expect(picture(replyOf(parts))).toEqual([`✓ ba\\u200bsh ${shown} 1.2s`, '+ gnp\\u202e.exe'])
})

test('it cannot be allowed until its input is known', async () => {
  const { terminal, show, type, sent } = setup([90, 20])
  show(blocked(permission({ call: undefined, callID: 'call_a' })))
  const screen = await terminal.screen()
  expect(screen).toContain('  Asking the server what it would run …')
  expect(screen.filter((row) => /^ {2}\d\. /.test(row))).toEqual([
    '  3. reject — add a reason if you like, and the agent takes it into account',
  ])
  await type('1\r')
  expect((await terminal.screen()).join('\n')).toContain('so it cannot be allowed')
  expect(sent).toEqual([])
  show(blocked(permission({ callID: 'call_a' })))
  expect(await terminal.screen()).toContain('  the request changed: read it again')
  await type('\r')
  expect(sent).toEqual([])
  await type('1\r')
  expect(sent).toEqual([['per_1', 'once']])
})

test('it can be allowed unseen if the host says so', async () => {
  const { show, type, sent } = setup([90, 20], { allowUnseen: true })
  show(blocked(permission({ call: undefined })))
  await type('1\r')
  expect(sent).toEqual([['per_1', 'once']])
})

test('a permission that changes while 1 is being typed is not allowed; a rejection stays typed', async () => {
  const { show, type, sent } = setup([90, 20])
  show(blocked(permission()))
  await type('1')
  show(blocked(permission({ call: bash('rm -r .') })))
  await type('\r')
  expect(sent).toEqual([])
  await type('3 because')
  show(blocked(permission({ call: bash('rm -r ..') })))
  await type('\r')
  expect(sent).toEqual([['per_1', 'reject', 'because']])
})

test('nothing is allowed before it was painted', async () => {
  const { sink, stdin, sent, type } = setup([90, 20])
  tell(sink, blocked(permission()))
  stdin.write('1\r')
  await new Promise(setImmediate)
  expect(sent).toEqual([])
  await type('')
  await type('\r')
  expect(sent).toEqual([['per_1', 'once']])
})

test('a log shows what would run, once it is known', () => {
  const options = { live: false, width: Number.POSITIVE_INFINITY }
  const unseen = picture(blocked(permission({ call: undefined, callID: 'call_a' })), options)
  expect(unseen).toContain('  Asking the server what it would run …')
  expect(picture(blocked(permission({ call: bash('a; b') })), options)).toContain('  a; b')
  const over = permission({ status: 'answered', reply: 'once', call: bash('a; b') })
  expect(picture(settledOf([], { asks: [over] }), options)).toContain('✓ allowed once: bash: a; b')
})

test('without a terminal asks are rejected and the log says so, or they wait', async () => {
  const play = async (options: Parameters<typeof consoleSink>[0]) => {
    const { stdout, written } = fakeTerminal(60, 16)
    const refused: string[] = []
    const opencode = {
      answer: async () => expect.fail('Nothing is allowed here.'),
      reject: async ({ requestID }: { readonly requestID: string }) => void refused.push(requestID),
    }
    const sink = consoleSink({ stdout, env: {}, clock: fakeClock(START), client: opencode, live: false, ...options })
    const ask = permission()
    tell(sink, replyOf([], { messages: [] }))
    sink.permissionAsked?.({ type: 'permissionAsked', ask, reply: blocked(ask) })
    sink.questionAsked?.({ type: 'questionAsked', ask: question(), reply: replyOf([], { asks: [question()] }) })
    await new Promise(setImmediate)
    return { refused, written }
  }
  const plain = await play({})
  expect(plain.refused).toEqual(['per_1', 'que_1'])
  expect(plain.written()).toContain(`Rejected "bash: npm publish", because it cannot be answered here`)
  expect((await play({ asks: 'wait' })).refused).toEqual([])
})

test('without a terminal the log does not say that it rejected what another observer answered', async () => {
  const { stdout, written } = fakeTerminal(60, 16)
  const answered = new Set<string>()
  const first = async ({ requestID }: { readonly requestID: string }) => {
    if (answered.has(requestID)) throw new ReplyError('already-resolved', 'It is resolved.')
    answered.add(requestID)
  }
  const opencode = { answer: first, reject: first }
  const sink = consoleSink({ stdout, env: {}, clock: fakeClock(START), client: opencode, live: false })
  const ask = permission()
  tell(sink, replyOf([], { messages: [] }))
  sink.permissionAsked?.({ type: 'permissionAsked', ask, reply: blocked(ask) })
  // The next observer of the same run, told of the same ask.
  await opencode.answer(ask)
  await new Promise(setImmediate)
  expect(written()).not.toContain('Rejected')
})

test("a card says each thing once, also at a phone's width", async () => {
  const { terminal, show } = setup([44, 40])
  const directory = '/home/ann/shop'
  const diff = `--- ${directory}/src/cart.js\n+++ ${directory}/src/cart.js\n@@ -1,2 +1,2 @@\n-return net\n+return net - discount\n`
  const input = { filePath: `${directory}/src/cart.js`, oldString: 'return net', newString: 'return net - discount' }
  const metadata = { filepath: input.filePath, diff }
  const edit = { permission: 'edit', patterns: ['src/cart.js'], title: 'edit: src/cart.js', always: ['*'], directory }
  show(blocked(permission({ ...edit, metadata, call: { tool: 'edit', input: { ...input, replaceAll: true } } })))
  expect(await terminal.screen()).toEqual([
    '! Allow this? edit: src/cart.js',
    '    @@ -1,2 +1,2 @@',
    '    -return net',
    '    +return net - discount',
    '  Also: Replace all: true',
    '  "always" is not offered, because it would',
    '  allow every call of edit',
    '  1. once — this time only',
    '  3. reject — add a reason if you like, and',
    '     the agent takes it into account',
    '  type 1 or 3. You can add a reason after',
    '  the 3',
    '  › █',
    '? Waiting for an answer · 0s',
  ])
})
