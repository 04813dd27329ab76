import { expect, test } from 'vitest'
import { toReceived } from '../src/baileys/inbound.ts'
import { parseWebhook } from '../src/cloud/inbound.ts'

/** The text of a message with this content, over the Cloud API. */
function cloudText(content: object): string | undefined {
  const message = { id: 'wamid.1', from: '15550000001', timestamp: '1', ...content }
  const value = { metadata: { phone_number_id: '1' }, messages: [message] }
  const body = JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [{ id: '1', changes: [{ field: 'messages', value }] }],
  })
  const [event] = parseWebhook(new TextEncoder().encode(body), '1') ?? []
  return event?.type === 'message' && event.received?.type === 'text' ? event.received.text : undefined
}

/** The text of a message with this content, for a linked device. */
function deviceText(content: object): string | undefined {
  const key = { remoteJid: '15550000001@s.whatsapp.net', id: 'A1', fromMe: false }
  return toReceived({ key, messageTimestamp: 1, message: content }, [], (inner) => inner ?? undefined)?.received?.text
}

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
