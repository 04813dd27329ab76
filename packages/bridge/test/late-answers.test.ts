import type { Sink } from '@reply/sink'
import { expect, test } from 'vitest'
import { LatePressError } from '../src/commands/late-press.ts'
import { createAnswerAsk } from '../src/intake/answers.ts'

type Match = Awaited<ReturnType<Sink['findAsks']>>[number]
const place = { channel: 'tg', chat: { id: '1' } }

/** Whether a late text is refused in a chat whose asks match it like this. Nothing is taken by an ask. */
async function isRefused(types: readonly Match['type'][]): Promise<boolean> {
  const take = (): never => expect.fail('It was taken.')
  const sink = { findAsks: async () => types.map((type) => ({ type, ask: {}, take })) }
  const services = {
    runs: { followed: () => [{ sinks: [{ ...place, sink }], stream: () => ({}) }] },
    channels: { sinkFields: () => ({}) },
  } as unknown as Parameters<typeof createAnswerAsk>[0]
  const answerAsk = createAnswerAsk(services, () => ({}) as never)
  const inbound = { type: 'text', chat: place.chat, actor: { id: '1', name: 'Ann' }, text: 'yes' } as never
  const requireDue = (): number => {
    throw new LatePressError()
  }
  return await answerAsk(place.channel, inbound, { requireDue }).then(
    (isTaken) => isTaken,
    (error) => error instanceof LatePressError,
  )
}

test('a late text is refused if it would be an answer, and not if the ask was shown after it was written', async () => {
  expect(await isRefused(['fits'])).toBe(true)
  expect(await isRefused(['maybe', 'late'])).toBe(true)
  expect(await isRefused(['maybe'])).toBe(false)
  expect(await isRefused([])).toBe(false)
})
