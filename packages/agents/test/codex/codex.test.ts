import { ownTodosOf, partsOf, type Reply, textOf } from '@reply/core'
import type { LocalRun } from '@reply/core/source'
import { describe, expect, test } from 'vitest'
import { decodeCodex } from '../../src/codex/decode/notification.ts'
import { decodeRequest, decodeRpc } from '../../src/codex/decode/request.ts'
import { createRunWriter, toAsk } from '../../src/codex/run-writer.ts'
import { type Answer, recordingOf, runRecorded } from '../replay.ts'

/** Plays a recording through the preset. Asks are answered as a person did who wrote what was recorded. */
async function played(name: string, answer?: Answer) {
  const sent: object[] = []
  const lines = recordingOf('codex', name)
  const write = createRunWriter(() => 0)
  let at = 0
  const reply = await runRecorded((run) => play(run), answer)
  const decisions = lines.flatMap(({ from, line }) => (from === 'us' && line.result ? [line.result] : []))
  return { reply, sent, recorded: decisions }

  /** Up to where Codex waits for an answer. */
  function play(run: LocalRun): void {
    for (let line = lines[at]; line; line = lines[at]) {
      at++
      const message = line.from === 'us' ? undefined : decodeRpc(line.line)
      if (message?.type === 'notification') {
        const said = decodeCodex(message.method, message.params)
        if (said) write(run, said, line.line)
      }
      const asked = message?.type === 'request' ? decodeRequest(message.method, message.params) : undefined
      if (!asked) continue
      const send = async (result: object): Promise<void> => {
        sent.push(result)
        // Codex goes on once it has the answer.
        setImmediate(() => play(run))
      }
      return run.ask(toAsk('ask', asked, send))
    }
  }
}

const toolsOf = (reply: Reply) =>
  partsOf(reply).flatMap((part) =>
    part.type === 'tool' ? [[part.tool, part.state.status, part.state.output ?? part.state.error]] : [],
  )

describe('Codex', () => {
  test('thinks and speaks; its tokens are counted', async () => {
    const { reply } = await played('text')
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Hello there, nice to meet you.'])
    expect(partsOf(reply).flatMap((part) => (part.type === 'reasoning' ? [part.text] : []))).toEqual(['Let me think.'])
    expect(reply.usage).toMatchObject({ input: 120, output: 24, steps: 1, contextLimit: 258_400 })
  })

  test('asks before it runs a command, and is allowed once', async () => {
    const { reply, sent, recorded } = await played('permission-once', 'once')
    expect(sent).toEqual(recorded)
    expect(reply.asks).toMatchObject([
      {
        permission: 'bash',
        status: 'answered',
        title: 'May I make a file?',
        always: ['touch made.txt'],
        call: { tool: 'bash', input: { command: "/bin/bash -lc 'touch made.txt && echo made'", workdir: '/project' } },
      },
    ])
    expect(toolsOf(reply)).toEqual([['bash', 'completed', 'made\n']])
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'I run it.\n\nIt is made.'])
  })

  test('is refused, and goes on', async () => {
    const { reply, sent, recorded } = await played('permission-rejected', 'reject')
    expect(sent).toEqual(recorded)
    expect(reply.asks[0]?.status).toBe('rejected')
    expect(toolsOf(reply)).toEqual([['bash', 'error', 'The call was rejected.']])
    expect(reply.outcome).toBe('completed')
  })

  test.each([
    ['abort', 'aborted', undefined],
    ['error', 'failed', 'The scripted provider refuses this.'],
    ['cut', 'failed', 'stream disconnected before completion'],
  ])('tells how it ended: %s', async (name, outcome, error) => {
    const { reply } = await played(name)
    expect(reply.outcome).toBe(outcome)
    if (error !== undefined) expect(reply.error?.message).toContain(error)
  })

  test('has its plan as its own todos', async () => {
    const { reply } = await played('plan')
    expect(ownTodosOf(reply)).toEqual([
      { content: 'Read', status: 'completed' },
      { content: 'Write', status: 'in_progress' },
    ])
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Planned.'])
  })

  test('asks a question, and gets the answer', async () => {
    const { reply, sent, recorded } = await played('question', [['Blue']])
    expect(sent).toEqual(recorded)
    expect(reply.asks).toMatchObject([
      {
        status: 'answered',
        questions: [
          {
            header: 'Color',
            question: 'Which color?',
            options: [
              { label: 'Blue', description: 'Like the sky.' },
              { label: 'Red', description: 'Like a rose.' },
            ],
            multiple: false,
            custom: true,
          },
        ],
        answers: [['Blue']],
      },
    ])
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'So be it.'])
  })

  test('asks questions with their ids', async () => {
    const questions = [{ id: 'color', header: 'Color', question: 'Which?', options: [{ label: 'Red' }] }]
    const asked = decodeRequest('item/tool/requestUserInput', { threadId: 't', itemId: 'i', questions })
    const sent: object[] = []
    const ask = asked && toAsk('ask', asked, async (result) => void sent.push(result))
    await ask?.reply({ type: 'answered', answers: [['Red']] })
    expect(sent).toEqual([{ answers: { color: { answers: ['Red'] } } }])
  })
})

test('what is not known changes nothing', () => {
  for (const params of [undefined, 'text', [], {}, { threadId: 't' }]) {
    for (const method of ['item/started', 'turn/completed', 'error', 'new', 'toString'])
      expect(decodeCodex(method, params)).toBeUndefined()
    expect(decodeRequest('item/commandExecution/requestApproval', params)).toBeUndefined()
  }
})
