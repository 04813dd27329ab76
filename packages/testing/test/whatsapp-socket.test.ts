import { describe, expect, test } from 'vitest'
import { createHandClock } from '../src/index.ts'
import { createFakeBaileys, type FakeSocketEvents, type SocketFault } from '../src/whatsapp/index.ts'

const jid = '4917000000002@s.whatsapp.net'
const group = '120363000000000000@g.us'

function open(faults: readonly SocketFault[] = []) {
  const clock = createHandClock()
  const baileys = createFakeBaileys({ clock, faults })
  return { clock, baileys, socket: baileys.connect() }
}

const own = (id: string) => ({ remoteJid: jid, fromMe: true, id })
const statusOf = async (call: Promise<unknown>): Promise<unknown> =>
  await call.then(
    () => 'done',
    (error: { output?: { statusCode?: number } }) => error.output?.statusCode,
  )

test('a message with an id that was used is ignored', async () => {
  const { baileys, socket } = open()
  await socket.sendMessage(jid, { text: '*one*' }, { messageId: 'A' })
  await socket.sendMessage(jid, { text: 'two' }, { messageId: 'A' })
  await socket.sendMessage(jid, { text: 'three' })
  expect(baileys.screen(jid).map(({ text }) => text)).toEqual(['one', 'three'])
  expect(baileys.notifications(jid)).toBe(2)
})

describe('an edit', () => {
  test('works for 15 min, and is silently ignored after that', async () => {
    const { clock, baileys, socket } = open()
    await socket.sendMessage(jid, { text: 'one' }, { messageId: 'A' })
    await clock.advance(900_000)
    await socket.sendMessage(jid, { text: 'two', edit: own('A') })
    await clock.advance(3000)
    expect(await statusOf(socket.sendMessage(jid, { text: 'three', edit: own('A') }))).toBe('done')
    expect(baileys.screen(jid)).toMatchObject([{ text: 'two', editedTimes: 1 }])
    expect([baileys.lateEdits, baileys.notifications(jid)]).toEqual([['A'], 1])
  })

  test('less than 3 s after another is rejected', async () => {
    const { clock, socket } = open()
    await socket.sendMessage(jid, { text: 'one' }, { messageId: 'A' })
    await socket.sendMessage(jid, { text: 'two', edit: own('A') })
    await clock.advance(2999)
    expect(await statusOf(socket.sendMessage(jid, { text: 'three', edit: own('A') }))).toBe(429)
    await clock.advance(1)
    expect(await statusOf(socket.sendMessage(jid, { text: 'three', edit: own('A') }))).toBe('done')
  })

  test('to the message of a person does nothing', async () => {
    const { baileys, socket } = open()
    const id = baileys.say(jid, 'Mine')
    await socket.sendMessage(jid, { text: 'Yours', edit: own(id) })
    await socket.sendMessage(jid, { delete: own(id) })
    expect(baileys.screen(jid)).toMatchObject([{ text: 'Mine' }])
  })
})

test('a closed socket stays closed, and fails the way Baileys does', async () => {
  const { baileys, socket } = open()
  const told: FakeSocketEvents['connection.update'][] = []
  socket.ev.on('connection.update', (update) => told.push(update))
  baileys.drop()
  expect(told).toMatchObject([
    { connection: 'close', lastDisconnect: { error: { isBoom: true, output: { statusCode: 428 } } } },
  ])
  expect(await statusOf(socket.sendMessage(jid, { text: 'one' }))).toBe(428)
  expect(await statusOf(socket.sendPresenceUpdate('composing', jid))).toBe(428)
  const next = baileys.connect()
  expect(await statusOf(next.sendMessage(jid, { text: 'one' }))).toBe('done')
  expect(baileys.calls.map(({ socket: number, ok }) => [number, ok])).toEqual([
    [1, false],
    [1, false],
    [2, true],
  ])
})

test('messages written while disconnected arrive as history', async () => {
  const { baileys } = open()
  baileys.drop()
  baileys.say(jid, 'Anybody?')
  const told: FakeSocketEvents['messages.upsert'][] = []
  baileys.connect().ev.on('messages.upsert', (upsert) => told.push(upsert))
  await Promise.resolve()
  expect(told).toMatchObject([{ type: 'append', messages: [{ message: { conversation: 'Anybody?' } }] }])
  baileys.say(group, 'Now', { from: '1@lid', name: 'Bob' })
  expect(told[1]).toMatchObject({
    type: 'notify',
    messages: [{ key: { remoteJid: group, participant: '1@lid', fromMe: false }, pushName: 'Bob' }],
  })
})

