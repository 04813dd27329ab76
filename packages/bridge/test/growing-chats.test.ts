import { emptyReply, type Reply } from '@reply/core'
import { discordLimits } from '@reply/discord/internal'
import { createSink } from '@reply/sink'
import { createPacer, type Limits } from '@reply/sink/channel'
import { createFake, fakeRender } from '@reply/sink/testing'
import { slackLimits } from '@reply/slack/internal'
import { telegramLimits } from '@reply/telegram/internal'
import { createHandClock } from '@reply/testing'
import { baileysLimits } from '@reply/whatsapp/internal'
import { expect, test } from 'vitest'

/** As in the rows `pace` of the benchmarks, but on the fake of the sinks, and with a piece every 500 ms instead of 100. */
const growsMs = 30_000
const pieceMs = 500

/** Lets calls, which take no time by the clock, and what they lead to settle. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 150; turn++) await undefined
}

function replyOf(index: number, pieces: number): Reply {
  const place = { id: `prt_${index}`, messageID: `msg_${index}`, raw: undefined }
  const part = { ...place, type: 'text', status: 'open', text: 'on '.repeat(pieces) } as const
  const messages = [{ id: place.messageID, parts: [part], raw: undefined }]
  return { ...emptyReply(`ses_${index}`), promptIDs: [`msg_0_${index}`], phase: 'working', startedAt: 0, messages }
}

/** How the texts of a chat are shown: as streams, or as messages that are edited. */
type GrowsBy = 'append' | 'edit'

/** Grows texts in this many chats of one client at once. Resolves with the longest time that one of them stood still, in ms. */
async function longestFreeze(limits: Limits, by: GrowsBy, chats: number): Promise<number> {
  const clock = createHandClock()
  const pacer = createPacer({ clock })
  const all = Array.from({ length: chats }, (_, index) => {
    const policy = { delivery: by === 'append' ? 'native' : 'edit' } as const
    // Its own limits would count streams with posts.
    const { port, calls } = createFake({ clock, stream: 'append', limits: { perChat: { calls: 100, perMs: 1 } } })
    const chat = { id: `${index}` }
    return { calls, sink: createSink({ port: { ...port, limits }, render: fakeRender, chat, policy, clock, pacer }) }
  })
  const beganAt = clock.now()
  for (let pieces = 1; pieces <= growsMs / pieceMs; pieces++) {
    for (const [index, { sink }] of all.entries())
      sink.replyAmended?.({ type: 'replyAmended', reply: replyOf(index, pieces) })
    await clock.advance(pieceMs, settle)
  }
  const freezes = all.flatMap(({ calls }) => {
    const shownAt = calls.filter(({ verb, result }) => verb !== 'typing' && result === 'done').map(({ at }) => at)
    return [...shownAt, clock.now()].map((at, index) => at - (shownAt[index - 1] ?? beganAt))
  })
  return Math.max(...freezes)
}

/** Returns the shortest time between two texts of a chat that the limits allow if this many chats take turns, in ms. */
function allowedMs({ perChat, perClient, perKind }: Limits, by: GrowsBy, chats: number): number {
  const ofChat = by === 'append' ? 0 : perChat.perMs / perChat.calls
  const ofAll = perKind?.[by] ?? perClient
  return Math.max(ofChat, ofAll ? (chats * ofAll.perMs) / ofAll.calls : 0)
}

test.each<[string, Limits, GrowsBy]>([
  ['Telegram', telegramLimits('private', true), 'edit'],
  ['Telegram, groups', telegramLimits('group', true), 'edit'],
  ['Discord', discordLimits, 'edit'],
  ['Slack', slackLimits, 'append'],
  ['Slack, by edits', slackLimits, 'edit'],
  ['WhatsApp, Baileys', baileysLimits, 'edit'],
])(
  'on %s, growing text stands still for at most 1.3 times as long as the limits allow, also in ten chats',
  async (...given) => {
    const [, limits, by] = given
    for (const chats of [1, 10])
      expect((await longestFreeze(limits, by, chats)) / allowedMs(limits, by, chats)).toBeLessThanOrEqual(1.3)
  },
)
