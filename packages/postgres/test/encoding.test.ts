import fc from 'fast-check'
import { expect, test } from 'vitest'
import { afterPrefix, isKey, keyBytes, keyText, packed, unpacked } from '../src/encoding.ts'

const odd = ['', '\0', '\u00e9', '\ud7ff', '\ud800', '\udbff', '\udc00', '\udfff', '\ue000', '\ufeff', '\uffff']
const units = fc.oneof(
  fc.constantFrom(...odd, 'a', 'json:', '"', '\\'),
  fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
)
/** Any string, often with halves of pairs beside each other. */
const texts = fc.array(units, { maxLength: 8 }).map((parts) => parts.join(''))
const runs = { numRuns: 5000 }

/** Compares as `<` does: by UTF-16 units. */
function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

test('the bytes of a key are decoded to the same key', () => {
  fc.assert(
    fc.property(texts, (key) => {
      expect(keyText(keyBytes(key))).toBe(key)
    }),
    runs,
  )
})

test('the bytes of a text are a key, and others are none', () => {
  fc.assert(
    fc.property(texts, (key) => {
      expect(isKey(keyBytes(key))).toBe(true)
      expect(isKey(Buffer.concat([keyBytes(key), Buffer.from([0xff])]))).toBe(false)
    }),
    runs,
  )
  for (const hex of ['ff', 'c1', 'ed', 'c080', 'f0808080']) expect(isKey(Buffer.from(hex, 'hex'))).toBe(false)
})

test('the bytes of keys sort like the keys in JavaScript', () => {
  fc.assert(
    fc.property(texts, texts, texts, (start, one, other) => {
      const keys = [start + one, start + other] as const
      expect(Buffer.compare(keyBytes(keys[0]), keyBytes(keys[1]))).toBe(compare(...keys))
    }),
    runs,
  )
})

test('a key is within the range of a prefix if and only if it begins with it', () => {
  fc.assert(
    fc.property(texts, texts, fc.boolean(), (prefix, rest, isWithin) => {
      const key = isWithin ? prefix + rest : rest
      const after = afterPrefix(prefix)
      const bytes = keyBytes(key)
      const isInRange =
        Buffer.compare(bytes, keyBytes(prefix)) >= 0 && (after === undefined || Buffer.compare(bytes, after) < 0)
      expect(isInRange).toBe(key.startsWith(prefix))
    }),
    runs,
  )
})

test('the bytes of a text without surrogates are UTF-8', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const plain = text.replace(/[\ud800-\udfff]/g, '')
      expect(keyBytes(plain)).toEqual(Buffer.from(plain))
    }),
    runs,
  )
})

test('a value is decoded to itself, and PostgreSQL can store its encoding', () => {
  fc.assert(
    fc.property(fc.constantFrom('', 'json:', 'json:json:', 'JSON:'), texts, (start, rest) => {
      const text = packed(start + rest)
      expect(unpacked(text)).toBe(start + rest)
      expect(text).not.toMatch(/[\0\p{Surrogate}]/u)
    }),
    runs,
  )
})

test('a text that was written by hand is decoded to a value of its own', () => {
  const json = fc.oneof(
    fc.json(),
    fc.string().map((text) => JSON.stringify(text)),
    texts,
  )
  fc.assert(
    fc.property(fc.constantFrom('', 'json:', 'json:json:', 'json:"json:'), json, (start, rest) => {
      const text = (start + rest).replace(/[\0\p{Surrogate}]/gu, '')
      expect(packed(unpacked(text))).toBe(text)
    }),
    runs,
  )
  for (const text of ['json:', 'json:{"a":', 'json:{"a":1}', 'json:null', 'json:"a"']) expect(unpacked(text)).toBe(text)
})

test('a value that PostgreSQL can store is stored as it is', () => {
  for (const text of ['', 'plain', '\u{1f600}', 'a json: b', 'json:', '{"a":1}', '\ufeff'])
    expect(packed(text)).toBe(text)
})
