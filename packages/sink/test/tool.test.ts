import type { Reply } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { emptyLedger } from '../src/ledger/ledger.ts'
import { texts } from '../src/texts.ts'
import type { Mode } from '../src/view/view.ts'
import { shownEntry } from './entries.ts'
import { call, replyWith, saidIn, settledWith, text, type Viewing, viewOf } from './make.ts'
import { createScene } from './scene.ts'
import { beginning } from './timeline.ts'

const running = call('bash', { input: { command: 'npm test' }, title: 'npm test' })
const done = call('bash', { status: 'completed', title: 'ls', output: 'a.ts\nb.ts\n' })
const broken = call('bash', { status: 'error', title: 'ls', error: 'exit 1' })
const rejected = 'The user rejected permission to use this specific tool call'
const forbidden =
  'The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules [{"permission":"bash","pattern":"rm *","action":"deny"}]'

describe('a notice of tools', () => {
  const noticeOf = (reply: Reply, viewing: Viewing = {}) =>
    saidIn(viewOf(reply, { mode: 'sealed', ...viewing }), 'notice')
  const live = { mode: 'live' } as const
  const verbose = { mode: 'live', policy: { verbosity: 'verbose' } } as const

  test('names all running calls, in one message', () => {
    const reply = replyWith([running, call('read', { input: { path: 'a.ts' } })])
    expect(noticeOf(reply)).toEqual(['🔧 bash: npm test\n🔧 read: a.ts'])
    expect(noticeOf(reply, { texts: { ...texts, toolPrefix: '' } })).toEqual(['bash: npm test\nread: a.ts'])
  })

  test('reports a call once, and again if it fails', () => {
    const reported = { ...emptyLedger, reported: [`${running.id}:running`] }
    expect(noticeOf(replyWith([running]), { ledger: reported })).toEqual([])
    const failed = { ...running, state: { ...running.state, status: 'error', error: 'exit 1' } } as const
    expect(noticeOf(replyWith([failed]), { ledger: reported })).toEqual(['🔧 ~~bash: npm test~~ failed: exit 1'])
  })

  test.each([
    ['', 'failed'],
    ['EACCES: permission denied', 'failed: EACCES: permission denied'],
    [`${rejected}.`, 'rejected'],
    [`${rejected} with the following feedback: Not *now*`, 'rejected: Not \\*now\\*'],
    [forbidden, 'denied by a rule'],
  ])('says why a call did not succeed, where messages can be edited, too: %s', (error, why) => {
    const reply = replyWith([call('bash', { status: 'error', title: 'rm', error })])
    expect(noticeOf(reply, live)).toEqual([`*🔧 ~~bash: rm~~ ${why}*`])
    expect(noticeOf(reply)).toEqual([`🔧 ~~bash: rm~~ ${why}`])
    expect(noticeOf(reply, { policy: { verbosity: 'quiet' } })).toEqual([])
  })

  test('names the exit code of a command, but posts nothing for it alone', () => {
    const exited = call('bash', { status: 'completed', title: 'grep x', metadata: { exit: 1 } })
    expect(noticeOf(replyWith([exited]), verbose)).toEqual(['*🔧 ~~bash: grep x~~ exit 1*'])
    expect(noticeOf(replyWith([exited]))).toEqual(['🔧 ~~bash: grep x~~ exit 1'])
    expect(noticeOf(replyWith([exited]), live)).toEqual([])
  })

  test('leaves out interrupted calls', () => {
    const parts = [call('bash', { status: 'error', error: 'Tool execution aborted' })]
    expect(noticeOf(settledWith([...parts, { ...running, status: 'sealed' }]), verbose)).toEqual([])
    expect(noticeOf(settledWith([{ ...running, status: 'sealed' }]))).toEqual([])
  })

  test('comes no sooner than the throttle after the previous one', () => {
    const ledger = { ...emptyLedger, noticeAt: beginning }
    const early = viewOf(replyWith([running]), { mode: 'sealed', ledger, atMs: 4999 })
    expect(saidIn(early, 'notice')).toEqual([])
    expect(early.nextAt).toBe(beginning + 5000)
    expect(noticeOf(replyWith([running]), { ledger, atMs: 5000 })).toHaveLength(1)
  })

  test('leaves out the checklist and questions, and where messages can be edited, successful calls', () => {
    const parts = [call('todowrite'), call('todoread'), call('question')]
    expect(noticeOf(replyWith(parts))).toEqual([])
    expect(noticeOf(replyWith([...parts, done]), live)).toEqual([])
  })

  test('names calls that began and ended since the last one, each once', () => {
    const ledger = { ...emptyLedger, reported: [`${done.id}:running`] }
    const quick = call('read', { status: 'completed', title: 'a.ts' })
    expect(noticeOf(replyWith([done, quick, running]), { ledger })).toEqual(['🔧 read: a.ts\n🔧 bash: npm test'])
    expect(noticeOf(replyWith([done, quick]), { ledger })).toEqual(['🔧 read: a.ts'])
  })

  test('has no such calls alone where each post rings', () => {
    const quick = call('read', { status: 'completed', title: 'a.ts' })
    expect(noticeOf(settledWith([quick]), { rings: true })).toEqual([])
    expect(noticeOf(replyWith([quick, running]), { rings: true })).toEqual(['🔧 read: a.ts\n🔧 bash: npm test'])
    expect(noticeOf(replyWith([quick]), { rings: true, policy: { verbosity: 'verbose' } })).toHaveLength(1)
  })

  test.each([
    ['that edits, with a line for each call', {}, { verbosity: 'calls' }],
    ['without edits', { lacks: ['edit'] }, {}],
    ['that appends', {}, { delivery: 'append' }],
    ['with the answer at the end', {}, { delivery: 'final' }],
  ] as const)('names each of six short calls in a chat %s', async (_, fake, policy) => {
    const scene = createScene({ fake: { ...fake, limits: { maxLength: 2000 } }, sink: { policy } })
    const names = ['one', 'two', 'three', 'four', 'five', 'six']
    const made = names.map((name) => call('bash', { title: name, status: 'completed' }))
    const begun = names.map((name, at) => ({
      ...running,
      id: made[at]?.id ?? '',
      state: { ...running.state, title: name },
    }))
    for (const [at, part] of begun.entries()) {
      scene.show(replyWith([...made.slice(0, at), part]))
      await scene.pass(1500)
    }
    scene.show(settledWith([...made, text('Done.')]))
    await scene.end()
    const said = scene.fake.screen().map((message) => message.text)
    for (const name of names) expect(said.join('\n').split(`bash: ${name}`)).toHaveLength(2)
    expect(said.at(-1)).toContain('Done.')
  })

  test.each<[Mode, 'quiet' | 'normal' | 'calls' | 'verbose', readonly string[]]>([
    ['live', 'quiet', []],
    ['live', 'normal', ['ls failed']],
    ['live', 'calls', ['ls done', 'ls failed']],
    ['live', 'verbose', ['ls done with output', 'ls failed']],
    ['sealed', 'quiet', []],
    ['sealed', 'normal', ['npm test', 'ls done', 'ls failed']],
    ['sealed', 'calls', ['npm test', 'ls done', 'ls failed']],
    ['sealed', 'verbose', ['npm test', 'ls done with output', 'ls failed']],
    ['append', 'normal', ['npm test', 'ls done', 'ls failed']],
    ['final', 'normal', ['npm test', 'ls done', 'ls failed']],
  ])('in mode %s, %s: %j', (mode, verbosity, said) => {
    const [source = ''] = noticeOf(replyWith([running, done, broken]), { mode, policy: { verbosity } })
    const isDone = /bash: ls(?!~)/.test(source) && (source.includes('a.ts') ? 'ls done with output' : 'ls done')
    const found = [source.includes('npm test') && 'npm test', isDone]
    expect([...found, source.includes('exit 1') && 'ls failed'].filter(Boolean)).toEqual(said)
  })

  test('is a small line with the output below it, in verbose mode', () => {
    const small = (line: string) => `-# ${line}`
    expect(noticeOf(replyWith([done]), { ...verbose, small })).toEqual(['-# 🔧 bash: ls\n\n````\na.ts\nb.ts\n````'])
    const short = call('bash', { status: 'completed', title: 'ls', output: 'a.ts\n' })
    expect(noticeOf(replyWith([short]), verbose)).toEqual(['*🔧 bash: ls*\n`a.ts`'])
  })

  test('stands above the text that follows the call, and does not wait for the throttle then', () => {
    const ledger = { ...emptyLedger, noticeAt: beginning + 2900 }
    const typesIn = (reply: Reply, more: Viewing = {}) =>
      viewOf(reply, { ...verbose, ledger, ...more }).cards.flatMap(({ type, source }) =>
        type === 'status' ? [] : [type === 'answer' ? source : type],
      )
    const [one, two] = [text('One.'), text('Two.', { status: 'open' })]
    expect(typesIn(replyWith([one, done]))).toEqual(['One.'])
    expect(typesIn(replyWith([one, done, two]))).toEqual(['One.', 'notice', 'Two.'])
    const postedTo = (to: number): Viewing => {
      const entry = shownEntry('answer#0', { card: 'answer', piece: { from: 0, to, upTo: '' } })
      return { ledger: { ...ledger, entries: [entry] } }
    }
    expect(typesIn(replyWith([one, done, two]), postedTo(4))).toEqual(['One.', 'notice', 'Two.'])
    // Some of what follows is posted already.
    expect(typesIn(replyWith([one, done, two]), postedTo(10))).toEqual(['One.\n\nTwo.', 'notice'])
    const far = replyWith([done, one, call('read', { status: 'completed' }), two])
    expect(typesIn(far)).toEqual(['notice', 'One.\n\nTwo.'])
  })

  test('holds as many calls as fit in a message, and the next one the others', async () => {
    const calls = Array.from({ length: 40 }, (_, at) =>
      call('bash', { status: 'error', title: `step ${at} ${'x'.repeat(100)}`, error: 'exit 1' }),
    )
    const scene = createScene({ fake: { limits: { maxLength: 2000 } } })
    scene.show(settledWith(calls))
    await scene.end()
    const said = scene.fake.screen().map((message) => message.text)
    expect(said.join('\n').match(/step \d+ /g)).toHaveLength(40)
    expect(said.some((one) => one.endsWith('…'))).toBe(false)
  })

  test('is left to the stream of the text, except for what that did not show', () => {
    const streaming = { ...live, isStreaming: true } as const
    expect(noticeOf(replyWith([broken]), streaming)).toEqual([])
    expect(noticeOf(settledWith([broken]), streaming)).toHaveLength(1)
    const reported = { ...emptyLedger, reported: [`task:${broken.id}:failed`] }
    expect(noticeOf(settledWith([broken]), { ...streaming, ledger: reported })).toEqual([])
  })

  test('shows external names verbatim', () => {
    const odd = call('bash', { title: `*${'x'.repeat(117)}**` })
    expect(noticeOf(replyWith([odd]))).toEqual([`🔧 bash: \\*${'x'.repeat(117)}\\*\\*`])
    const long = call('bash', { title: `${'x'.repeat(118)}👍👍` })
    expect(noticeOf(replyWith([long]))[0]).not.toMatch(/\p{Surrogate}/u)
  })
})
