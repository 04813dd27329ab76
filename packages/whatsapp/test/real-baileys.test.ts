import { readFileSync, rmSync } from 'node:fs'
import type { Inbound } from '@reply/sink'
import { createHandClock, until } from '@reply/testing'
import { createFakeBaileys } from '@reply/testing/whatsapp'
import { encryptedStream, generateWAMessage, normalizeMessageContent, type WAMessage } from 'baileys'
import { expect, test } from 'vitest'
import type { BaileysAck } from '../src/baileys/api.ts'
import { loadBaileys } from '../src/baileys/connection.ts'
import { type BaileysSocket, baileysChannel } from '../src/index.ts'
import { createBaileysPort, renderWhatsApp } from '../src/internal.ts'

const jid = '4917000000002@s.whatsapp.net'
const group = '120363000000000000@g.us'
const me = '4915100000000@s.whatsapp.net'

type Content = Parameters<typeof generateWAMessage>[1]

/** A socket that does with each call what Baileys' own does, up to the encryption. */
function real() {
  const clock = createHandClock()
  const sent: WAMessage[] = []
  const fake = createFakeBaileys({ clock }).connect()
  const acks = new Set<(ack: BaileysAck) => void>()
  const socket: BaileysSocket = {
    ...fake,
    ws: { on: (_, listener) => acks.add(listener), off: (_, listener) => acks.delete(listener) },
    sendMessage: async (to, content, options = {}) => {
      const upload = async () => ({ mediaUrl: 'https://mmg.whatsapp.net/a', directPath: '/a' })
      // A copy, because Baileys changes the message.
      const made = await generateWAMessage(to, { ...content } as Content, { userJid: me, upload, ...options })
      sent.push(made)
      for (const ack of acks) ack({ attrs: { id: made.key.id ?? '' } })
      return made
    },
  }
  return { clock, sent, socket, fake }
}

