import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createUtf8Reader } from '../src/wire/utf8.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

test('any bytes in any pieces give what the streaming TextDecoder gives', () => {
  const special = fc.constantFrom(
    0x41,
    0x80,
    0xbf,
    0xc2,
    0xe0,
    0xe2,
    0x82,
    0xac,
    0xed,
    0xa0,
    0xef,
    0xbb,
    0xf0,
    0x9f,
    0xf5,
    0xff,
  )
  const chunk = fc.array(special, { maxLength: 9 }).map((bytes) => Uint8Array.from(bytes))
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 6 }), (chunks) => {
      const reader = createUtf8Reader()
      const decoder = new TextDecoder()
      // Compared after more input: both decoders hold back an incomplete character.
      const all = [...chunks, bytesOf('end')]
      expect(all.map((bytes) => reader.read(bytes)).join('')).toBe(
        all.map((bytes) => decoder.decode(bytes, { stream: true })).join(''),
      )
    }),
    { numRuns: 2000 },
  )
})

test('a character in four pieces is returned when it is complete', () => {
  const reader = createUtf8Reader()
  const [a, b, c, d] = bytesOf('😀')
  expect([a, b, c, d].map((byte) => reader.read(Uint8Array.from([byte ?? 0])))).toEqual(['', '', '', '😀'])
})

test('only a byte order mark at the beginning is dropped', () => {
  const reader = createUtf8Reader()
  expect([reader.read(bytesOf('\uFEFFone')), reader.read(bytesOf('\uFEFFtwo'))]).toEqual(['one', '\uFEFFtwo'])
  reader.reset()
  expect(reader.read(bytesOf('\uFEFFthree'))).toBe('three')
})
