import { askDetails } from '@reply/core'
import type { LocalAsk } from '@reply/core/source'
import { expect, test } from 'vitest'
import { createChecklist } from '../../src/claude/checklist.ts'
import { decodeClaude } from '../../src/claude/decode/line.ts'
import { toolInput, toolName } from '../../src/claude/decode/tools.ts'
import { createSessionWriter } from '../../src/claude/session-writer.ts'
import { runRecorded } from '../replay.ts'

const calling = (command: string) => ({
  type: 'assistant',
  message: { model: 'one', content: [{ type: 'tool_use', id: 'call', name: 'Bash', input: { command } }] },
})
const asking = (requestID: string, command: string) => ({
  type: 'control_request',
  request_id: requestID,
  request: { subtype: 'can_use_tool', tool_name: 'Bash', input: { command }, tool_use_id: 'call' },
})
const ended = { type: 'result', subtype: 'success' }

/** Writes lines to a run, allows what was asked last, and ends the run. Returns what was sent up to then. */
async function allowed(lines: readonly object[]) {
  let sent: readonly unknown[] = []
  let isOver = false
  const asks: LocalAsk[] = []
  const respond = async (requestID: string, response: object): Promise<void> => {
    if (!isOver) sent = [...sent, [requestID, response]]
  }
  const wake = () => expect.fail('No turn begins by itself.')
  const writer = createSessionWriter(createChecklist(), () => 0, respond, wake)
  const write = (line: object): void => {
    for (const event of decodeClaude(line)) writer.write(event, line)
  }
  const reply = await runRecorded((run) => {
    const watched = {
      ...run,
      ask: (ask: LocalAsk): void => {
        asks.push(ask)
        run.ask(ask)
      },
    }
    writer.expectTurn(watched, 'prompt')
    for (const line of [{ type: 'system', subtype: 'init', model: 'one' }, ...lines]) write(line)
    void Promise.resolve(asks.at(-1)?.reply({ type: 'once' })).then(() => {
      isOver = true
      write(ended)
    })
  })
  const shown = reply.asks.map(
    (ask) =>
      ask.type === 'permission' &&
      askDetails(ask)
        ?.map(({ text }) => text)
        .join(),
  )
  return { sent, shown, reply }
}

test('a call that comes after its request shows the input that it runs with', async () => {
  const { sent, shown } = await allowed([asking('one', 'rm -rf build'), calling('ls')])
  expect(shown).toEqual(['rm -rf build'])
  expect(sent).toEqual([['one', { behavior: 'allow', updatedInput: { command: 'rm -rf build' } }]])
})

test('a second request for a call denies the first, whose input is not shown any more', async () => {
  const { sent, reply } = await allowed([calling('ls'), asking('one', 'rm -rf build'), asking('two', 'ls')])
  expect(reply.asks.map(({ requestID, status }) => [requestID, status])).toMatchObject([
    ['one', 'withdrawn'],
    ['two', expect.anything()],
  ])
  expect(sent).toMatchObject([
    ['one', { behavior: 'deny' }],
    ['two', { behavior: 'allow', updatedInput: { command: 'ls' } }],
  ])
})

test('a field with the name that another one gets hides nothing', () => {
  expect(toolInput('Write', { file_path: '/etc/hosts', filePath: 'notes' })).toEqual({
    file_path: '/etc/hosts',
    filePath: 'notes',
  })
  expect(toolInput('Write', { file_path: '/etc/hosts' })).toEqual({ filePath: '/etc/hosts' })
  expect([toolName('toString'), toolInput('toString', { a: 1 })]).toEqual(['toString', { a: 1 }])
})
