import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownTodosOf, partsOf, type Reply, textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeNotification } from '../../src/codex/decode/notification.ts'
import { decodeRequest } from '../../src/codex/decode/request.ts'
import { codex } from '../../src/codex.ts'
import type { Answer } from '../replay.ts'
import { writeReplayProgram } from './replay-program.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-codex-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Prompts the recorded Codex, which fails if it gets another answer than it was given then. */
async function played(name: string, answer?: Answer | 'abort'): Promise<Reply> {
  const command = join(folder, `${name}-${answer === 'abort'}`)
  writeReplayProgram(command, name)
  const client = connectSource(codex({ command, graceMs: 200 }))
  const stream = client.prompt(
    { text: 'Go.' },
    {
      observe: () => [
        {
          permissionAsked: ({ ask }) => void (answer === 'reject' ? client.reject(ask) : client.answer(ask, 'once')),
          questionAsked: ({ ask }) => void client.answer(ask, Array.isArray(answer) ? answer : []),
          partAdded: () => void (answer === 'abort' && stream.abort()),
        },
      ],
    },
  )
  const reply = await stream.result
  await client.close()
  return reply
}

const toolsOf = (reply: Reply) =>
  partsOf(reply).flatMap((part) =>
    part.type === 'tool' ? [[part.tool, part.state.status, part.state.output ?? part.state.error]] : [],
  )

describe('Codex', () => {
  test('thinks and speaks; its tokens are counted', async () => {
    const reply = await played('text')
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Hello there, nice to meet you.'])
    expect(partsOf(reply).flatMap((part) => (part.type === 'reasoning' ? [part.text] : []))).toEqual(['Let me think.'])
    expect(reply.usage).toMatchObject({ input: 120, output: 24, steps: 1, contextLimit: 258_400 })
  })

  test('asks before it runs a command, and is allowed once', async () => {
    const reply = await played('permission-once', 'once')
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
    const reply = await played('permission-rejected', 'reject')
    expect(reply.asks[0]?.status).toBe('rejected')
    expect(toolsOf(reply)).toEqual([['bash', 'error', 'The call was rejected.']])
    expect(reply.outcome).toBe('completed')
  })

  test.each([
    ['abort', 'aborted', undefined],
    ['error', 'failed', 'The scripted provider refuses this.'],
    ['cut', 'failed', 'stream disconnected before completion'],
  ] as const)('tells how it ended: %s', async (name, outcome, error) => {
    const reply = await played(name, name === 'abort' ? 'abort' : undefined)
    expect(reply.outcome).toBe(outcome)
    if (error !== undefined) expect(reply.error?.message).toContain(error)
  })

  test('has its plan as its own todos', async () => {
    const reply = await played('plan')
    expect(ownTodosOf(reply)).toEqual([
      { content: 'Read', status: 'completed' },
      { content: 'Write', status: 'in_progress' },
    ])
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Planned.'])
  })

  test('asks a question, and gets the answer', async () => {
    const reply = await played('question', [['Blue']])
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
})

test('what is not known changes nothing', () => {
  for (const params of [undefined, 'text', [], {}, { threadId: 't' }]) {
    for (const method of ['item/started', 'turn/completed', 'error', 'new', 'toString'])
      expect(decodeNotification(method, params)).toBeUndefined()
    expect(decodeRequest('item/commandExecution/requestApproval', params)).toBeUndefined()
  }
})
