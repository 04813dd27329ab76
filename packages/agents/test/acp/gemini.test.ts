import { askDetails, askTitle, causeOf, textOf, toolsOf } from '@reply/core'
import { expect, test } from 'vitest'
import { play } from './play.ts'
import { readRecording, replayed } from './replay.ts'
import { geminiScenes } from './scenes.ts'

const agent = 'gemini-0.61.0'

async function settled(name: string) {
  const scene = geminiScenes.find((one) => one.name === name)
  if (!scene) throw new Error(`There is no scene ${name}.`)
  const { client } = replayed(name, agent)
  const reply = await play(client, scene)
  const details = client.details(reply.sessionID)
  await client.close()
  return { reply, details }
}

test.each(geminiScenes.map(({ name }) => name))('the recording %s says nothing of its machine', (name) => {
  expect(JSON.stringify(readRecording(name, agent))).not.toMatch(/\/tmp\/reply-|\/root|registry/)
})

test('Gemini CLI answers with text, counts tokens, and lists its modes and commands', async () => {
  const { reply, details } = await settled('text')
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Hello from Gemini CLI.'])
  expect(reply.usage).toMatchObject({ input: 120, output: 24, steps: 1 })
  expect(details?.modes.map(({ id }) => id)).toEqual(['default', 'autoEdit', 'yolo', 'plan'])
  expect(details?.commands.map(({ name }) => name)).toContain('memory show')
})

test('Gemini CLI sends no arguments: a person sees the title and the text of the call', async () => {
  const { reply } = await settled('permission-allowed')
  const [ask] = reply.asks
  expect(ask).toMatchObject({ status: 'answered', call: { tool: 'bash', input: { title: 'touch made.txt' } } })
  if (ask?.type !== 'permission') throw new Error('It is a permission.')
  expect([askTitle(ask), ...(askDetails(ask) ?? []).map(({ text }) => text)]).toEqual([
    'bash: touch made.txt',
    'Content: "[current working directory /project] (Make a file)"',
  ])
  expect(toolsOf(reply)).toMatchObject([{ tool: 'bash', state: { status: 'completed' } }])
})

test('a call that was rejected has failed, although Gemini CLI says nothing more of it', async () => {
  const { reply } = await settled('permission-rejected')
  expect(reply.asks).toMatchObject([{ status: 'rejected' }])
  expect(toolsOf(reply)).toMatchObject([{ state: { status: 'error', error: 'A person rejected the call.' } }])
  expect(textOf(reply)).toContain('Then not.')
})

test('Gemini CLI stops when it is aborted', async () => {
  expect((await settled('abort')).reply.outcome).toBe('aborted')
})

test('Gemini CLI shows a tool that it runs without asking, by its kind and title', async () => {
  const { reply } = await settled('tool')
  expect([reply.outcome, textOf(reply), reply.asks]).toEqual(['completed', 'I looked.', []])
  expect(toolsOf(reply)).toMatchObject([{ tool: 'grep', state: { status: 'completed', title: '.' } }])
})

test('Gemini CLI tells that its key is refused, in the words of the provider', async () => {
  const { reply } = await settled('error')
  expect(reply).toMatchObject({ outcome: 'failed', error: { message: 'The key is wrong.', statusCode: 401 } })
  expect(reply.error && causeOf(reply.error)).toBe('credentials')
})
