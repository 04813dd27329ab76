import { type Inbound, memoryStore } from '@reply/sink'
import type { Bubble, PortError } from '@reply/sink/channel'
import { createHandClock } from '@reply/testing'
import { createFakeBaileys, type SocketFault } from '@reply/testing/whatsapp'
import { describe, expect, test } from 'vitest'
import { settledWith, text } from '../../sink/test/make.ts'
import { type BaileysSocket, baileysChannel } from '../src/index.ts'
import { createBaileysPort, renderWhatsApp } from '../src/internal.ts'

const jid = '4917000000002@s.whatsapp.net'
const group = '120363000000000000@g.us'
const editing = { chat: { id: jid }, signal: new AbortController().signal }
const posting = { ...editing, silent: false, key: 'k' }
const bubble = (source: string, more: Partial<Bubble> = {}): Bubble => ({
  ...renderWhatsApp(source),
  source,
  isPlain: false,
  buttons: [],
  ...more,
})

function open(faults: readonly SocketFault[] = [], to = jid, admins: Readonly<Record<string, readonly string[]>> = {}) {
  const clock = createHandClock()
  const baileys = createFakeBaileys({ clock, faults, admins })
  let socket: BaileysSocket | undefined = baileys.connect()
  const port = createBaileysPort({ socket: () => socket, jid: to, clock, replyTo: undefined })
  return {
    clock,
    baileys,
    port,
    connect: () => {
      socket = baileys.connect()
    },
    leave: () => {
      socket = undefined
    },
  }
}

async function ending(call: Promise<unknown> | undefined): Promise<Partial<PortError>> {
  try {
    await call
    return {}
  } catch (error) {
    return error as PortError
  }
}

/** Lets pending promises settle. */
async function rest(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await Promise.resolve()
}

