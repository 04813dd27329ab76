import { isShownText, partsOf, replay } from '@reply/core'
import { listRecordings, readRecording } from '@reply/testing'
import { chatAt } from '@reply/web/inspect'
import { describe, expect, test } from 'vitest'
import { loadChannels } from '../src/inspect/channels.ts'
import { playChannel } from '../src/inspect/play-channel.ts'
import { playTerminal } from '../src/inspect/play-terminal.ts'

const channels = await loadChannels()
const recordings = ([1, 2] as const).flatMap((generation) =>
  listRecordings({ generation }).filter((_, index) => index % 40 === 5),
)

/** Letters and digits alone: markup and escapes differ by channel. */
const plain = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]+/gu, '')

test('every channel has a log', () => {
  expect(channels.map(({ name }) => name)).toEqual(['telegram', 'telegram-group', 'slack', 'discord', 'whatsapp'])
})

describe.each(channels.map((channel) => [channel.name, channel] as const))('%s', (_, channel) => {
  test.each(recordings.map((one) => [`${one.version}/${one.scenario}`, one] as const))(
    'shows the answers of %s within its budgets',
    async (_name, recording) => {
      const { bytes } = readRecording(recording)
      const log = await playChannel(bytes, channel)
      const end = Number.POSITIVE_INFINITY
      for (const reply of await replay(bytes)) {
        if (reply.outcome !== 'completed') continue
        const { messages } = chatAt(log, reply.sessionID, end)
        const shown = plain(messages.map(({ content, streamed }) => content?.source ?? streamed ?? '').join(' '))
        for (const part of partsOf(reply).filter(isShownText)) expect(shown).toContain(plain(part.text).slice(0, 40))
      }
      for (const call of log.calls) {
        const { used } = chatAt(log, call.sessionID, call.at)
        for (const [index, { calls, of }] of log.budgets.entries()) expect(used[index], of).toBeLessThanOrEqual(calls)
        if (call.kind !== 'typing' && call.kind !== 'upload') expect(call.platform).not.toEqual([])
      }
      expect(log.isCut).toBe(false)
    },
  )
})

test('the terminal has the answers as it would write them to a pipe', async () => {
  for (const recording of recordings) {
    const { bytes } = readRecording(recording)
    const log = await playTerminal(bytes)
    for (const reply of await replay(bytes)) {
      if (reply.outcome !== 'completed') continue
      const { messages } = chatAt(log, reply.sessionID, Number.POSITIVE_INFINITY)
      const shown = plain(messages.map(({ streamed }) => streamed ?? '').join(' '))
      for (const part of partsOf(reply).filter(isShownText)) expect(shown).toContain(plain(part.text).slice(0, 30))
    }
  }
})
