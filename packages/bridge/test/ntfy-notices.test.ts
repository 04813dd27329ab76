import type { LocalRun } from '@reply/core/source'
import { noticeChannel } from '@reply/ntfy/bridge'
import { createHandClock } from '@reply/testing'
import { type FakeNtfy, type NtfyFault, startNtfy } from '@reply/testing/ntfy'
import { afterEach, expect, test } from 'vitest'
import type { BridgeEvent } from '../src/events/event.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

/** The topic, which is a secret. */
const topic = 'ann-9Wk3hQxTz7'

let open: HandDriven
let ntfy: FakeNtfy
afterEach(async () => {
  await open.chats.close()
  await ntfy.close()
})

test.each<[string, readonly NtfyFault[], { readonly rang: number; readonly doubtful: number }]>([
  ['no fault', [], { rang: 1, doubtful: 0 }],
  ['a 429 without a time', [{ type: 'rate-limited' }], { rang: 1, doubtful: 0 }],
  ['a used-up day', [{ type: 'quota', times: 3 }], { rang: 1, doubtful: 0 }],
  ['a 502 of a proxy', [{ type: 'status', code: 502 }], { rang: 1, doubtful: 1 }],
  ['a 503 after it was taken', [{ type: 'status', code: 503, isTaken: true }], { rang: 2, doubtful: 1 }],
  ['a broken connection', [{ type: 'accept-then-drop' }], { rang: 2, doubtful: 1 }],
  ['silence', [{ type: 'accept-then-stall' }], { rang: 2, doubtful: 1 }],
])('after %s, a phone shows the notice once, and the chat has its answer', async (_, faults, { rang, doubtful }) => {
  const clock = createHandClock()
  const events: BridgeEvent[] = []
  const runs: LocalRun[] = []
  ntfy = await startNtfy({ clock, faults })
  const entry = { type: 'ntfy', server: ntfy.url, topic: { env: 'TOKEN_TELEGRAM' } }
  open = await startHandDriven((run) => void runs.push(run), {
    clock,
    more: { phone: { entry, channel: { ...noticeChannel, create: createOn(topic) } } },
    people: { ann: { ids: ['telegram:1'], may: ['prompt'], notify: ['phone'] } },
    observers: [(event) => void events.push(event)],
  })
  const results = () =>
    events.flatMap((event) => (event.type === 'notice' ? [[event.result, event.doubtful] as const] : []))
  open.telegram.say(1, 'Go on')
  await open.passes(() => runs.length > 0)
  let isLater = false
  clock.after(70_000, () => {
    isLater = true
  })
  await open.passes(() => isLater)
  for (const run of runs) answer(run, 'Done.')
  await open.passes(() => open.said(1).some((text) => text.includes('Done.')))
  for (let nth = 0; nth < 30 && results().length === 0; nth++) await open.passes(() => results().length > 0)
  expect(results()).toEqual([['sent', doubtful]])
  expect(ntfy.screen(topic).map(({ title }) => title)).toEqual(['Done'])
  expect(ntfy.notifications(topic)).toBe(rang)
  expect(open.said(1).join()).not.toMatch(/ntfy|phone|missing/)
  expect(open.chats.errors.map(({ message }) => message).join()).not.toContain(topic)
})

/** Returns a `create` that reads this topic, whatever its source is. */
function createOn(secret: string): typeof noticeChannel.create {
  return async (config, host) => await noticeChannel.create(config, { ...host, secret: () => secret })
}
