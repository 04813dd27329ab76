import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLinks, type LinkInput } from '../src/index.ts'

const secret = 'a'.repeat(32)
const input: LinkInput = {
  runID: 'run_1',
  person: { id: 'tg/7', name: 'Ann' },
  rights: { answer: true, stop: false },
  until: 1_800_000_000_000,
}
const before = input.until - 1

describe('a link', () => {
  test('allows what it was made for, until its end', () => {
    const { sign, verify } = createLinks({ secret })
    const token = sign(input)
    const { person, rights, until } = input
    expect(verify(token, 'run_1', before)).toEqual({ person, rights, until, onceID: expect.any(String) })
    expect(verify(token, 'run_1', input.until)).toBe('ended')
    expect(verify(token, 'run_2', before)).toBeUndefined()
    expect(verify(token, 'run_2', input.until)).toBeUndefined()
  })

  test('is the same for the same input, and short', () => {
    const { sign } = createLinks({ secret })
    expect(sign(input)).toBe(createLinks({ secret: [secret] }).sign({ ...input, rights: { ...input.rights } }))
    expect(sign(input)).toMatch(/^[\w-]+\.[\w-]{22}$/)
    expect(sign(input).length).toBeLessThan(80)
  })

  test('is another one for another person, right, end, run or secret, and so is its id', () => {
    const others: LinkInput[] = [
      input,
      { ...input, runID: 'run_2' },
      { ...input, person: { id: 'tg/8', name: 'Ann' } },
      { ...input, person: { id: 'tg/7', name: 'Bob' } },
      { ...input, rights: { answer: false, stop: false } },
      { ...input, rights: { answer: true, stop: true } },
      { ...input, until: input.until + 1000 },
    ]
    const secrets = [secret, 'b'.repeat(32)]
    const tokens = secrets.flatMap((each) => others.map((other) => createLinks({ secret: each }).sign(other)))
    expect(new Set(tokens).size).toBe(14)
    const { sign, verify } = createLinks({ secret })
    const ids = others.map((other) => Object(verify(sign(other), other.runID, before)).onceID)
    expect(new Set(ids).size).toBe(7)
    // The id is stored, so it must not be a part of the token.
    for (const [at, other] of others.entries()) expect(sign(other)).not.toContain(ids[at])
  })

  test('with any character changed is not valid', () => {
    const { sign, verify } = createLinks({ secret })
    const token = sign(input)
    for (let at = 0; at < token.length; at += 1)
      for (const other of ['A', 'B', '.', '=', ' '])
        if (token[at] !== other)
          expect(verify(token.slice(0, at) + other + token.slice(at + 1), 'run_1', before)).toBeUndefined()
    for (const other of [`${token}A`, `${token}=`, `${token}.x`, token.slice(1), token.slice(0, -1), '', '.'])
      expect(verify(other, 'run_1', before)).toBeUndefined()
  })

  test('is read from any text without an error', () => {
    const { verify } = createLinks({ secret })
    fc.assert(
      fc.property(fc.string(), fc.string(), (token, runID) => {
        expect(verify(token, runID, before)).toBeUndefined()
      }),
    )
    expect(verify('x'.repeat(10_000_000), 'run_1', before)).toBeUndefined()
  })

  test('holds for any person and run', () => {
    const { sign, verify } = createLinks({ secret })
    const texts = fc.string({ unit: 'binary', maxLength: 40 })
    fc.assert(
      fc.property(texts, texts, texts, fc.boolean(), fc.boolean(), (runID, id, name, answer, stop) => {
        const token = sign({ runID, person: { id, name }, rights: { answer, stop }, until: input.until })
        const shown = [...name].slice(0, 40).join('')
        expect(verify(token, runID, before)).toMatchObject({ person: { id, name: shown }, rights: { answer, stop } })
      }),
    )
  })
})

describe('a secret', () => {
  test('may be changed: old links hold as long as it is in the list', () => {
    const old = createLinks({ secret })
    const both = createLinks({ secret: ['b'.repeat(32), secret] })
    expect(both.verify(old.sign(input), 'run_1', before)).toBeTruthy()
    expect(both.sign(input)).toBe(createLinks({ secret: 'b'.repeat(32) }).sign(input))
    expect(createLinks({ secret: 'b'.repeat(32) }).verify(old.sign(input), 'run_1', before)).toBeUndefined()
  })

  test.each([['', 'a'.repeat(31)], ['a'.repeat(32), 'short'], []].map((each) => [each]))(
    'of %j is too short, and the error says how to make one without showing it',
    (secrets) => {
      expect(() => createLinks({ secret: secrets })).toThrow(
        'A secret for links needs at least 32 bytes. Make one with: openssl rand -base64 32',
      )
    },
  )
})
