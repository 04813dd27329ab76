import { askDetails, textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { expect, test } from 'vitest'
import { agUi } from '../../src/index.ts'
import { startMastra } from './mastra.ts'
import { partsOf, pendingOf } from './stage.ts'

test('a Mastra agent answers, calls a tool, and asks through a tool that suspends', async () => {
  await using mastra = await startMastra()
  const errors: string[] = []
  const client = connectSource(agUi({ url: mastra.url, onError: ({ message }) => errors.push(message) }))
  const first = await client.prompt({ text: 'What is here? [scenario:list]' }).result
  expect(partsOf(first)).toEqual([
    ['text', 'I look.'],
    ['list', 'completed', { path: '.' }, '{"files":["./a.txt"]}'],
    ['text', 'One file.'],
  ])
  expect([first.outcome, first.usage.output > 0]).toEqual(['completed', true])
  const { sessionID } = first
  const stream = client.prompt({ text: 'Remove it [scenario:remove]', sessionID })
  const [ask] = await pendingOf(stream)
  if (ask?.type !== 'permission') throw new Error('It is no permission.')
  expect(ask.call).toEqual({ tool: 'remove', input: { path: 'a.txt' } })
  expect(JSON.stringify(askDetails(ask))).toContain("a.txt can't be restored.")
  await client.answer(ask, 'once')
  const second = await stream.result
  expect(partsOf(second)).toEqual([
    ['remove', 'completed', { path: 'a.txt' }, '{"removed":"a.txt"}'],
    ['text', 'That is that.'],
  ])
  const third = client.prompt({ text: 'Once more [scenario:remove]', sessionID })
  const [again] = await pendingOf(third)
  if (again) await client.reject(again, 'I need it.')
  expect(partsOf(await third.result)[0]).toEqual([
    'remove',
    'error',
    { path: 'a.txt' },
    '{"kept":"a.txt","because":"I need it."}',
  ])
  const aborted = client.prompt({ text: 'And again [scenario:remove]', sessionID })
  await pendingOf(aborted)
  expect((await aborted.abort()).outcome).toBe('aborted')
  // The model gets the whole conversation, without the call that was never made.
  expect(textOf(await client.prompt({ text: 'Bye [scenario:bye]', sessionID }).result)).toBe('Goodbye.')
  const words = JSON.stringify(mastra.model.requests.at(-1)?.body)
  for (const word of ['What is here?', 'I look.', 'One file.', 'That is that.', 'I need it.'])
    expect(words).toContain(word)
  expect(errors).toEqual([])
  await client.close()
})
