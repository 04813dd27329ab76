import { afterEach, expect, test } from 'vitest'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

let open: HandDriven
afterEach(async () => await open.chats.close())

test('a message that a hung state does not store is not confirmed, and is taken once when it comes again', async () => {
  let isHung = true
  open = await startHandDriven((run, text) => answer(run, `Heard ${text}.`), {
    storeOf: (store) => ({
      ...store,
      commit: async (writes, ...rest) => {
        const isMessage = writes.some((write) => write.type === 'enqueue' && write.queue.startsWith('inbox/'))
        if (isHung && isMessage) return await new Promise(() => {})
        return await store.commit(writes, ...rest)
      },
    }),
  })
  const { clock, telegram, passes, heard, said } = open
  telegram.say(1, 'one')
  const began = clock.now()
  // Longer than any channel waits for a message that is being handled.
  await passes(() => clock.now() - began > 20_000)
  expect(heard).toEqual([])
  isHung = false
  await passes(() => said(1).includes('Heard one.'))
  expect([heard, said(1)]).toEqual([['one'], ['Heard one.']])
})

test('a bridge stops although a hung state does not release its lease', async () => {
  let isClosed = false
  open = await startHandDriven((run, text) => answer(run, `Heard ${text}.`), {
    storeOf: (store) => ({
      ...store,
      release: async () => await new Promise(() => {}),
      close: async () => {
        isClosed = true
        await store.close()
      },
    }),
  })
  const stopped = open.chats.stop()
  expect(await open.passes(() => isClosed)).toBeLessThanOrEqual(11_000)
  await stopped
})