test('its own messages also arrive as history', async () => {
  const { socket } = open()
  const told: FakeSocketEvents['messages.upsert'][] = []
  socket.ev.on('messages.upsert', (upsert) => told.push(upsert))
  await socket.sendMessage(jid, { text: 'one' }, { messageId: 'A' })
  await Promise.resolve()
  expect(told).toMatchObject([{ type: 'append', messages: [{ key: { fromMe: true, id: 'A' } }] }])
})

test('mentions are counted, and a quote without its text fails as in Baileys', async () => {
  const { baileys, socket } = open()
  await socket.sendMessage(group, { text: '@1', mentions: ['1@lid'] })
  await socket.sendMessage(group, { text: '@2', contextInfo: { mentionedJid: ['2@lid'] } })
  await socket.sendMessage(group, { text: '@3' })
  expect(baileys.mentioned).toEqual(['1@lid', '2@lid'])
  await expect(socket.sendMessage(group, { text: 'a' }, { quoted: { key: own('A') } })).rejects.toThrow(TypeError)
})

// `sendRawMessage` in Baileys' `Socket/socket.ts`: a call resolves once its bytes are written.
test.each<[SocketFault, unknown, number]>([
  [{ type: 'refused', statusCode: 403 }, 403, 0],
  [{ type: 'drop' }, 428, 0],
  [{ type: 'unanswered' }, 408, 1],
  [{ type: 'accept-then-drop' }, 'done', 1],
  [{ type: 'silent' }, 'done', 0],
  [{ type: 'silent', isTaken: true }, 'done', 1],
])('%j ends with %j, leaves %i messages and acknowledges none', async (fault, status, count) => {
  const { baileys, socket } = open([fault])
  const acks: unknown[] = []
  socket.ws.on('CB:ack,class:message', (ack) => acks.push(ack))
  expect(await statusOf(socket.sendMessage(jid, { text: 'one' }))).toBe(status)
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  expect([baileys.screen(jid).length, baileys.isConnected]).toEqual([count, !fault.type.endsWith('drop')])
  expect(acks).toEqual([])
})

test('messages, edits and removals are acknowledged, and a refusal says why', async () => {
  const { clock, baileys, socket } = open([{ type: 'nack', error: '463', nth: 4 }])
  const acks: { readonly attrs: Readonly<Record<string, string>> }[] = []
  const told: unknown[] = []
  socket.ws.on('CB:ack,class:message', (ack) => acks.push(ack))
  socket.ev.on('messages.update', (updates) => told.push(...updates))
  await socket.sendMessage(jid, { text: 'one' }, { messageId: 'A' })
  await socket.sendMessage(jid, { text: 'two', edit: own('A') }, { messageId: 'B' })
  await socket.sendMessage(jid, { delete: own('A') }, { messageId: 'C' })
  await socket.sendMessage(jid, { text: 'three' }, { messageId: 'D' })
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  const t = String(Math.floor(clock.now() / 1000))
  expect(acks.map(({ attrs: { id, error, t } }) => [id, error, t])).toEqual([
    ['A', undefined, t],
    ['B', undefined, t],
    ['C', undefined, t],
    ['D', '463', t],
  ])
  expect(told).toMatchObject([{ key: own('D'), update: { status: 0, messageStubParameters: ['463'] } }])
  expect(baileys.screen(jid)).toEqual([])
})

test('a revoked or refused message disappears, with an event', async () => {
  const { baileys, socket } = open()
  const told: unknown[] = []
  socket.ev.on('messages.update', (updates) => told.push(...updates))
  for (const id of ['A', 'B']) await socket.sendMessage(jid, { text: id }, { messageId: id })
  baileys.revoke(jid, 'A')
  baileys.refuse(jid, 'B', '463')
  expect(baileys.screen(jid)).toEqual([])
  expect(told).toMatchObject([
    { key: own('A'), update: { messageStubType: 1 } },
    { key: own('B'), update: { status: 0, messageStubParameters: ['463'] } },
  ])
  expect(() => baileys.revoke(jid, 'C')).toThrow(/no message C/)
})