/** A PNG of one pixel. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const bubble = (source: string) => ({ ...renderWhatsApp(source), source, isPlain: false, buttons: [] })
const editing = { chat: { id: jid }, signal: new AbortController().signal }
const posting = { ...editing, silent: false, key: 'k' }

test("Baileys makes messages, edits, removals and reactions from the port's content", async () => {
  const { clock, sent, socket } = real()
  const port = createBaileysPort({ socket, jid, clock })
  const ref = await port.post(bubble('See https://a.b and **this**'), posting)
  await port.edit?.(ref, bubble('Edited.'), editing)
  await port.remove?.(ref, editing)
  await port.react?.({ id: `3A1/${jid}` }, 'seen', editing)
  await port.upload?.({ name: 'a.txt', mime: 'text/plain', bytes: Buffer.from('a'), caption: 'A.' }, posting)
  const bytes = Buffer.from(pixel, 'base64')
  await port.upload?.({ name: 'a.png', mime: 'image/png', bytes, caption: 'B.' }, { ...posting, key: 'p' })
  const own = { remoteJid: jid, fromMe: true, id: ref.id }
  expect(sent).toMatchObject([
    { key: own, message: { extendedTextMessage: { text: 'See https://a.b and *this*' } } },
    {
      message: { protocolMessage: { key: own, type: 14, editedMessage: { extendedTextMessage: { text: 'Edited.' } } } },
    },
    { message: { protocolMessage: { key: own, type: 0 } } },
    { message: { reactionMessage: { key: { id: '3A1', fromMe: false }, text: '👀' } } },
    { message: { documentMessage: { fileName: 'a.txt', mimetype: 'text/plain', caption: 'A.' } } },
    { message: { imageMessage: { mimetype: 'image/png', width: 1, height: 1, caption: 'B.' } } },
  ])
  expect(sent[1]?.key.id).not.toBe(ref.id)
})

test('Baileys quotes received and posted messages, and those known only by their id', async () => {
  const { clock, sent, socket } = real()
  const port = createBaileysPort({ socket, jid: group, clock })
  const channel = baileysChannel({ clock, onInbound: () => {} })
  channel.setSocket(socket)
  const ref = await port.post(bubble('Mine.'), posting)
  await port.post(bubble('An answer.'), { ...posting, key: 'a', replyTo: ref })
  await port.post(bubble('Another.'), { ...posting, key: 'b', replyTo: { id: '3A1/222@lid' } })
  const quotes = sent.slice(1).map(({ message }) => message?.extendedTextMessage?.contextInfo)
  expect(quotes).toMatchObject([
    { stanzaId: ref.id, participant: me, quotedMessage: { conversation: 'Mine.' } },
    { stanzaId: '3A1', participant: '222@lid' },
  ])
})

test("a channel reads messages in Baileys' own form", async () => {
  const { clock, fake, socket } = real()
  const received: Inbound[] = []
  const channel = baileysChannel({ clock, onInbound: (inbound) => received.push(inbound) })
  const listeners: ((upsert: { messages: readonly unknown[]; type: string }) => void)[] = []
  channel.setSocket({ ...socket, ev: { on: (_, listener) => listeners.push(listener as never), off: fake.ev.off } })
  const quoted = { key: { remoteJid: group, fromMe: true, id: '3EB01' }, message: { conversation: 'Which?' } }
  const made = await generateWAMessage(
    group,
    { text: 'The first', linkPreview: null },
    {
      userJid: me,
      upload: async () => ({ mediaUrl: '', directPath: '' }),
      quoted,
      ephemeralExpiration: 86_400,
    },
  )
  const arrived = { ...made, key: { ...made.key, fromMe: false, participant: '222@lid' }, pushName: 'Ada' }
  listeners[0]?.({ messages: [arrived], type: 'notify' })
  await until(() => received.length === 1)
  expect(received).toMatchObject([
    { chat: { id: group }, actor: { id: '222@lid', name: 'Ada' }, text: 'The first', replyTo: { id: '3EB01' } },
  ])
})

test("a channel reads the album of pictures in Baileys' own form", async () => {
  const { clock, fake, socket } = real()
  const received: Inbound[] = []
  const channel = baileysChannel({ clock, onlyFiles: true, onInbound: (inbound) => received.push(inbound) })
  const listeners: ((upsert: { messages: readonly unknown[]; type: string }) => void)[] = []
  channel.setSocket({ ...socket, ev: { on: (_, listener) => listeners.push(listener as never), off: fake.ev.off } })
  const upload = async () => ({ mediaUrl: 'https://mmg.whatsapp.net/a', directPath: '/a' })
  const picture = { image: Buffer.from([1]), mimetype: 'image/png', jpegThumbnail: '' }
  const albumParentKey = { remoteJid: jid, fromMe: false, id: 'ALBUM' }
  for (const content of [{ ...picture, caption: 'Two', albumParentKey }, { ...picture, albumParentKey }, picture]) {
    const made = await generateWAMessage(jid, content as Content, { userJid: me, upload })
    listeners[0]?.({ messages: [{ ...made, key: { ...made.key, fromMe: false } }], type: 'notify' })
  }
  await until(() => received.length === 3)
  expect(received).toMatchObject([
    { text: 'Two', albumID: 'ALBUM', files: [{ mime: 'image/png' }] },
    { text: '', albumID: 'ALBUM', files: [{ mime: 'image/png' }] },
    { text: '', files: [{ mime: 'image/png' }] },
  ])
  expect(received[2]).not.toHaveProperty('albumID')
})

test('the messages of an album that Baileys announces wait for each other, and the last one for none', async () => {
  const { clock, fake, socket } = real()
  const received: Inbound[] = []
  const channel = baileysChannel({ clock, onlyFiles: true, onInbound: (inbound) => received.push(inbound) })
  const listeners: ((upsert: { messages: readonly unknown[]; type: string }) => void)[] = []
  channel.setSocket({ ...socket, ev: { on: (_, listener) => listeners.push(listener as never), off: fake.ev.off } })
  const upload = async () => ({ mediaUrl: 'https://mmg.whatsapp.net/a', directPath: '/a' })
  const arrive = async (content: object, id: string, twice = false) => {
    const made = await generateWAMessage(jid, content as Content, { userJid: me, upload, messageId: id })
    const message = { ...made, key: { ...made.key, fromMe: false } }
    for (const type of twice ? ['notify', 'append'] : ['notify']) listeners[0]?.({ messages: [message], type })
  }
  const partOf = (id: string) => ({
    ...{ image: Buffer.from([1]), mimetype: 'image/png', jpegThumbnail: '' },
    albumParentKey: { remoteJid: jid, fromMe: false, id },
  })
  await arrive({ album: { expectedImageCount: 2, expectedVideoCount: 1 } }, 'ALBUM')
  await arrive(partOf('ALBUM'), 'A1', true)
  await arrive(partOf('ALBUM'), 'A2')
  await arrive(partOf('ALBUM'), 'A3')
  await arrive(partOf('UNKNOWN'), 'B1')
  await until(() => received.length === 4)
  expect(received.map((one) => one.type === 'text' && one.albumGapMs)).toEqual([30_000, 30_000, undefined, 4000])
})

// `proto.IMessage` of Baileys 7.0.0-rc14: the fields that are a `FutureProofMessage`, and that its
// `normalizeMessageContent` takes off.
test.each([
  ['ephemeralMessage'],
  ['viewOnceMessage'],
  ['viewOnceMessageV2'],
  ['viewOnceMessageV2Extension'],
  ['documentWithCaptionMessage'],
  ['associatedChildMessage'],
  ['ephemeralMessage', 'viewOnceMessageV2'],
])('a channel reads messages wrapped in %s %s', async (...wrappers) => {
  const clock = createHandClock()
  const baileys = createFakeBaileys({ clock })
  const received: Inbound[] = []
  const errors: Error[] = []
  const onError = (error: Error): unknown => errors.push(error)
  const channel = baileysChannel({ clock, onInbound: (inbound) => received.push(inbound), onError })
  channel.setSocket(baileys.connect())
  const first = baileys.say(jid, 'One', { wrappers })
  baileys.say(jid, 'Two', { wrappers, replyTo: first })
  baileys.say(jid, 'Three')
  await until(() => received.length === 3)
  expect(received).toMatchObject([
    { text: 'One' },
    { text: 'Two', replyTo: { id: `${first}/${jid}` } },
    { text: 'Three' },
  ])
  expect(errors).toEqual([])
})

test("a host can pass Baileys' own function", async () => {
  const baileys = createFakeBaileys({ clock: createHandClock() })
  const received: Inbound[] = []
  const channel = baileysChannel({ normalizeMessageContent, onInbound: (inbound) => received.push(inbound) })
  channel.setSocket(baileys.connect())
  baileys.say(jid, 'Once', { wrappers: ['viewOnceMessageV2'] })
  await until(() => received.length === 1)
  expect(received).toMatchObject([{ text: 'Once' }])
})

test('a function that throws skips one message and is reported', async () => {
  const baileys = createFakeBaileys({ clock: createHandClock() })
  const received: Inbound[] = []
  const errors: Error[] = []
  const channel = baileysChannel({
    normalizeMessageContent: () => {
      throw new Error('Broken.')
    },
    onInbound: (inbound) => received.push(inbound),
    onError: (error) => errors.push(error),
  })
  channel.setSocket(baileys.connect())
  baileys.say(jid, 'Once', { wrappers: ['viewOnceMessageV2'] })
  baileys.say(jid, 'Plain')
  await until(() => received.length === 1)
  expect(received).toMatchObject([{ text: 'Plain' }])
  expect(errors).toMatchObject([{ type: 'malformed', message: /Broken/ }])
  await channel.stop()
})

test.each([1, 15, 16, 5000])('a file of %i bytes that Baileys encrypted is decrypted', async (length) => {
  const content = Buffer.from(Array.from({ length }, (_, nth) => nth % 251))
  const { encFilePath, mediaKey } = await encryptedStream(content, 'audio')
  const encrypted = readFileSync(encFilePath)
  rmSync(encFilePath)
  const { findFile } = await loadBaileys()
  const file = {
    kind: 'audio',
    mediaKey: Buffer.from(mediaKey).toString('base64'),
    directPath: '/v/t62?ccb=1',
  } as const
  const { url, decrypt } = await findFile(file)
  expect(url).toBe('https://mmg.whatsapp.net/v/t62?ccb=1')
  expect(encrypted.length).toBeLessThanOrEqual(length + 26)
  expect(decrypt(encrypted)).toEqual(content)
  expect(() => decrypt(encrypted.subarray(0, -16))).toThrow()
})

test('a file is read from servers of WhatsApp alone', async () => {
  const { findFile } = await loadBaileys()
  const file = { kind: 'audio', mediaKey: Buffer.alloc(32).toString('base64') } as const
  const cdn = 'https://media.fxyz1-1.fna.whatsapp.net/v/a'
  expect(await findFile({ ...file, url: cdn })).toMatchObject({ url: cdn })
  expect(await findFile({ ...file, url: cdn, directPath: '/b' })).toMatchObject({
    url: 'https://media.fxyz1-1.fna.whatsapp.net/b',
  })
  expect(await findFile({ ...file, url: 'https://example.com/a', directPath: '/b' })).toMatchObject({
    url: 'https://mmg.whatsapp.net/b',
  })
  const foreign = [
    { url: 'http://169.254.169.254/latest' },
    { url: 'https://notwhatsapp.net/a' },
    { directPath: '@example.com/a' },
    { directPath: '.example.com/a' },
    {},
  ]
  for (const place of foreign) await expect(findFile({ ...file, ...place })).rejects.toThrow('no address of WhatsApp')
})
