import { type Reply, replay, type ToolPart, toolsOf } from '@reply/core'
import { toolFacts } from '@reply/core/show'
import type { ToolState } from '@reply/core/source'
import { listRecordings, readRecording } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { closed, permission, run, running, settle, tool } from '../make.ts'

function call(name: string, state: Partial<ToolState> = {}): ToolPart {
  const { reply } = run([...running, tool('m1', { tool: name, ...state })])
  return toolsOf(reply)[0] ?? expect.fail()
}

function factsOf(name: string, state: Partial<ToolState> = {}, directory?: string) {
  return toolFacts(call(name, state), { asks: [], directory })
}

const rejected = 'The user rejected permission to use this specific tool call'
const forbidden =
  'The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules [{"permission":"bash","pattern":"rm *","action":"deny"}]'

test.each([
  ['bash', 'bash'],
  ['mcp__files__read', 'read'],
  ['mcp__my_files__read_all', 'read_all'],
  ['github_create_issue', 'create_issue'],
  ['context7_resolve-library-id', 'resolve-library-id'],
  ['chrome-devtools_click', 'click'],
  ['apply_patch', 'apply_patch'],
  ['plan_exit', 'plan_exit'],
  ['send_mail', 'send_mail'],
  ['_private', '_private'],
  ['trailing_', 'trailing_'],
  [' ', 'tool'],
])('the name of %j is %s', (name, expected) => {
  expect(factsOf(name).name).toBe(expected)
})

describe('the subject of a call', () => {
  test('is found in its input if it has no title', () => {
    expect(factsOf('webfetch', { input: { url: 'https://example.com' } }).subject).toBe('https://example.com')
    expect(factsOf('grep', { input: { pattern: 'TODO', include: '*.ts' } }).subject).toBe('TODO')
    expect(factsOf('list').subject).toBeUndefined()
  })

  test('is left as it is, but a path within the directory is relative to it', () => {
    expect(factsOf('github_search', { title: 'mcp__a__b and my_file' }).subject).toBe('mcp__a__b and my_file')
    expect(factsOf('read', { title: '/work/src/a.ts' }, '/work').subject).toBe('src/a.ts')
    expect(factsOf('read', { title: '/work/src/a.ts' }, '/').subject).toBe('/work/src/a.ts')
  })
})

describe('the end of a call', () => {
  const endOf = (state: Partial<ToolState>) => factsOf('bash', state).end

  test.each([
    [`${rejected}.`, { type: 'rejected', reason: undefined }],
    [
      `Error: ${rejected} with the following feedback: Not on a\nSunday`,
      { type: 'rejected', reason: 'Not on a\nSunday' },
    ],
    ['PermissionCorrectedError({"feedback":"Not \\"now\\""})', { type: 'rejected', reason: 'Not "now"' }],
    ['PermissionRejectedError({\n', { type: 'rejected', reason: undefined }],
    ['The user declined this tool call', { type: 'rejected', reason: undefined }],
    [forbidden, { type: 'forbidden' }],
    [`Error: ${forbidden}`, { type: 'forbidden' }],
    ['PermissionDeniedError({\n', { type: 'forbidden' }],
    ['Tool execution aborted', { type: 'interrupted' }],
    ['Task cancelled', { type: 'interrupted' }],
    ['EACCES: permission denied', { type: 'failed', reason: 'EACCES: permission denied' }],
    ['The server rejected the request', { type: 'failed', reason: 'The server rejected the request' }],
    ['Error: File not found: a.ts', { type: 'failed', reason: 'File not found: a.ts' }],
    ['', { type: 'failed', reason: '' }],
  ])('%s', (error, end) => {
    expect(endOf({ status: 'error', error })).toEqual(end)
  })

  test('is a rejection if its permission was rejected, whatever the error says', () => {
    const error = { status: 'error', error: 'Unable to execute command' } as const
    const asked = (callID: string) =>
      run([
        ...running,
        permission('p1', undefined, { callID }),
        closed('p1', { type: 'permission', reply: 'reject' }),
        tool('m1', error),
      ])
    const endIn = ({ reply }: { readonly reply: Reply }) => toolFacts(toolsOf(reply)[0] ?? expect.fail(), reply).end
    expect(endIn(asked('call'))).toEqual({ type: 'rejected', reason: undefined })
    expect(endIn(asked('other'))?.type).toBe('failed')
  })

  test('is an interruption if the run ended during the call', () => {
    const { reply } = run([...running, tool('m1'), settle('end')])
    expect(toolFacts(toolsOf(reply)[0] ?? expect.fail(), reply).end).toEqual({ type: 'interrupted' })
    expect(endOf({ status: 'error', error: 'x', interrupted: true })).toEqual({ type: 'interrupted' })
    expect([endOf({ status: 'running' }), endOf({ status: 'completed' })]).toEqual([undefined, undefined])
  })

  test('is the exit code of a command that did not exit with 0', () => {
    const exited = (exit: unknown) => endOf({ status: 'completed', metadata: { exit } })
    expect([exited(3), exited(0), exited(null)]).toEqual([{ type: 'exited', code: 3 }, undefined, undefined])
  })

  test('is a failure if the model called a tool that does not exist, or with arguments that do not fit', () => {
    const invalid = { status: 'completed', title: 'Invalid Tool' } as const
    const input = { tool: 'frob', error: "Model tried to call unavailable tool 'frob'. Available tools: bash." }
    expect(factsOf('frob', { ...invalid, input })).toEqual({
      name: 'frob',
      subject: undefined,
      end: { type: 'failed', reason: 'no such tool' },
    })
    expect(factsOf('read', invalid).end).toEqual({ type: 'failed', reason: 'invalid call' })
  })

  test.each([
    ['permission-rejected', /"rejected"/],
    ['permission-rejected-message', /"rejected","reason":"Not on a Sunday/],
    ['permission-denied', /"forbidden"/],
    ['failing-read', /"failed","reason":"File not found/],
    ['failing-command', /"exited","code":3/],
    ['unknown-tool', /"failed","reason":"no such tool"|"failed","reason":"Unknown tool/],
    ['abort-child', /"interrupted"/],
  ])('is known on every recorded version: %s', async (scenario, end) => {
    const recordings = listRecordings().filter((one) => one.scenario === scenario)
    const replies = await Promise.all(recordings.map((one) => replay(readRecording(one).bytes)))
    const ends = replies.flat().flatMap((reply) => toolsOf(reply).flatMap((part) => toolFacts(part, reply).end ?? []))
    expect(ends.length).toBeGreaterThan(3)
    expect(ends.map((one) => JSON.stringify(one)).filter((one) => !end.test(one))).toEqual([])
  })
})