describe('the port', () => {
  test("gives each post an id in Baileys' form, the same for each retry", async () => {
    const { baileys, port } = open()
    const first = await port.post(bubble('One.'), posting)
    expect(await port.post(bubble('One.'), posting)).toEqual(first)
    expect(await port.post(bubble('One.'), { ...posting, key: 'other' })).not.toEqual(first)
    expect(first.id).toMatch(/^3EB0[0-9A-F]{18}$/)
    expect(baileys.screen(jid)).toHaveLength(2)
  })

  test('edits, and refuses a late edit itself, because WhatsApp would drop it silently', async () => {
    const { clock, baileys, port } = open()
    const ref = await port.post(bubble('Before.'), posting)
    await clock.advance(870_000 - 1)
    await port.edit?.(ref, bubble('**After.**'), editing)
    expect(baileys.screen(jid)).toMatchObject([{ text: 'After.', editedTimes: 1 }])
    await clock.advance(1)
    expect(await ending(port.edit?.(ref, bubble('Late.'), editing))).toMatchObject({ type: 'fixed' })
    expect([baileys.lateEdits, baileys.count('edit')]).toEqual([[], 1])
  })

  test('mentions no one', async () => {
    const { baileys, port } = open([], group)
    await port.post(bubble('@everyone and @4917000000002, see <@U123>'), posting)
    expect(baileys.mentioned).toEqual([])
  })

  test('shows typing, and marks the prompt as read', async () => {
    const { clock, baileys } = open()
    const socket = baileys.connect()
    const id = baileys.say(jid, 'Hi')
    const port = createBaileysPort({ socket, jid, clock, replyTo: `${id}/${jid}` })
    await port.typing?.(true, editing)
    expect([baileys.typing(jid), baileys.screen(jid)[0]?.isRead]).toEqual([true, true])
    await port.typing?.(false, editing)
    expect([baileys.typing(jid), baileys.count('read')]).toEqual([false, 1])
  })

  test('posts files and reactions', async () => {
    const { baileys, port } = open()
    const id = baileys.say(jid, 'Hi')
    await port.react?.({ id: `${id}/${jid}` }, 'done', editing)
    await port.upload?.({ name: 'a.css', mime: 'text/plain', bytes: Buffer.from('a {}'), caption: 'A_file_' }, posting)
    expect(baileys.screen(jid)).toMatchObject([
      { reaction: '✅' },
      { text: 'A_file_', document: { name: 'a.css', mediaType: 'text/plain', bytes: Buffer.from('a {}') } },
    ])
  })

  test.each<[SocketFault, Partial<PortError>]>([
    [
      { type: 'refused', statusCode: 429 },
      { type: 'rate-limited', retryAfterMs: 30_000, scope: 'client' },
    ],
    [
      { type: 'refused', statusCode: 401 },
      { type: 'refused', isOfChat: false, message: expect.stringMatching(/link it again/) },
    ],
    [
      { type: 'refused', statusCode: 403 },
      { type: 'refused', isOfChat: true },
    ],
    [{ type: 'drop' }, { type: 'ambiguous' }],
    [
      { type: 'accept-then-drop' },
      { type: 'ambiguous', message: expect.stringMatching(/before WhatsApp acknowledged/) },
    ],
    [{ type: 'unanswered' }, { type: 'ambiguous' }],
    [
      { type: 'nack', error: '463' },
      { type: 'refused', message: expect.stringMatching(/463.*restricts this account/) },
    ],
    [{ type: 'nack', error: '500' }, { type: 'unreachable' }],
    [{ type: 'refused', statusCode: 500, message: 'odd' }, { type: 'ambiguous' }],
  ])('fails by its kind: %j', async (fault, expected) => {
    const { port } = open([fault])
    expect(await ending(port.post(bubble('Hi.'), posting))).toMatchObject(expected)
  })

  test.each(['post', 'edit', 'remove'] as const)(
    'a %s without an acknowledgement is unknown, not done',
    async (verb) => {
      const { clock, baileys, port } = open()
      const ref = await port.post(bubble('Hi.'), posting)
      await clock.advance(3000)
      baileys.inject({ type: 'silent' })
      const call = {
        post: () => port.post(bubble('More.'), { ...posting, key: 'more' }),
        edit: () => port.edit?.(ref, bubble('Changed.'), editing),
        remove: () => port.remove?.(ref, editing),
      }[verb]
      const end = ending(call())
      await clock.advance(10_000, rest)
      expect(await end).toMatchObject({
        type: 'ambiguous',
        message: expect.stringMatching(/not acknowledge.*10000 ms/),
      })
      expect(baileys.screen(jid)).toMatchObject([{ text: 'Hi.' }])
    },
  )

  test('a late acknowledgement of an earlier try does not count for the next', async () => {
    const { clock, baileys, port } = open([
      { type: 'nack', error: '500' },
      { type: 'silent', nth: 2 },
    ])
    expect(await ending(port.post(bubble('Hi.'), posting))).toMatchObject({ type: 'unreachable' })
    const again = ending(port.post(bubble('Hi.'), posting))
    await clock.advance(10_000, rest)
    expect(await again).toMatchObject({ message: expect.stringMatching(/not acknowledge/) })
    await port.post(bubble('Hi.'), posting)
    expect(baileys.screen(jid)).toHaveLength(1)
  })

  test('times out without an answer', async () => {
    const { clock, port } = open([{ type: 'stall' }])
    const post = ending(port.post(bubble('Hi.'), posting))
    await rest()
    await clock.advance(60_000)
    expect(await post).toMatchObject({ type: 'ambiguous' })
  })

  test('without a socket is unreachable, and goes on over the next one', async () => {
    const { baileys, port, leave, connect } = open()
    leave()
    expect(await ending(port.post(bubble('Hi.'), posting))).toMatchObject({ type: 'unreachable' })
    connect()
    await port.post(bubble('Hi.'), posting)
    expect(baileys.screen(jid)).toHaveLength(1)
  })

  test('after a restart edits a message known only by its id', async () => {
    const { clock, baileys, port } = open()
    const ref = await port.post(bubble('Before.'), posting)
    const again = createBaileysPort({ socket: baileys.connect(), jid, clock })
    await again.edit?.(ref, bubble('After.'), editing)
    await again.post(bubble('Done.'), { ...posting, key: 'done', replyTo: ref })
    expect(baileys.screen(jid)).toMatchObject([{ text: 'After.' }, { replyTo: ref.id }])
  })
})

function listen(onInbound: (inbound: Inbound) => unknown = () => {}) {
  const clock = createHandClock()
  const baileys = createFakeBaileys({ clock })
  const received: Inbound[] = []
  const errors: Error[] = []
  const channel = baileysChannel({
    clock,
    onInbound: (inbound) => {
      received.push(inbound)
      return onInbound(inbound)
    },
    onError: (error) => errors.push(error),
  })
  channel.setSocket(baileys.connect())
  return { clock, baileys, received, errors, channel }
}

