import { emptyReply, type PermissionAsk, type Reply } from '@reply/core'
import { answerWith, type Inbound, memoryStore, type Sink } from '@reply/sink'
import { expect, test } from 'vitest'
import { telegramChannel } from '../src/index.ts'
import { start, until } from './bot.ts'

const ask: PermissionAsk = {
  type: 'permission',
  requestID: 'per_1',
  sessionID: 'ses_1',
  directory: undefined,
  path: ['ses_1'],
  status: 'pending',
  permission: 'bash',
  patterns: [],
  always: ['touch *'],
  title: 'touch a',
  metadata: {},
  call: { tool: 'bash', input: { command: 'touch a' } },
}
const asking: Reply = { ...emptyReply('ses_1'), promptIDs: ['msg_1'], phase: 'blocked', asks: [ask] }

/** One process: a channel that answers through the sinks it has. */
async function live({ telegram, api, clock }: Awaited<ReturnType<typeof start>>, store = memoryStore()) {
  const given: unknown[] = []
  const sinks: Sink[] = []
  const answer = answerWith({
    client: {
      answer: async (_, value) => void given.push(value),
      reject: async () => void given.push('rejected'),
      abort: async () => {},
    },
    running: () => sinks.map((sink) => ({ sink, stream: { abort: async () => asking } })),
  })
  const onInbound = async (inbound: Inbound): Promise<unknown> => await answer(inbound)
  const channel = telegramChannel({ api, clock, updates: 'polling', store, onInbound })
  const press = async (label: string): Promise<string | undefined> => {
    const id = telegram.screen(7).at(-1)?.messageId ?? 0
    return (await telegram.press(7, id, label).settled).text
  }
  channel.start()
  const show = (): void => {
    const sink = channel.sinkFor({ chat: { id: '7', kind: 'private' } })
    sinks.push(sink)
    sink.replyStarted?.({ type: 'replyStarted', reply: asking })
  }
  return { channel, given, press, show, store, sinks }
}

test('after a restart, a press is told to try again until the reply of its ask is known, and then answers', async () => {
  const started = await start()
  const first = await live(started)
  first.show()
  await until(() => started.telegram.screen(7).some(({ buttons }) => buttons.length > 0))
  await Promise.all(first.sinks.map((sink) => sink.stop()))
  await first.channel.stop()
  const second = await live(started, first.store)
  expect(await second.press('Reject')).toBe(
    'No request is waiting for this answer. If the buttons stay, try again in a moment.',
  )
  second.show()
  // The sink reads its ledger while the press comes in.
  expect(await second.press('Reject')).toContain('ejected')
  expect(second.given).toEqual(['rejected'])
  await Promise.all(second.sinks.map((sink) => sink.stop()))
  await second.channel.stop()
})
