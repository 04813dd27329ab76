import { expect, onTestFinished, test } from 'vitest'
import { startDemo } from '../src/index.ts'

test('the demo asks a question and continues once it is answered', async () => {
  const demo = await startDemo({ chunkDelayMs: 0 })
  onTestFinished(demo.stop)
  const at = (path: string): string => `${demo.url}${path}?directory=${encodeURIComponent(demo.directory)}`
  const post = (path: string, body: unknown) =>
    fetch(at(path), { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const { id } = (await (await post('/session', {})).json()) as { id: string }
  const reply = post(`/session/${id}/message`, { parts: [{ type: 'text', text: demo.prompt }] })
  await expect
    .poll(async () => {
      const pending = (await (await fetch(at('/question'))).json()) as readonly { readonly id: string }[]
      await Promise.all(pending.map((each) => post(`/question/${each.id}/reply`, { answers: [['After tax']] })))
      return pending.length
    })
    .toBe(1)
  const last = JSON.stringify(await (await reply).json())
  expect(last.includes('taken off *after tax*')).toBe(true)
  const messages = JSON.stringify(await (await fetch(at(`/session/${id}/message`))).json())
  const said = ['has no step', 'ℹ fail 1', 'ℹ fail 0'].map((words) => messages.includes(words))
  expect(said).toEqual([false, true, true])
})
