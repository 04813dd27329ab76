import { fileURLToPath } from 'node:url'
import { type Reply, textOf } from '@reply/core'
import { expect, test } from 'vitest'
import type { AcpClientOptions } from '../../src/acp/client.ts'
import { acp } from '../../src/acp.ts'

const program = fileURLToPath(new URL('./agents/faulty.mjs', import.meta.url))

async function run(how: string, deadlineMs?: number, more: Partial<AcpClientOptions> = {}) {
  const errors: string[] = []
  const said: string[] = []
  const agent = acp({
    command: process.execPath,
    args: [program, how],
    name: 'the agent',
    onError: ({ message }) => errors.push(message),
    onStderr: (text) => said.push(text),
    deadlineMs,
    ...more,
  })
  const reply: Reply = await agent.prompt({ text: 'Go.' }).result
  await agent.close()
  return { reply, errors, said, text: textOf(reply) }
}

test.each([
  ['dies', 'the agent exited with code 3', 'Half an '],
  ['killed', 'the agent was ended by SIGKILL', 'Half an '],
  ['half a line', 'the agent exited with code 0', 'Well.'],
  ['closes its output', 'the agent was ended by SIGTERM', 'Well.'],
])(
  'an agent that fails in the middle of a turn fails the reply, which keeps what was said: %s',
  async (how, words, said) => {
    const { reply, text } = await run(how)
    expect([reply.outcome, text]).toEqual(['failed', said])
    expect(reply.error?.message).toContain(words)
  },
)

test('half a line is reported without its content', async () => {
  const { errors } = await run('half a line')
  expect(errors).toContainEqual(expect.stringMatching(/a line of 38 characters .* is not a JSON-RPC message/))
})

test('lines that are no messages are left out, and a series of them is one report', async () => {
  const { reply, text, errors } = await run('garbage')
  expect([reply.outcome, text]).toEqual(['completed', 'All is well.'])
  expect(errors.length).toBeLessThan(4)
})

test('a flood of 150 MB and a line of 20 MB leave the answer whole, and hold no more than a line', async () => {
  const before = process.memoryUsage().rss
  const { reply, text, errors } = await run('flood')
  expect([reply.outcome, text]).toEqual(['completed', 'All is well.'])
  expect(errors).toContainEqual(expect.stringContaining('was skipped because it has more than 16777216 bytes'))
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
})

test('what comes after the end of a turn changes nothing', async () => {
  const { reply, text } = await run('late')
  expect([reply.outcome, text, reply.asks]).toEqual(['completed', '', []])
})

test('characters and lines that arrive in pieces are whole', async () => {
  expect((await run('splits')).text).toBe('Grüße 🙂')
})

test('an agent that ends before it has answered "initialize" fails the prompt, without its words', async () => {
  const { reply, said } = await run('refuses to start')
  expect(reply).toMatchObject({ outcome: 'failed' })
  expect(reply.error?.message).toContain('exited with code 2 before it answered "initialize"')
  expect(reply.error?.message).not.toContain('secret-token')
  expect(said.join('')).toContain('secret-token')
})

test('an agent that never answers "initialize" fails the prompt', async () => {
  const { reply } = await run('silent', 300)
  expect(reply.error?.message).toContain('the agent did not answer "initialize" within 300 ms')
})

test('a command that is not there fails the prompt with the cure', async () => {
  const agent = acp({ command: 'no-such-agent-anywhere' })
  const reply = await agent.prompt({ text: 'Go.' }).result
  expect(reply.error?.message).toContain('The command "no-such-agent-anywhere" was not found. Install it')
  await agent.close()
})

test.each(['onError', 'onMessage', 'onStderr'] as const)('an %s that throws leaves a run whole', async (name) => {
  const failing = (): void => {
    throw new Error('The host failed.')
  }
  const { reply, text } = await run('garbage', undefined, { [name]: failing })
  expect([reply.outcome, text]).toEqual(['completed', 'All is well.'])
})
