import { expect, test } from 'vitest'
import { toFileRef, toReceived } from '../src/baileys/inbound.ts'
import { parseWebhook } from '../src/cloud/inbound.ts'

/** What a message with this content brings, over the Cloud API. */
function onCloud(content: object) {
  const message = { id: 'wamid.1', from: '15550000001', timestamp: '1', ...content }
  const value = { metadata: { phone_number_id: '1' }, messages: [message] }
  const body = JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [{ id: '1', changes: [{ field: 'messages', value }] }],
  })
  const [event] = parseWebhook(new TextEncoder().encode(body), '1') ?? []
  return event?.type === 'message' && event.received?.type === 'text' ? event.received : undefined
}

/** What a message with this content brings, for a linked device. Without content, the phone alone has it. */
function onDevice(content: object | undefined) {
  const key = { remoteJid: '15550000001@s.whatsapp.net', id: 'A1', fromMe: false }
  const message = content ? { key, message: content } : { key: { ...key, isViewOnce: true } }
  return toReceived({ ...message, messageTimestamp: 1 }, [], (inner) => inner ?? undefined)?.received
}

const cloudText = (content: object) => onCloud(content)?.text
const deviceText = (content: object) => onDevice(content)?.text

test('a location is a text', () => {
  const named = { name: 'Zytglogge', address: 'Bern' }
  expect(cloudText({ type: 'location', location: { latitude: 46.948, longitude: 7.4475, ...named } })).toBe(
    'Location: Zytglogge, Bern (46.948, 7.4475)',
  )
  expect(deviceText({ locationMessage: { degreesLatitude: 46.948, degreesLongitude: 7.4475 } })).toBe(
    'Location: 46.948, 7.4475',
  )
})

test('a contact is a text', () => {
  const contacts = [{ name: { formatted_name: 'Ann Lee' }, phones: [{ phone: '+41 31 000 00 00' }] }]
  expect(cloudText({ type: 'contacts', contacts })).toBe('Contact: Ann Lee, +41 31 000 00 00')
  const vcard = 'BEGIN:VCARD\nFN:Ann Lee\nitem1.TEL;waid=41310000000:+41 31 000 00 00\nEND:VCARD'
  expect(deviceText({ contactMessage: { displayName: 'Ann Lee', vcard } })).toBe('Contact: Ann Lee, +41 31 000 00 00')
})

test('a message of an unknown kind stays without a text', () => {
  expect(cloudText({ type: 'reaction', reaction: { message_id: '1', emoji: '👍' } })).toBeUndefined()
  expect(deviceText({ reactionMessage: { text: '👍' } })).toBeUndefined()
})

test('a file that WhatsApp withholds stays in the message', () => {
  const picture = { text: 'Look.', files: [{ ref: 'withheld', name: 'photo.jpg', mime: 'image/jpeg' }] }
  expect(onCloud({ type: 'image', image: { caption: 'Look.' } })).toMatchObject(picture)
  const gif = { text: '', files: [{ ref: 'withheld', name: 'animation.gif' }] }
  expect(onCloud({ type: 'unsupported', unsupported: { type: 'gif' } })).toMatchObject(gif)
  expect(onCloud({ type: 'unsupported', unsupported: { type: 'poll_creation' } })).toBeUndefined()
  for (const mediaKey of [undefined, '', new Uint8Array()])
    expect(onDevice({ imageMessage: { caption: 'Look.', mediaKey } })).toMatchObject({
      ...picture,
      files: [{ ref: 'phone-only', name: 'photo.jpg' }],
    })
  expect(onDevice(undefined)).toMatchObject({ text: '', files: [{ ref: 'phone-only', name: 'view-once message' }] })
})

test('a round video is a video', () => {
  const { files } = onDevice({ ptvMessage: { mediaKey: 'AA==', directPath: '/a', seconds: 3 } }) ?? {}
  expect(files).toMatchObject([{ name: 'video.mp4', mime: 'video/mp4', seconds: 3 }])
  expect(toFileRef(files?.[0]?.ref ?? '')).toMatchObject({ kind: 'video' })
})
