import type { Inbound } from '@reply/sink'
import { createHandClock } from '@reply/testing'
import { type BaileysOptions, createFakeBaileys } from '@reply/testing/whatsapp'
import { describe, expect, test } from 'vitest'
import { type BaileysSocket, baileysChannel } from '../src/index.ts'
import { createBaileysPort, renderWhatsApp } from '../src/internal.ts'
import { until } from './cloud.ts'

const number = '4917000000002@s.whatsapp.net'
const lid = '222222222222222@lid'
const group = '120363000000000000@g.us'

function listen(options: BaileysOptions = {}, change: (socket: BaileysSocket) => BaileysSocket = (socket) => socket) {
  const clock = createHandClock()
  const baileys = createFakeBaileys({ clock, ...options })
  const received: Inbound[] = []
  const errors: Error[] = []
  const onInbound = (inbound: Inbound): unknown => received.push(inbound)
  const channel = baileysChannel({ clock, onInbound, onError: (error) => errors.push(error) })
  channel.setSocket(change(baileys.connect()))
  const texts = (count: number) => until(() => received.length === count)
  return { clock, baileys, received, errors, channel, texts }
}

const idsOf = (received: readonly Inbound[]) => received.map(({ chat, actor }) => [chat.id, actor.id])

describe('a person has one id', () => {
  test('in a group, whether WhatsApp uses their LID or their number', async () => {
    const { baileys, received, texts } = listen()
    baileys.say(group, 'one', { from: lid, alt: number })
    baileys.say(group, 'two', { from: number, alt: lid })
    baileys.say(group, 'three', { from: `${number.replace('@', ':12@')}` })
    baileys.say(group, 'four', { from: lid })
    await texts(4)
    expect(idsOf(received)).toEqual(Array(4).fill([group, number]))
  })

  test('in a private chat, whose id is the same', async () => {
    const { baileys, received, texts } = listen()
    baileys.say(lid, 'one', { alt: number })
    baileys.say(number, 'two', { alt: lid })
    baileys.say(lid, 'three')
    await texts(3)
    expect(idsOf(received)).toEqual(Array(3).fill([number, number]))
  })

  test('from the login if the message lacks the number', async () => {
    const { baileys, received, texts } = listen({ numbers: { [lid]: '4917000000002:0@s.whatsapp.net' } })
    baileys.say(group, 'one', { from: lid })
    await texts(1)
    expect(idsOf(received)).toEqual([[group, number]])
  })

  test.each<[string, Partial<BaileysSocket>]>([
    ['knows of none', {}],
    ['says nothing of it', { signalRepository: undefined }],
    [
      'fails at it',
      { signalRepository: { lidMapping: { getPNForLID: () => Promise.reject(new Error('Connection Closed')) } } },
    ],
  ])('which is the LID if the socket %s', async (_, more) => {
    const { baileys, received, errors, texts } = listen({}, (socket) => ({ ...socket, ...more }))
    baileys.say(group, 'one', { from: lid })
    baileys.say(lid, 'two')
    await texts(2)
    expect([idsOf(received), errors]).toEqual([
      [
        [group, lid],
        [lid, lid],
      ],
      [],
    ])
  })

  test('and another person with a hidden number has another one', async () => {
    const { baileys, received, texts } = listen()
    baileys.say(group, 'one', { from: lid, alt: number })
    baileys.say(group, 'two', { from: '333333333333333@lid', name: 'Ada' })
    await texts(2)
    expect(received.map(({ actor }) => actor)).toEqual([
      { id: number, name: 'Ada' },
      { id: '333333333333333@lid', name: 'Ada' },
    ])
  })

  test('but quotes use the id that WhatsApp used', async () => {
    const { clock, baileys, channel, received, texts } = listen()
    const id = baileys.say(lid, 'Hi', { alt: number })
    await texts(1)
    const quoted: unknown[] = []
    const socket = baileys.connect()
    channel.setSocket({
      ...socket,
      sendMessage: async (to, content, options) => {
        quoted.push(options?.quoted?.key)
        return await socket.sendMessage(to, content, options)
      },
    })
    const [first] = received
    if (first?.type !== 'text') throw new Error('nothing was received')
    const answered = first.answer('Hello.')
    await clock.advance(3000)
    await answered
    expect(baileys.screen(number)).toMatchObject([{ text: 'Hello.', replyTo: id }])
    expect(quoted).toEqual([{ remoteJid: number, fromMe: false, id, participant: lid }])
  })
})

test('a group message without a participant has an anonymous actor', async () => {
  const { clock, received, channel, texts } = listen()
  const listeners: ((upsert: { messages: readonly unknown[]; type: string }) => void)[] = []
  const { baileys } = listen()
  const socket = baileys.connect()
  channel.setSocket({ ...socket, ev: { on: (_, listener) => listeners.push(listener as never), off: () => {} } })
  const key = { remoteJid: group, fromMe: false, id: '3A1' }
  const seconds = Math.floor(clock.now() / 1000)
  const message = { key, message: { conversation: '1' }, messageTimestamp: { toString: () => String(seconds) } }
  listeners[0]?.({ messages: [message], type: 'notify' })
  await texts(1)
  expect(received).toMatchObject([{ actor: { isAnonymous: true }, messageRef: { postedAt: seconds * 1000 } }])
})

test('chats with one person are private, groups are shared', async () => {
  const { baileys, received, texts } = listen()
  for (const jid of [number, lid, group]) baileys.say(jid, 'Hi', { from: lid })
  await texts(3)
  expect(received.map(({ chat }) => chat.kind)).toEqual(['private', 'private', 'shared'])
})

test('forwarded messages are marked, and bots are ignored', async () => {
  const { baileys, received, texts } = listen()
  baileys.say(number, '1', { isForwarded: true })
  baileys.say(group, '1', { from: '867051314767696@bot' })
  baileys.say(number, '2')
  await texts(2)
  expect(received).toMatchObject([{ text: '1', isForwarded: true }, { text: '2' }])
  expect(received.map((one) => 'isForwarded' in one)).toEqual([true, false])
})

describe('a post has the time when it was accepted', () => {
  const bubble = { ...renderWhatsApp('Ask.'), source: 'Ask.', isPlain: false, buttons: [] }
  const posting = { chat: { id: number }, signal: new AbortController().signal, silent: false, key: 'k' }

  function open(options: BaileysOptions, change: (socket: BaileysSocket) => BaileysSocket = (socket) => socket) {
    const clock = createHandClock()
    const socket = change(createFakeBaileys({ clock, ...options }).connect())
    return { clock, port: createBaileysPort({ socket, jid: number, clock }) }
  }

  test("by WhatsApp's clock, however wrong the computer's is", async () => {
    const { clock, port } = open({ aheadMs: -3_600_000 })
    await clock.advance(1234)
    const ref = await port.post(bubble, posting)
    expect(ref.postedAt).toBe(Math.floor(clock.now() / 1000) * 1000)
    expect(
      await port.upload?.(
        { name: 'a.txt', mime: 'text/plain', bytes: Buffer.from('a'), caption: 'A.' },
        { ...posting, key: 'f' },
      ),
    ).toMatchObject({
      postedAt: ref.postedAt,
    })
  })
})