describe('the channel', () => {
  test('receives a text with its actor, chat and the message that it replies to', async () => {
    const { baileys, received } = listen()
    const first = baileys.say(jid, 'Hi')
    baileys.say(group, '/stop', { from: '222@lid', name: 'Bob' })
    baileys.say(jid, 'And', { replyTo: first })
    await rest()
    expect(received).toMatchObject([
      { type: 'text', chat: { id: jid }, actor: { id: jid, name: 'Ada' }, text: 'Hi', isCommand: false },
      { chat: { id: group }, actor: { id: '222@lid', name: 'Bob' }, text: '/stop', isCommand: true },
      { text: 'And', replyTo: { id: `${first}/${jid}` } },
    ])
  })

  test('names a quoted message of its own as a sink named it', async () => {
    const { clock, baileys, received } = listen()
    const ref = await createBaileysPort({ socket: baileys.connect(), jid, clock }).post(bubble('Ask.'), posting)
    const { channel } = listen()
    channel.setSocket(undefined)
    expect(received).toEqual([])
    const other = baileysChannel({ onInbound: (inbound) => received.push(inbound), clock })
    other.setSocket(baileys.connect())
    baileys.say(jid, '1', { replyTo: ref.id })
    await rest()
    expect(received).toMatchObject([{ text: '1', replyTo: { id: ref.id } }])
  })

  test('receives no messages of its own, stories or channels', async () => {
    const { baileys, received, channel, errors } = listen()
    baileys.say(jid, 'Mine', { isMine: true })
    baileys.say('status@broadcast', 'A story', { from: jid })
    baileys.say('1@newsletter', 'News')
    baileys.drop()
    baileys.say(jid, 'Mine, while disconnected', { isMine: true })
    channel.setSocket(baileys.connect())
    await rest()
    expect([received, errors]).toEqual([[], []])
  })

  // `handleMessage` of Baileys 7.0.0-rc14: `upsertMessage(msg, node.attrs.offline ? 'append' : 'notify')`.
  test('receives what was written while the socket was away, once and up to an age', async () => {
    const { clock, baileys, received, channel, errors } = listen()
    const said = () => received.map((one) => one.type === 'text' && one.text)
    baileys.drop()
    baileys.say(jid, 'Long ago')
    await clock.advance(3_600_001)
    baileys.say(jid, 'While disconnected')
    baileys.say(group, 'In the group', { from: '222@lid' })
    channel.setSocket(baileys.connect())
    await rest()
    expect(said()).toEqual(['While disconnected', 'In the group'])
    expect(errors).toMatchObject([{ type: 'stale', message: expect.stringMatching(/older than 3600000 ms/) }])
    baileys.say(jid, 'And now')
    await rest()
    expect(said()).toEqual(['While disconnected', 'In the group', 'And now'])
  })

  test('people who write at once wait for their own messages only, and stop() waits for all of them', async () => {
    const { clock, baileys, received, channel } = listen(() => new Promise(() => {}))
    const people = Array.from({ length: 10 }, (_, at) => `49170000001${at}@s.whatsapp.net`)
    for (const one of people) baileys.say(one, 'Hi')
    baileys.say(people[0] ?? '', 'And more')
    await rest()
    expect(received.map(({ chat }) => chat.id)).toEqual(people)
    const stopped = channel.stop()
    await clock.advance(5000, rest)
    expect(received.map(({ chat }) => chat.id)).toEqual([...people, people[0]])
    await clock.advance(5000, rest)
    await stopped
  })

  test('receives nothing again after a restart where a store is given', async () => {
    const baileys = createFakeBaileys({ clock: createHandClock() })
    const [store, received] = [memoryStore(), [] as Inbound[]]
    const first = baileys.connect()
    const upserts: { messages: readonly unknown[]; type: 'notify' | 'append' }[] = []
    first.ev.on('messages.upsert', (upsert) => upserts.push(upsert))
    baileys.say(group, 'Once', { from: '222@lid' })
    for (const _ of ['first', 'after a restart']) {
      const channel = baileysChannel({ store, onInbound: (inbound) => received.push(inbound) })
      const socket = baileys.connect()
      const listeners: ((upsert: (typeof upserts)[number]) => void)[] = []
      channel.setSocket({ ...socket, ev: { on: (_, listener) => listeners.push(listener as never), off: () => {} } })
      for (const upsert of upserts) listeners[0]?.(upsert)
      await channel.stop()
    }
    expect(received).toMatchObject([{ text: 'Once' }])
  })

  // `processMessage` of Baileys emits every REVOKE with the id that it names, without a check of the author.
  test('a revoke counts only if the author sends it in the chat of the message', async () => {
    const { baileys, port, connect } = open()
    connect()
    const ref = await port.post(bubble('Mine.'), posting)
    baileys.revoke(jid, ref.id, { by: jid })
    baileys.revoke(jid, ref.id, { by: '4917000000666@s.whatsapp.net' })
    await port.edit?.(ref, bubble('Still mine.'), editing)
    expect(baileys.screen(jid)).toMatchObject([{ text: 'Still mine.' }])
    baileys.revoke(jid, ref.id)
    expect(await ending(port.edit?.(ref, bubble('Late.'), editing))).toMatchObject({ type: 'gone' })
  })

  // `ADMIN_REVOKE` beside `SENDER_REVOKE`: https://wppconnect.io/wa-js/enums/whatsapp.enums.EDIT_ATTR.html
  test("an administrator's revoke counts in the group, another member's does not", async () => {
    const group = '120363000000000001@g.us'
    const admin = '222222222222222@lid'
    const { baileys, port, connect } = open([], group, { [group]: [admin] })
    connect()
    const place = { ...editing, chat: { id: group } }
    const ref = await port.post(bubble('Mine.'), { ...posting, chat: { id: group } })
    baileys.revoke(group, ref.id, { by: '333333333333333@lid' })
    await rest()
    await port.edit?.(ref, bubble('Still mine.'), place)
    expect(baileys.screen(group)).toMatchObject([{ text: 'Still mine.' }])
    baileys.revoke(group, ref.id, { by: admin })
    await rest()
    expect(await ending(port.edit?.(ref, bubble('Late.'), place))).toMatchObject({ type: 'gone' })
  })

  test('receives each message once, and none over a replaced or closed socket', async () => {
    const { baileys, received, channel } = listen()
    const upserts: unknown[] = []
    const first = baileys.connect()
    first.ev.on('messages.upsert', (upsert) => upserts.push(upsert))
    channel.setSocket(first)
    channel.setSocket(first)
    baileys.say(jid, 'one')
    await rest()
    expect([received.length, upserts.length]).toEqual([1, 1])
    await channel.stop()
    baileys.say(jid, 'two')
    await rest()
    expect(received).toHaveLength(1)
  })

  test('skips unreadable messages and reports them', async () => {
    const { received, errors, channel } = listen()
    const { baileys } = listen()
    const socket = baileys.connect()
    const listeners: ((upsert: { messages: readonly unknown[]; type: string }) => void)[] = []
    channel.setSocket({ ...socket, ev: { on: (_, listener) => listeners.push(listener as never), off: () => {} } })
    listeners[0]?.({ messages: [{ key: null }, 5], type: 'notify' })
    await rest()
    expect([received, errors.map(({ name, message }) => `${name} ${message}`)]).toEqual([
      [],
      Array(2).fill("WhatsAppError Skipped a message that can't be read."),
    ])
  })

  test('answers a text with a message that quotes it', async () => {
    const { baileys } = listen((inbound) => (inbound.type === 'text' ? inbound.answer('No *such* option.') : 0))
    const id = baileys.say(group, 'Purple')
    await rest()
    expect(baileys.screen(group)).toMatchObject([{}, { text: 'No *such* option.', replyTo: id }])
  })

  test('times out an answer that WhatsApp never confirms, and the sinks of that chat go on', async () => {
    const { clock, baileys, errors, channel } = listen((inbound) =>
      inbound.type === 'text' ? inbound.answer('No such option.') : 0,
    )
    baileys.inject({ type: 'stall' })
    baileys.say(jid, 'Purple')
    await rest()
    const sink = channel.sinkFor({ chat: { id: jid } }, { policy: { delivery: 'final' } })
    sink.replyStarted?.({ type: 'replyStarted', reply: settledWith([text('Done so.')]) })
    await clock.advance(70_000, rest)
    expect(errors).toMatchObject([{ type: 'answer', message: /no response within 30000 ms/ }])
    expect(baileys.screen(jid).at(-1)?.text).toBe('Done so.')
  })

  test('reports failures of the host, failed answers, and messages that WhatsApp refused later', async () => {
    const { clock, baileys, errors, channel } = listen(async (inbound) => {
      if (inbound.type === 'text') await inbound.answer('Hi.')
      throw new Error('broken')
    })
    baileys.inject({ type: 'refused', statusCode: 403 })
    baileys.say(jid, 'Hi')
    await rest()
    const ref = await createBaileysPort({ socket: baileys.connect(), jid, clock }).post(bubble('Ask.'), posting)
    const socket = baileys.connect()
    channel.setSocket(socket)
    baileys.refuse(jid, ref.id, '463')
    expect(errors).toMatchObject([
      { type: 'answer' },
      { type: 'inbound', message: `A text in chat ${jid} failed: broken` },
      { type: 'delivery', messageRef: { id: ref.id }, message: expect.stringMatching(/463/) },
    ])
  })
})
