import { expect, test } from 'vitest'
import type { TelegramFault } from '../src/telegram/index.ts'
import { refusal, start, token, until } from './bot.ts'

const texts = (screen: readonly { readonly text: string }[]): readonly string[] => screen.map(({ text }) => text)

test.each<[TelegramFault, string]>([
  [{ type: 'status', code: 502 }, '502 Bad Gateway'],
  [{ type: 'status', code: 400, description: 'Bad Request: whatever' }, '400 Bad Request: whatever'],
  [{ type: 'html' }, 'no answer'],
  [{ type: 'refuse' }, 'no answer'],
])('%o: nothing is posted', async (fault, answer) => {
  const { telegram, api } = await start({ faults: [fault] })
  expect(await refusal(api.sendMessage(7, 'one'))).toBe(answer)
  expect(telegram.screen(7)).toEqual([])
  expect(telegram.calls).toMatchObject([{ ok: false, fault: fault.type }])
  expect(await refusal(api.sendMessage(7, 'two'))).toMatch('done')
})

test('accept-then-drop: the message is posted, but the client gets no answer', async () => {
  const { telegram, api } = await start({ faults: [{ type: 'accept-then-drop' }] })
  expect(await refusal(api.sendMessage(7, 'one'))).toBe('no answer')
  expect(texts(telegram.screen(7))).toEqual(['one'])
  expect(telegram.calls).toMatchObject([{ ok: true, status: 200, fault: 'accept-then-drop' }])
})

test('a status with isTaken: the message is posted, but the client gets an error', async () => {
  const { telegram, api } = await start({ faults: [{ type: 'status', code: 504, isTaken: true }] })
  expect(await refusal(api.sendMessage(7, 'one'))).toBe('504 Gateway Timeout')
  expect(texts(telegram.screen(7))).toEqual(['one'])
  expect(telegram.calls).toMatchObject([{ ok: true, status: 200, fault: 'status' }])
})

test.each([
  ['stall', []],
  ['accept-then-stall', ['one']],
] as const)('%s: the client gets no answer until it gives up', async (type, screen) => {
  const { telegram } = await start({ faults: [{ type }] })
  const leave = new AbortController()
  const url = `${telegram.url}/bot${token}/sendMessage?chat_id=7&text=one`
  const sent = fetch(url, { signal: leave.signal }).catch(() => 'no answer')
  await until(() => telegram.count('sendMessage') === 1 && telegram.screen(7).length === screen.length)
  leave.abort()
  expect(await sent).toBe('no answer')
  expect(texts(telegram.screen(7))).toEqual(screen)
})

test('delay: the call is executed and answered once the time has passed', async () => {
  const { telegram, api, clock } = await start({ faults: [{ type: 'delay', delayMs: 5000 }] })
  const sent = api.sendMessage(7, 'one')
  await until(() => clock.pending === 1)
  expect(telegram.screen(7)).toEqual([])
  await clock.advance(5000)
  expect(await sent).toMatchObject({ text: 'one' })
})

test('rate-limited: the chat alone is blocked for that time', async () => {
  const { telegram, api, clock } = await start({
    faults: [{ chatId: 7, type: 'rate-limited', retryAfterS: 600 }],
  })
  expect(await refusal(api.sendMessage(7, 'one'))).toBe('429 Too Many Requests: retry after 600')
  await clock.advance(599_000)
  expect(await refusal(api.sendMessage(7, 'two'))).toBe('429 Too Many Requests: retry after 1')
  expect(await refusal(api.sendMessage(8, 'other'))).toMatch('done')
  await clock.advance(1000)
  await api.sendMessage(7, 'three')
  expect(texts(telegram.screen(7))).toEqual(['three'])
})

test('a fault applies to the calls that it matches: the nth, the given number of times', async () => {
  const { telegram, api } = await start({
    faults: [
      { method: 'sendMessage', nth: 2, type: 'status', code: 500 },
      { method: /^edit/, times: 2, type: 'status', code: 504 },
    ],
  })
  await api.sendMessage(7, 'one')
  expect(await refusal(api.sendMessage(8, 'two'))).toBe('500 Internal Server Error')
  await api.sendMessage(9, 'three')
  expect(await refusal(api.editMessageText(7, 1, 'x'))).toBe('504 Gateway Timeout')
  expect(await refusal(api.editMessageText(7, 1, 'x'))).toBe('504 Gateway Timeout')
  await api.editMessageText(7, 1, 'x')
  telegram.inject({ chatId: 7, type: 'status', code: 500 })
  expect(await refusal(api.deleteMessage(7, 1))).toBe('500 Internal Server Error')
})

test('closing aborts pending calls and leaves no timer', async () => {
  const { telegram, api, clock } = await start({ faults: [{ type: 'delay', delayMs: 5000 }] })
  const waiting = [refusal(api.sendMessage(7, 'one')), refusal(api.getUpdates({ timeout: 30 }))]
  await until(() => clock.pending === 2)
  await telegram.close()
  expect(await Promise.all(waiting)).toEqual(['no answer', expect.any(String)])
  expect(clock.pending).toBe(0)
})
