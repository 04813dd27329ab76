import { emptyReply, type Part, type Reply } from '@reply/core'
import { expect, test } from 'vitest'
import { logLines, mostLines } from '../src/state/registry.ts'

function replyWith(parts: readonly Part[]): Reply {
  return { ...emptyReply('ses_1'), messages: [{ id: 'msg_1', parts, raw: undefined }] }
}

const fields = { messageID: 'msg_1', sessionID: 'ses_1', status: 'sealed', raw: undefined } as const
const text = (id: string, words: string): Part => ({ ...fields, id, type: 'text', text: words })

test('keeps the last 200 lines of text', () => {
  const lines = Array.from({ length: 250 }, (_, index) => `line ${index}`)
  const kept = logLines(replyWith([text('a', lines.join('\n'))]))
  expect(kept).toHaveLength(mostLines)
  expect(kept.at(-1)).toEqual({ from: 'stdout', text: 'line 249' })
})

test('strips control sequences before it splits lines, so that none is cut in two', () => {
  const words = 'a\u001b]8;;https://example.com/\u0007link\u001b]8;;\u0007\u001b[31mred\u001b[0m\nnext'
  expect(logLines(replyWith([text('a', words)])).map((line) => line.text)).toEqual(['alinkred', 'next'])
})

test('tells what a command wrote to its standard error apart', () => {
  const reply = replyWith([text('a', 'Building'), { ...text('b', 'warning: old'), stream: 'stderr' } as Part])
  expect(logLines(reply)).toEqual([
    { from: 'stdout', text: 'Building' },
    { from: 'stderr', text: 'warning: old' },
  ])
})

test("has a tool's error and the run's as stderr", () => {
  const failed: Part = {
    ...{ ...fields, id: 'b', type: 'tool', tool: 'bash', callID: 'call_1' },
    state: { status: 'error', input: {}, error: 'exit 1\nno such file' },
  }
  const reply = { ...replyWith([failed]), error: { name: 'ProviderError', message: 'overloaded', raw: undefined } }
  expect(logLines(reply)).toEqual([
    { from: 'stderr', text: 'exit 1' },
    { from: 'stderr', text: 'no such file' },
    { from: 'stderr', text: 'overloaded' },
  ])
})
