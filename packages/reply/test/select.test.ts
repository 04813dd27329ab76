import {
  answerOf,
  currentActivity,
  isShownText,
  partsOf,
  pendingAsks,
  reasoningOf,
  subjectOf,
  textOf,
  toolsOf,
  totalUsage,
} from '@reply/core'
import { describe, expect, test } from 'vitest'
import {
  delegated,
  ended,
  idle,
  message,
  part,
  permission,
  question,
  reasoning,
  reduced,
  root,
  run,
  running,
  session,
  settle,
  stepFinish,
  stepStart,
  text,
  tool,
  user,
} from './make.ts'

const sealed = { status: 'sealed' } as const
const after = (...events: Parameters<typeof reduced>[0]) => reduced([...running, ...events]).reply

describe('textOf', () => {
  test('joins the shown texts with a blank line, and trims nothing', () => {
    expect(textOf(after(text('m1', ' One \n', { id: 'a' }), text('m1', 'Two', { id: 'b' })))).toBe(' One \n\n\nTwo')
  })

  test('goes over all messages', () => {
    expect(textOf(after(text('m1', 'One', sealed), ended('m1'), message('m2'), text('m2', 'Two')))).toBe('One\n\nTwo')
  })

  test.each([
    ['blank', text('m1', ' \n\t')],
    ['empty', text('m1', '')],
    ["the server's", text('m1', 'Reminder', { synthetic: true })],
    ['ignored', text('m1', 'Hidden', { ignored: true })],
    ['reasoning', reasoning('m1', 'Hm')],
    ["the user's", text('u1', 'Do it', sealed)],
    ['an abandoned text', text('m1', 'Half', { status: 'abandoned' })],
    ["a tool's", tool('m1', { status: 'completed', output: 'out' })],
  ])('leaves out what is %s', (_, event) => {
    expect(textOf(after(event))).toBe('')
    expect(partsOf(after(event)).some(isShownText)).toBe(false)
  })
})

describe('answerOf', () => {
  test('is the text of the last step with text', () => {
    const two = [text('m1', 'I look.', sealed), ended('m1'), message('m2'), text('m2', 'Found.')]
    expect(answerOf(after(...two))).toBe('Found.')
    expect(answerOf(after(...two, message('m3'), tool('m3')))).toBe('Found.')
  })

  test('is empty if there is no text', () => {
    expect(answerOf(after(tool('m1')))).toBe('')
  })
})

describe('reasoningOf and toolsOf', () => {
  test('give reasoning and calls, without abandoned ones', () => {
    const reply = after(
      ...[reasoning('m1', 'Lost'), stepStart('m1'), reasoning('m1', 'Hm', { id: 'r2' })],
      ...[tool('m1'), tool('m1', { callID: 'c2', tool: 'read' }), text('m1', 'Text')],
    )
    expect(reasoningOf(reply)).toBe('Hm')
    expect(toolsOf(reply).map((call) => call.tool)).toEqual(['bash', 'read'])
  })
})

describe('subjectOf', () => {
  test.each([
    [{ title: 'Tests', input: { command: 'npm test' } }, 'Tests'],
    [{ input: { command: 'npm test', description: 'Run the tests' } }, 'Run the tests'],
    [{ input: { command: 'npm test' } }, 'npm test'],
    [{ input: { filePath: 'a.ts' } }, 'a.ts'],
    [{ input: { path: 'a.ts' } }, 'a.ts'],
    [{ input: { path: 5 } }, undefined],
    [{ input: {} }, undefined],
  ])('of %o is %s', (state, subject) => {
    const [call] = toolsOf(after(tool('m1', state)))
    expect(subjectOf(call ?? expect.fail())).toBe(subject)
  })
})

describe('currentActivity', () => {
  test.each([
    ['nothing yet', undefined, []],
    ['thinking', 'thinking', [reasoning('m1', 'Hm')]],
    ['writing', 'writing', [reasoning('m1', 'Hm', sealed), text('m1', 'So')]],
    ['running a command', 'bash: npm test', [tool('m1', { input: { command: 'npm test' } })]],
    ['running what has a title', 'bash: Test it', [tool('m1', { title: 'Test it', input: { command: 'npm test' } })]],
    ['running what says nothing of itself', 'list', [tool('m1', { tool: 'list' })]],
    ['between two things', undefined, [tool('m1', { status: 'completed' })]],
    [
      'compacting',
      'compacting',
      [user('u2'), part({ id: 'c', messageID: 'u2', raw: 0, status: 'sealed', type: 'compaction', auto: true })],
    ],
    ['nothing any more', undefined, [text('m1', 'So'), settle('lost')]],
  ])('of %s is %j', (_, activity, events) => {
    expect(currentActivity(after(...events))).toBe(activity)
  })

  test('of a sub-agent names it, and what it does if it does anything', () => {
    expect(currentActivity(run(delegated).reply)).toBe('sub-agent')
    const child = { sessionID: 'child' }
    expect(currentActivity(run([...delegated, text('c1', 'So', child)]).reply)).toBe('sub-agent · writing')
    expect(currentActivity(run([...delegated, ended('c1', child), idle('child')]).reply)).toBe('task')
  })
})

describe('pendingAsks and totalUsage', () => {
  test("give pending asks, descendants' included, oldest first", () => {
    const { reply } = run([...delegated, permission('p2', 'child'), question('q1')])
    expect(pendingAsks(reply).map(({ requestID }) => requestID)).toEqual(['p2', 'q1'])
    expect(pendingAsks(run([settle('lost')], run([session(), permission('p1')])).reply)).toEqual([])
  })

  test('give equal permissions once, until both are answered', () => {
    const input = { command: 'ls' }
    const asked = run([
      ...delegated,
      tool('m1', { input, callID: 'own' }),
      tool('c1', { input, sessionID: 'child' }),
      permission('p2', 'child', { callID: 'call' }),
      permission('p1', root, { callID: 'own' }),
    ])
    expect(pendingAsks(asked.reply).map(({ requestID }) => requestID)).toEqual(['p2'])
    const how = { type: 'permission', reply: 'once' } as const
    const { reply } = run([{ type: 'ask-closed', at: 3, sessionID: 'child', requestID: 'p2', how }], asked)
    expect(pendingAsks(reply).map(({ requestID }) => requestID)).toEqual(['p1'])
  })

  test('add up all descendants, and keep the context of the root', () => {
    const deep = { ...stepFinish('c1', 7), sessionID: 'child' }
    const total = totalUsage(run([...delegated, stepFinish('m1', 5), deep]).reply)
    expect(total).toMatchObject({ input: 12, output: 2, cost: 1, steps: 2, contextTokens: 6 })
  })
})
